"""The episode graph in arrays: links, energy, compiled loops, claims, and names shared between episodes."""
