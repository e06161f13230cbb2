"""When a thought has settled (R-50..R-55). Pure: text and velocity in, a reason or nothing out.

By what it is: it says so in words of its own, it slows down, or it says nothing new any more. No prompt asks for a
phrase to end with.
"""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from reveries.config import MonologueSettings
from reveries.index.terms import word_keys

STUCK_SENTENCES = 3
STUCK_OVERLAP = 0.7
"""Three sentences in a row that share so much of their words say nothing new (RA-11)."""
VELOCITY_GRACE_TOKENS = 20
"""A stream that has just begun is slow without having settled (RA-8)."""
EMPTY_SENTENCES = 8
"""So many sentences in a row without one word that is new to the thought, and it goes on without getting on."""
_SHORTEST_SENTENCE_WORDS = 4
_CONCLUSION_SENTENCES = 2

# R-51: what a model may say of itself; with R-168's guard: "content with" means satisfied, "content within" does not.
_SETTLING = re.compile(
    r"\bi(?:'ve| have) processed\b"
    r"|\bthoughts? (?:(?:is|are|have) )?(?:settling|settled)\b"
    r"|\bnothing (?:more|else) to\b"
    r"|\bat peace\b"
    r"|\bresting now\b"
    r"|\bcontent with\b(?!in|out)"
    r"|\bthat(?:'s| is) (?:all|enough) for now\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?\n\u3002\uff01\uff1f]+[.!?\n\u3002\uff01\uff1f]+")
_WORD = re.compile(r"\w+")


class SettledBy(StrEnum):
    PHRASE = "settled"
    SLOW = "slowed_down"
    STUCK = "going_round"
    ASSESSED = "assessed"
    """A model was asked (R-54)."""


@dataclass(frozen=True, slots=True)
class Settled:
    """A thought is done, and how that showed."""

    by: SettledBy
    explanation: str


def find_settled(pieces: Sequence[str], tokens_per_second: float | None, settings: MonologueSettings) -> Settled | None:
    """Whether the thought of which `pieces` are the tokens so far has settled, in R-55's order; None: it goes on.

    `tokens_per_second` is the smoothed velocity after pacing, None before it is known.
    """
    recent = "".join(pieces[-settings.settle_window_tokens :]).replace("\u2019", "'")
    if found := _SETTLING.search(recent):
        return Settled(SettledBy.PHRASE, f"It said: “{found.group(0)}”.")
    is_known = tokens_per_second is not None and len(pieces) > VELOCITY_GRACE_TOKENS
    if is_known and tokens_per_second is not None and tokens_per_second < settings.settle_tokens_per_second:
        return Settled(SettledBy.SLOW, f"It slowed down to {tokens_per_second:.1f} tokens a second.")
    if _goes_round("".join(pieces)):
        return Settled(SettledBy.STUCK, "Its last sentences said the same again.")
    if _adds_nothing("".join(pieces)):
        return Settled(SettledBy.STUCK, "Its last sentences had no word that was new to it.")
    return None


def may_ask_model(tokens: int, last_asked_at: int, settings: MonologueSettings) -> bool:
    """Whether a model may be asked now if a thought of so many tokens has settled (R-54, RA-10): only a long one, and
    not again before as many tokens more as `settle_ask_again_tokens`. `last_asked_at`: its tokens then, 0 for never."""
    if not settings.settle_ask_after_tokens or tokens < settings.settle_ask_after_tokens:
        return False
    return not last_asked_at or tokens - last_asked_at >= settings.settle_ask_again_tokens


def comes_to_the_same(thought: str, other: str) -> bool:
    """Whether two thoughts have the same conclusion: their last two sentences, without the one that only says that it
    is enough, share most of their words. Nothing at all comes to the same as nothing at all."""
    one, two = _conclusion(thought), _conclusion(other)
    return one == two or (bool(one and two) and len(one & two) / len(one | two) >= STUCK_OVERLAP)


def _conclusion(thought: str) -> set[str]:
    text = thought.replace("\u2019", "'")
    told = [_WORD.findall(part.lower()) for part in _SENTENCE.findall(text + "\n") if not _SETTLING.search(part)]
    whole = [words for words in told if len(words) >= _SHORTEST_SENTENCE_WORDS]
    return {word for words in (whole or told)[-_CONCLUSION_SENTENCES:] for word in words}


def _goes_round(text: str) -> bool:
    sentences = [set(_WORD.findall(part.lower())) for part in _SENTENCE.findall(text)]
    last = [words for words in sentences if len(words) >= _SHORTEST_SENTENCE_WORDS][-STUCK_SENTENCES:]
    if len(last) < STUCK_SENTENCES:
        return False
    return all(len(one & other) / len(one | other) >= STUCK_OVERLAP for one, other in itertools.pairwise(last))


def _adds_nothing(text: str) -> bool:
    sentences = [word_keys(part) for part in _SENTENCE.findall(text)]
    telling = [keys for keys in sentences if keys]
    before, last = telling[:-EMPTY_SENTENCES], telling[-EMPTY_SENTENCES:]
    known = frozenset[str]().union(*before)
    return bool(before) and len(last) == EMPTY_SENTENCES and all(keys <= known for keys in last)


_SMOOTHING = 0.1


@dataclass(slots=True)
class Pace:
    """Spaces pieces so that no more than `tokens_per_second` come through, and measures what came.

    `halve` slows it down for the rest of the thought: what a throttle does (R-136).
    """

    tokens_per_second: float
    _due: float | None = None
    _last: float | None = None
    _smoothed_gap_seconds: float | None = None

    def wait_seconds(self, now: float) -> float:
        """How long the next piece is to be held back, at monotonic time `now`."""
        return max(0.0, self._due - now) if self._due is not None else 0.0

    def passed(self, now: float) -> None:
        """A piece came through at `now`."""
        if self._last is not None:
            gap = now - self._last
            before = self._smoothed_gap_seconds
            self._smoothed_gap_seconds = gap if before is None else before + _SMOOTHING * (gap - before)
        self._last = now
        # From now, not from when it was due: a model that was slow is not made up for in a burst.
        self._due = now + 1.0 / self.tokens_per_second

    def rested(self) -> None:
        """What comes next begins a new call: the wait for it says nothing about how fast the thought went (RA-8)."""
        self._last = None

    def velocity(self) -> float | None:
        """Smoothed tokens per second after pacing; None before the second piece."""
        gap = self._smoothed_gap_seconds
        return None if gap is None or gap <= 0 else 1.0 / gap

    def halve(self) -> None:
        self.tokens_per_second /= 2
