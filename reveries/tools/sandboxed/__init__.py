"""What runs in the sandboxed child: the standard library alone, for nothing else is there."""
