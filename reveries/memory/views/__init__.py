"""What the owner can see: why something came to mind, when things happened, what hangs together."""
