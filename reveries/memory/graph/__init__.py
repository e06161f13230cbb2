"""The episode graph in arrays: links, energy, compiled loops, and the claims and names that episodes share."""
