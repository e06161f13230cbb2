"""Tools: what a role or a program outside may call, and who may call what."""
