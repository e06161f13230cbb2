"""The sandboxed child process that reads the files of others: formats, OCR and pictures of pages."""
