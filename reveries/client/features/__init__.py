"""One module for each thing a user does: its command, and the page that the command and the terminal show."""
