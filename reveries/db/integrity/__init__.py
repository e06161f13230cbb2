"""Whether the memory's file is what was written: page checksums, seals, the log, and repair of damage."""
