"""The models of each role: built from settings, tried, watched, and listed."""
