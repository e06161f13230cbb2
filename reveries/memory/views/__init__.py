"""Read-only views for the owner: why something came to mind, when things happened, how episodes are connected."""
