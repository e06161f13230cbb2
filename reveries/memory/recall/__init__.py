"""What answers a cue: the words and vectors of turns, what ranks them, what is only on disk."""
