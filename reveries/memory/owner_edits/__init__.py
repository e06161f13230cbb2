"""What the owner changes by hand: episodes, thoughts, the self-model."""
