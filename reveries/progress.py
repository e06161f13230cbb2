"""How long work says how far it is."""

from collections.abc import Callable

CountCallback = Callable[[int, int], None]
"""How much is done, and of how much (0: not known)."""
ProgressCallback = Callable[[str, int, int], None]
"""What is being done, how much of it is done, and of how much (0: not known)."""


def ignore_progress(what: str, done: int, total: int) -> None:
    """For work that nobody watches."""
