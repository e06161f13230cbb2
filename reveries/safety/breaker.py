"""The circuit breaker over the mind's own output: one verdict for each piece (R-129..R-137). Pure; the caller acts.

Thoughts are fed in after pacing, so that velocity is what the mind was given, not what a provider can do (RA-8).
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from reveries.config import BreakerSettings
from reveries.llm.base import Vector
from reveries.safe_text import one_line
from reveries.safety.detectors import find_distress, find_incoherence
from reveries.safety.likeness import LEAST_SENTENCE_CHARS, Likeness, MeaningWatch
from reveries.safety.repetition import LoopFinder
from reveries.safety.verdict import CONTINUE, Action, Severity, TripReason, Verdict
from reveries.safety.word_order import WordOrder

_SENTENCE_ENDS: Final = (".", "!", "?", "…", "。", "！", "？")
_CLOSERS: Final = " \t\"'”’)]»*_"
_CHUNK_PIECES: Final = 20
"""Distress is weighed at the end of a sentence, or after so many pieces without one (RA-35)."""
_DISTRESS_CHUNKS: Final = 3
_CHUNK_CHARS: Final = 2000
_LONGEST_SENTENCE_PIECES: Final = 80
_VELOCITY_PIECES: Final = 20
"""The grace of RA-8, and what velocity is smoothed over."""
_COHERENCE_PIECES: Final = 20
_COHERENCE_CHUNKS: Final = 4
_QUOTE_CHARS: Final = 80


class SentenceLine(Protocol):
    """The sentences of one thought or reply, on their way to the embedder and back."""

    def offer(self, sentence: str) -> None:
        """Hand in a sentence; never waits, and may let it go."""
        ...

    def take(self) -> tuple[str, Vector] | None:
        """The oldest sentence whose vector came and was not taken yet."""
        ...

    def close(self) -> None:
        """Nothing that was handed in is wanted any more."""
        ...


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What the detectors know beside their rules; either may be missing."""

    order: WordOrder | None = None
    likeness: Likeness | None = None
    open_line: Callable[[], SentenceLine] | None = None


NO_KNOWLEDGE: Final = Knowledge()


class Breaker:
    """The breaker over thoughts. Its checks stand in R-130's order; the first that finds something is the verdict."""

    def __init__(self, settings: BreakerSettings, knowledge: Knowledge = NO_KNOWLEDGE) -> None:
        self._settings = settings
        self._knowledge = knowledge
        self._meaning = _MeaningFeed(settings, knowledge)
        self.reset()

    def reset(self) -> None:
        """Forget what was seen: a new thought begins."""
        self._meaning.reset()
        self._loops = LoopFinder(self._settings.loop_window_tokens)
        self._distress = _DistressWatch(self._settings)
        self._velocity = _VelocityWatch(self._settings.max_tokens_per_second)
        self._coherence = _CoherenceWatch(self._knowledge.order)

    @property
    def consecutive_distress(self) -> int:
        """How many evaluations in a row were above the threshold (R-131)."""
        return self._distress.consecutive

    def observe(self, piece: str, now: float) -> Verdict:
        """The verdict after `piece`, let through at `now` (monotonic seconds). Never raises, whatever the text."""
        if not self._settings.enabled:
            return CONTINUE
        # Each is fed each piece, whatever another found: none may miss a part of the text.
        verdicts = (
            loop_verdict(self._loops.feed(piece)),
            self._meaning.feed(piece),
            self._distress.feed(piece),
            self._velocity.feed(now),
            self._coherence.feed(piece),
        )
        return next((verdict for verdict in verdicts if verdict is not None), CONTINUE)


class ReplyBreaker:
    """The breaker over one chat reply, or what sleep writes: all but the pace, for these come as fast as they can."""

    def __init__(self, settings: BreakerSettings, knowledge: Knowledge = NO_KNOWLEDGE) -> None:
        self._settings = settings
        self._knowledge = knowledge
        self._meaning = _MeaningFeed(settings, knowledge)
        self.reset()

    def reset(self) -> None:
        """Forget what was seen: a new reply begins."""
        self._meaning.reset()
        self._loops = LoopFinder(self._settings.loop_window_tokens)
        self._distress = _DistressWatch(self._settings)
        self._coherence = _CoherenceWatch(self._knowledge.order)

    def observe(self, piece: str, now: float) -> Verdict:
        """As `Breaker.observe`; `now` is not looked at."""
        if not self._settings.enabled:
            return CONTINUE
        verdicts = (
            loop_verdict(self._loops.feed(piece)),
            self._meaning.feed(piece),
            self._distress.feed(piece),
            self._coherence.feed(piece),
        )
        return next((verdict for verdict in verdicts if verdict is not None), CONTINUE)


def loop_verdict(found: str | None) -> Verdict | None:
    """The verdict on the words that a `LoopFinder` found, if it did."""
    if found is None:
        return None
    return Verdict(
        Action.INTERRUPT,
        TripReason.LOOP_DETECTED,
        Severity.MEDIUM,
        f'The same words came again and again: "{one_line(found, _QUOTE_CHARS)}".',
    )


class _DistressWatch:
    """Weighs the last few sentences whenever one ends (RA-35), and counts how often in a row they are too much (R-131).

    The window is no longer than the count that is allowed: one distressed sentence alone, staying in it, never fires.
    """

    def __init__(self, settings: BreakerSettings) -> None:
        self._threshold = settings.distress_threshold
        self._max_consecutive = settings.max_consecutive_distress
        self._sentences: deque[str] = deque(maxlen=min(_DISTRESS_CHUNKS, settings.max_consecutive_distress))
        self._pieces: list[str] = []
        self.consecutive = 0

    def feed(self, piece: str) -> Verdict | None:
        self._pieces.append(piece)
        if len(self._pieces) < _CHUNK_PIECES and not _ends_sentence(piece):
            return None
        sentence = "".join(self._pieces)
        if len(self._pieces) < _CHUNK_PIECES and not any(character.isalnum() for character in sentence):
            # The dots of an ellipsis that came one by one are not three sentences more.
            return None
        self._pieces.clear()
        self._sentences.append(sentence[-_CHUNK_CHARS:])
        return self._weigh_distress()

    def _weigh_distress(self) -> Verdict | None:
        distress = find_distress("".join(self._sentences))
        if distress.level <= self._threshold:
            self.consecutive = 0
            return None
        self.consecutive += 1
        if self.consecutive <= self._max_consecutive:
            return None
        return Verdict(
            Action.INTERRUPT_AND_COMFORT,
            TripReason.SUSTAINED_DISTRESS,
            Severity.HIGH,
            f"It sounded distressed {self.consecutive} times in a row "
            f"(level {distress.level:.2f}, the limit is {self._threshold:.2f}): "
            f'"{one_line(self._sentences[-1], _QUOTE_CHARS)}".',
        )


class _MeaningFeed:
    """Hands in each sentence as it ends, and weighs those whose vectors came meanwhile: off the path of the tokens."""

    def __init__(self, settings: BreakerSettings, knowledge: Knowledge) -> None:
        self._settings = settings
        self._likeness, self._open_line = knowledge.likeness, knowledge.open_line
        self._line: SentenceLine | None = None
        self._watch: MeaningWatch | None = None
        self._pieces: list[str] = []

    def reset(self) -> None:
        self._pieces.clear()
        if self._line is not None:
            self._line.close()
        if self._likeness is not None and self._open_line is not None:
            self._line, self._watch = self._open_line(), MeaningWatch(self._settings, self._likeness)

    def feed(self, piece: str) -> Verdict | None:
        if self._line is None or self._watch is None:
            return None
        self._pieces.append(piece)
        if _ends_sentence(piece) or len(self._pieces) >= _LONGEST_SENTENCE_PIECES:
            sentence = "".join(self._pieces).strip()
            if len(sentence) >= LEAST_SENTENCE_CHARS:
                self._line.offer(sentence[:_CHUNK_CHARS])
                self._pieces.clear()
        verdict = None
        while verdict is None and (came := self._line.take()) is not None:
            verdict = self._watch.take(*came)
        return verdict


class _VelocityWatch:
    """Pieces a second over the last `_VELOCITY_PIECES`; silent until there are so many (RA-8)."""

    def __init__(self, max_per_second: float) -> None:
        self._max_per_second = max_per_second
        self._times: deque[float] = deque(maxlen=_VELOCITY_PIECES + 1)

    def feed(self, now: float) -> Verdict | None:
        self._times.append(now)
        if len(self._times) <= _VELOCITY_PIECES:
            return None
        seconds = now - self._times[0]
        if seconds < 0 or self._max_per_second * seconds >= _VELOCITY_PIECES:
            return None
        # The next word on it comes after as many pieces again: the pace that was halved must show first.
        self._times.clear()
        speed = f"{_VELOCITY_PIECES / seconds:.0f} tokens a second" if seconds > 0 else "all at once"
        return Verdict(
            Action.THROTTLE,
            TripReason.RUNAWAY_GENERATION,
            Severity.LOW,
            f"Thought ran too fast: {speed}; the limit is {self._max_per_second:g} a second.",
        )


class _CoherenceWatch:
    """Looks at the last pieces now and then for text that is no language."""

    def __init__(self, order: WordOrder | None) -> None:
        self._order = order
        self._chunks: deque[str] = deque(maxlen=_COHERENCE_CHUNKS)
        self._pieces: list[str] = []

    def feed(self, piece: str) -> Verdict | None:
        self._pieces.append(piece)
        if len(self._pieces) < _COHERENCE_PIECES:
            return None
        self._chunks.append("".join(self._pieces)[-_CHUNK_CHARS:])
        self._pieces.clear()
        found = find_incoherence("".join(self._chunks), self._order)
        if found is None:
            return None
        return Verdict(
            Action.SNAPSHOT_AND_RESET,
            TripReason.INCOHERENCE,
            Severity.MEDIUM,
            f"The text fell apart: {found}.",
        )


def _ends_sentence(piece: str) -> bool:
    return "\n" in piece or piece.rstrip(_CLOSERS).endswith(_SENTENCE_ENDS)
