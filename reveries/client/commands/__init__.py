"""One module for each command: it reads the words, makes one request and shows the answer."""
