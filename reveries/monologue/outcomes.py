"""What the last thoughts came to: whether a matter is settled, and what a new thought only says again."""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

from reveries.errors import ModelError, ModelUnavailableError
from reveries.index.terms import word_keys
from reveries.monologue.quiescence import SettledBy, comes_to_the_same

_SHORTEST_WAIT_SECONDS, _LONGEST_WAIT_SECONDS = 1.0, 24 * 3600.0
"""A circuit that opens in a microsecond, by a clock that counts in steps of a quarter of one, is asked in a second."""


def first_error(errors: BaseExceptionGroup[ModelError]) -> ModelError:
    """The first error of a group of groups: each task group on the way up wrapped it once."""
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, ModelError)
    return error


def pause_after_error(error: ModelError, otherwise: float) -> float:
    """When thinking may come again: as the model's circuit says (`llm.circuit`), which is the one that counts; where
    nobody says, `otherwise`."""
    asked = error.retry_after_seconds if isinstance(error, ModelUnavailableError) else None
    return min(_LONGEST_WAIT_SECONDS, max(_SHORTEST_WAIT_SECONDS, asked)) if asked is not None else otherwise


LEAST_NEW_WORDS = 3
LEAST_NEW_SHARE = 0.2
"""A thought with fewer words of its own than either only says again what it was given."""


def new_words(thought: str, read: Iterable[str]) -> frozenset[str]:
    """The keys of `thought` that stand in nothing of what was `read`."""
    return word_keys(thought).difference(*(word_keys(text) for text in read))


def is_paraphrase(thought: str, read: Iterable[str]) -> bool:
    """Whether `thought` only says again, in other order or other endings, what was `read`."""
    new = len(new_words(thought, read))
    return new < LEAST_NEW_WORDS or new < LEAST_NEW_SHARE * len(word_keys(thought))


def why_not_kept(thought: str, read: Sequence[str], earlier: Sequence[str]) -> str:
    """Why `thought` is no experience worth keeping, in a sentence for the log; empty when it is one. `read`: what the
    model had before it. `earlier`: what was thought before."""
    if is_paraphrase(thought, read):
        return "It only said again what it had before it: nothing of it was kept."
    if earlier and is_paraphrase(thought, [*read, *earlier]):
        return "It only said again what it had thought before: nothing of it was kept."
    return ""


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
