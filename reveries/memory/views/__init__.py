"""Read-only views for the owner: why an episode was recalled, when things happened, how episodes are connected."""
