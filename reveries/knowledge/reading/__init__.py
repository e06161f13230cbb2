"""From a file to pages and pointers: what a document looks like once it is read, and the cut (pure)."""
