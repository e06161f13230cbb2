"""Detects when a thought has settled (R-50..R-55). Pure: text and velocity in, a reason or None out.

Signs are that it says so in its own words, slows down, or says nothing new any more. No prompt asks for a closing
phrase.
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
"""Three sentences in a row that share this much of their words say nothing new (RA-11)."""
VELOCITY_GRACE_TOKENS = 20
"""The velocity of fewer tokens is ignored: a stream is slow at its beginning (RA-8)."""
EMPTY_SENTENCES = 8
"""After this many sentences in a row without a word that is new to the thought, it is going round."""
_SHORTEST_SENTENCE_WORDS = 4
_CONCLUSION_SENTENCES = 2

# R-51: phrases by which a model says that it is done; R-168's guard: "content with" matches, "content within" does not.
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
    """A thought has settled, and by which sign."""

    by: SettledBy
    explanation: str


def find_settled(pieces: Sequence[str], tokens_per_second: float | None, settings: MonologueSettings) -> Settled | None:
    """Return how the thought with the tokens `pieces` has settled, checked in R-55's order; None if it has not.

    `tokens_per_second` is the smoothed velocity after pacing, None before it is known.
    """
    recent = "".join(pieces[-settings.settle_window_tokens :]).replace("\u2019", "'")
    if phrase := _SETTLING.search(recent):
        return Settled(SettledBy.PHRASE, f"It said: “{phrase.group(0)}”.")
    is_known = tokens_per_second is not None and len(pieces) > VELOCITY_GRACE_TOKENS
    if is_known and tokens_per_second is not None and tokens_per_second < settings.settle_tokens_per_second:
        return Settled(SettledBy.SLOW, f"It slowed down to {tokens_per_second:.1f} tokens a second.")
    if _repeats_itself("".join(pieces)):
        return Settled(SettledBy.STUCK, "Its last sentences repeated each other.")
    if _adds_nothing("".join(pieces)):
        return Settled(SettledBy.STUCK, "Its last sentences had no new words.")
    return None


def may_ask_model(tokens: int, last_asked_at: int, settings: MonologueSettings) -> bool:
    """Whether a model may be asked now if a thought of `tokens` tokens has settled (R-54, RA-10): only a long one, and
    again only after `settle_ask_again_tokens` more. `last_asked_at` is its length at the last question, 0 for never."""
    if not settings.settle_ask_after_tokens or tokens < settings.settle_ask_after_tokens:
        return False
    return not last_asked_at or tokens - last_asked_at >= settings.settle_ask_again_tokens


def has_same_conclusion(thought: str, other: str) -> bool:
    """Whether two thoughts have the same conclusion: their last two sentences, without closing phrases, share most of
    their words. Two empty thoughts have the same conclusion."""
    words, other_words = _conclusion(thought), _conclusion(other)
    return words == other_words or (
        bool(words and other_words) and len(words & other_words) / len(words | other_words) >= STUCK_OVERLAP
    )


def _conclusion(thought: str) -> set[str]:
    text = thought.replace("\u2019", "'")
    sentences = [_WORD.findall(part.lower()) for part in _SENTENCE.findall(text + "\n") if not _SETTLING.search(part)]
    whole = [words for words in sentences if len(words) >= _SHORTEST_SENTENCE_WORDS]
    return {word for words in (whole or sentences)[-_CONCLUSION_SENTENCES:] for word in words}


def _repeats_itself(text: str) -> bool:
    sentences = [set(_WORD.findall(part.lower())) for part in _SENTENCE.findall(text)]
    last = [words for words in sentences if len(words) >= _SHORTEST_SENTENCE_WORDS][-STUCK_SENTENCES:]
    if len(last) < STUCK_SENTENCES:
        return False
    return all(
        len(sentence & other) / len(sentence | other) >= STUCK_OVERLAP for sentence, other in itertools.pairwise(last)
    )


def _adds_nothing(text: str) -> bool:
    sentences = [word_keys(part) for part in _SENTENCE.findall(text)]
    with_content = [keys for keys in sentences if keys]
    before, last = with_content[:-EMPTY_SENTENCES], with_content[-EMPTY_SENTENCES:]
    earlier_keys = frozenset[str]().union(*before)
    return bool(before) and len(last) == EMPTY_SENTENCES and all(keys <= earlier_keys for keys in last)


_SMOOTHING = 0.1


@dataclass(slots=True)
class Pace:
    """Limits pieces to `tokens_per_second` and measures their velocity.

    `halve` slows it down for the rest of the thought, as a throttle verdict asks (R-136).
    """

    tokens_per_second: float
    _due: float | None = None
    _last: float | None = None
    _smoothed_gap_seconds: float | None = None

    def wait_seconds(self, now: float) -> float:
        """Return how long the next piece must wait, at monotonic time `now`."""
        return max(0.0, self._due - now) if self._due is not None else 0.0

    def count_piece(self, now: float) -> None:
        """Count a piece that passed at `now`."""
        if self._last is not None:
            gap = now - self._last
            before = self._smoothed_gap_seconds
            self._smoothed_gap_seconds = gap if before is None else before + _SMOOTHING * (gap - before)
        self._last = now
        # From now, not from when it was due, so that a slow model is not followed by a burst.
        self._due = now + 1.0 / self.tokens_per_second

    def begin_call(self) -> None:
        """Ignore the gap before the next piece, because it belongs to a new call to the model (RA-8)."""
        self._last = None

    def velocity(self) -> float | None:
        """Return the smoothed tokens per second after pacing; None before the second piece."""
        gap = self._smoothed_gap_seconds
        return None if gap is None or gap <= 0 else 1.0 / gap

    def halve(self) -> None:
        self.tokens_per_second /= 2
