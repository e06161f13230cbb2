"""Whether a key that leaves may leave at once, or is asked about first. Pure: the present is an argument."""

from collections.abc import Sequence
from typing import Final

AGAIN_SECONDS: Final = 2.0
"""Within this a second Ctrl+C leaves."""
AGAIN_FOR_WORK_SECONDS: Final = 6.0
"""The same for Ctrl+D and /exit where there is something to read first."""


class LeaveConfirmation:
    """What leaving would end, and when it was last asked for."""

    def __init__(self) -> None:
        self._ctrl_c_at: float | None = None
        self._asked_at: float | None = None

    def may_leave(self, work: Sequence[str], now: float) -> bool:
        """Whether Ctrl+D leaves: not the first time while work that was begun here would end with it."""
        if not work or (self._asked_at is not None and now - self._asked_at <= AGAIN_FOR_WORK_SECONDS):
            return True
        self._asked_at = now
        return False

    def is_second(self, now: float) -> bool:
        """Whether this Ctrl+C is the second of two."""
        before, self._ctrl_c_at = self._ctrl_c_at, now
        return before is not None and now - before <= AGAIN_SECONDS

    def said(self, work: Sequence[str], key: str) -> str:
        """What the key does when it is pressed again."""
        if not work:
            return f"{key} again leaves; the mind stays awake"
        return f"{key} again leaves and ends what is under way here: {', '.join(work)}; /stop ends that alone"
