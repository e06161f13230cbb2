"""Erasing on the owner's word: what goes, what is made anew, and what keeps it from coming back."""
