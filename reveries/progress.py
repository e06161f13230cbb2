"""Types of progress callbacks."""

from collections.abc import Callable

CountCallback = Callable[[int, int], None]
"""Called with the amount done and the total (0: not known)."""
ProgressCallback = Callable[[str, int, int], None]
"""Called with what is being done, the amount done and the total (0: not known)."""


def ignore_progress(what: str, done: int, total: int) -> None:
    """Do nothing: for work whose progress is not reported."""
