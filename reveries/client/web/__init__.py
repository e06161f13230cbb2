"""The terminal interface in a browser of this machine: served on loopback, behind a token."""
