"""Whether the memory's file is what was written: checksums of pages, seals, the log, and what is done about damage."""
