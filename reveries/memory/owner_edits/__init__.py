"""The owner's edits of episodes, thoughts and the self-model."""
