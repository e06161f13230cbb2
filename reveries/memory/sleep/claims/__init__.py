"""Claims in new turns: extraction, and comparison with earlier claims."""
