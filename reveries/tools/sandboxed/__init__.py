"""Code of the sandboxed child process. It imports the standard library only: nothing else is available there."""
