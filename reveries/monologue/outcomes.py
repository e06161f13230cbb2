"""What the last thoughts came to: whether a matter is settled, and what a new thought only says again."""

from collections import deque
from collections.abc import Sequence
from typing import Final

from reveries.monologue.novelty import why_not_kept
from reveries.monologue.quiescence import SettledBy, comes_to_the_same

SAME_OUTCOMES = 3
"""So many thoughts in a row that came to the same, and it is settled: the next waits twice as long, and twice again."""
WHOLE: Final = frozenset(("finished", "capped", *(by.value for by in SettledBy)))
"""How a thought ends that had its say."""
_LONGEST_PACE_SECONDS = 6 * 3600.0
_MOST_DOUBLINGS = 10
_REMEMBERED_THOUGHTS = 8
_NO_OUTCOME = ("paused", "budget", "failed")  # A failure has a back-off of its own.


class Outcomes:
    """Remembers a few thoughts, and how many in a row were alike."""

    def __init__(self) -> None:
        self._last = ""
        self._same = 0
        self._earlier: deque[str] = deque(maxlen=_REMEMBERED_THOUGHTS)

    def remember(self, text: str) -> None:
        """A thought that was kept, of this life or the last."""
        if text.strip():
            self._earlier.append(text)

    def stir(self) -> None:
        """Something is said to the mind: what was settled is open again."""
        self._same = 0

    def forget(self) -> None:
        """Something was erased: nothing that was thought until now is held against a new thought."""
        self._last = ""
        self._earlier.clear()

    def note(self, text: str, why_ended: str) -> str:
        """A thought ended; a sentence about it when that many in a row came to the same, else empty."""
        if why_ended in _NO_OUTCOME:
            return ""
        self._same = self._same + 1 if comes_to_the_same(text, self._last) else 1
        self._last = text
        if self._same < SAME_OUTCOMES or why_ended == "tripped":
            return ""
        return f"It came to the same {self._same} times in a row: that is settled."

    def why_not_kept(self, text: str, why_ended: str, read: Sequence[str]) -> str:
        """Why a thought is no experience; empty when it is one. Only of a thought that had its say."""
        if why_ended not in WHOLE or not text.strip():
            return ""
        return why_not_kept(text, read, tuple(self._earlier))

    def pace_seconds(self, pace: float) -> float:
        """From the beginning of one thought to that of the next, at least, where `pace` is the usual."""
        doublings = max(0, min(_MOST_DOUBLINGS, self._same - SAME_OUTCOMES + 1))
        return max(pace, min(_LONGEST_PACE_SECONDS, pace * 2.0**doublings))
