"""Claims of new turns: extraction, and verification against earlier claims."""
