"""Past conversations in the formats of other programs: each format has a module that only reads, and `readers` finds
the one that fits a whole file. Pure, apart from `source_file`."""
