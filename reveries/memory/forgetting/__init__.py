"""Forgetting on the owner's word: what goes, what is made anew, and that it does not come back."""
