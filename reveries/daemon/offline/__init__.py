"""Answers that need no daemon: a mind that is asleep, read from its files."""
