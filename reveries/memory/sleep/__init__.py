"""Sleep: light and deep consolidation, claims, merging, decay, undo."""
