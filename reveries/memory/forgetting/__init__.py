"""Forgetting at the owner's request: archiving, erasing, rebuilding, and tombstones against reimport."""
