"""The terminal interface in a browser on this machine: served on loopback, behind a token."""
