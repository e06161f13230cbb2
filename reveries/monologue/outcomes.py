"""Outcomes of the last thoughts: detects repeated conclusions and thoughts that only paraphrase earlier text."""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

from reveries.errors import ModelError, ModelUnavailableError
from reveries.index.terms import word_keys
from reveries.monologue.quiescence import SettledBy, has_same_conclusion

_SHORTEST_WAIT_SECONDS, _LONGEST_WAIT_SECONDS = 1.0, 24 * 3600.0
"""A circuit breaker that closes within microseconds is still retried only after a second."""


def first_error(errors: BaseExceptionGroup[ModelError]) -> ModelError:
    """Return the first error of nested groups: each task group on the way up wrapped it once."""
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, ModelError)
    return error


def pause_after_error(error: ModelError, otherwise: float) -> float:
    """Return the seconds until thinking may try again: the model's `retry_after_seconds` (`llm.circuit`), or
    `otherwise` if there is none."""
    retry = error.retry_after_seconds if isinstance(error, ModelUnavailableError) else None
    return min(_LONGEST_WAIT_SECONDS, max(_SHORTEST_WAIT_SECONDS, retry)) if retry is not None else otherwise


LEAST_NEW_WORDS = 3
LEAST_NEW_SHARE = 0.2
"""A thought with fewer new words than either of these is a paraphrase."""


def find_new_words(thought: str, read: Iterable[str]) -> frozenset[str]:
    """Return the keys of `thought` that are in none of the texts in `read`."""
    return word_keys(thought).difference(*(word_keys(text) for text in read))


def is_paraphrase(thought: str, read: Iterable[str]) -> bool:
    """Whether `thought` only repeats what was `read`, in a different order or with different endings."""
    new = len(find_new_words(thought, read))
    return new < LEAST_NEW_WORDS or new < LEAST_NEW_SHARE * len(word_keys(thought))


def reason_not_kept(thought: str, read: Sequence[str], earlier: Sequence[str]) -> str:
    """Return why `thought` is not stored as an experience, in a sentence for the log; empty if it is. `read` is the
    prompt, `earlier` the previous thoughts."""
    if is_paraphrase(thought, read):
        return "It only repeated what it had read, so it was not kept."
    if earlier and is_paraphrase(thought, [*read, *earlier]):
        return "It only repeated earlier thoughts, so it was not kept."
    return ""


SAME_OUTCOMES = 3
"""After this many thoughts in a row with the same conclusion, each further one doubles the wait for the next."""
WHOLE: Final = frozenset(("finished", "capped", *(by.value for by in SettledBy)))
"""The ends of a complete thought."""
_LONGEST_PACE_SECONDS = 6 * 3600.0
_MOST_DOUBLINGS = 10
_REMEMBERED_THOUGHTS = 8
_NO_OUTCOME = ("paused", "budget", "failed")  # Failures have their own back-off.


class Outcomes:
    """Remembers a few thoughts, and how many in a row had the same conclusion."""

    def __init__(self) -> None:
        self._last = ""
        self._same = 0
        self._earlier: deque[str] = deque(maxlen=_REMEMBERED_THOUGHTS)

    def remember(self, text: str) -> None:
        """Remember a stored thought, also one from before a restart."""
        if text.strip():
            self._earlier.append(text)

    def reopen(self) -> None:
        """Reset the count of equal conclusions, because someone spoke to the mind."""
        self._same = 0

    def forget(self) -> None:
        """Forget earlier thoughts, because something was erased."""
        self._last = ""
        self._earlier.clear()

    def count(self, text: str, why_ended: str) -> str:
        """Count a thought that ended; return a sentence if SAME_OUTCOMES or more in a row had the same conclusion."""
        if why_ended in _NO_OUTCOME:
            return ""
        self._same = self._same + 1 if has_same_conclusion(text, self._last) else 1
        self._last = text
        if self._same < SAME_OUTCOMES or why_ended == "tripped":
            return ""
        return f"It came to the same conclusion {self._same} times in a row, so that is settled."

    def reason_not_kept(self, text: str, why_ended: str, read: Sequence[str]) -> str:
        """Return why a complete thought is not stored as an experience; empty if it is, or if it is incomplete."""
        if why_ended not in WHOLE or not text.strip():
            return ""
        return reason_not_kept(text, read, tuple(self._earlier))

    def pace_seconds(self, pace: float) -> float:
        """Return the least seconds from one thought's beginning to the next one's; `pace` is the usual value."""
        doublings = max(0, min(_MOST_DOUBLINGS, self._same - SAME_OUTCOMES + 1))
        return max(pace, min(_LONGEST_PACE_SECONDS, pace * 2.0**doublings))
