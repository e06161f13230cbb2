"""The circuit breaker for the mind's own output: one verdict for each piece (R-129..R-137). Pure; the caller acts.

Thoughts are fed in after pacing, so that velocity is the pace of thought, not the speed of the provider (RA-8).
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from reveries.config import BreakerSettings
from reveries.llm.base import Vector
from reveries.safe_text import one_line
from reveries.safety.detectors import find_distress, find_incoherence
from reveries.safety.likeness import LEAST_SENTENCE_CHARS, MeaningWatch, TextLikeness
from reveries.safety.repetition import LoopFinder
from reveries.safety.verdict import CONTINUE, Action, Severity, TripReason, Verdict
from reveries.safety.word_order import WordOrder

_SENTENCE_ENDS: Final = (".", "!", "?", "…", "。", "！", "？")
_CLOSERS: Final = " \t\"'”’)]»*_"
_CHUNK_PIECES: Final = 20
"""Distress is evaluated at the end of a sentence, or after this many pieces without one (RA-35)."""
_DISTRESS_CHUNKS: Final = 3
_CHUNK_CHARS: Final = 2000
_LONGEST_SENTENCE_PIECES: Final = 80
_VELOCITY_PIECES: Final = 20
"""The grace period of RA-8, and the number of pieces that velocity is averaged over."""
_COHERENCE_PIECES: Final = 20
_COHERENCE_CHUNKS: Final = 4
_QUOTE_CHARS: Final = 80


class SentenceLine(Protocol):
    """A queue of the sentences of one thought or reply that are being embedded."""

    def offer(self, sentence: str) -> None:
        """Add a sentence; never waits, and may drop it."""
        ...

    def take(self) -> tuple[str, Vector] | None:
        """Remove and return the oldest embedded sentence with its vector; None if there is none yet."""
        ...

    def close(self) -> None:
        """Discard everything that was added."""
        ...


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Learned models that the detectors use in addition to their rules; each may be missing."""

    order: WordOrder | None = None
    likeness: TextLikeness | None = None
    open_line: Callable[[], SentenceLine] | None = None


NO_KNOWLEDGE: Final = Knowledge()


class Breaker:
    """Watches one thought or reply. Its checks run in R-130's order; the first finding is the verdict.

    `max_pace` is in tokens a second; None for chat replies and what sleep writes, which come as fast as they can.
    """

    def __init__(
        self, settings: BreakerSettings, knowledge: Knowledge = NO_KNOWLEDGE, *, max_pace: float | None
    ) -> None:
        self._settings = settings
        self._knowledge = knowledge
        self._max_pace = max_pace
        self._meaning = _MeaningFeed(settings, knowledge)
        self.reset()

    def reset(self) -> None:
        """Reset the state for a new thought or reply."""
        self._meaning.reset()
        self._loops = LoopFinder(self._settings.loop_window_tokens)
        self._distress = _DistressWatch(self._settings)
        self._velocity = None if self._max_pace is None else _VelocityWatch(self._max_pace)
        self._coherence = _CoherenceWatch(self._knowledge.order)

    @property
    def consecutive_distress(self) -> int:
        """Number of consecutive evaluations above the threshold (R-131)."""
        return self._distress.consecutive

    def observe(self, piece: str, now: float) -> Verdict:
        """Return the verdict after `piece`, released at `now` (monotonic seconds). Never raises, whatever the text."""
        if not self._settings.enabled:
            return CONTINUE
        # Every check gets every piece, even after a finding of another: none may miss a part of the text.
        verdicts = (
            loop_verdict(self._loops.feed(piece)),
            self._meaning.feed(piece),
            self._distress.feed(piece),
            self._velocity.feed(now) if self._velocity is not None else None,
            self._coherence.feed(piece),
        )
        return next((verdict for verdict in verdicts if verdict is not None), CONTINUE)


def loop_verdict(repeated: str | None) -> Verdict | None:
    """Return the verdict on the repeated words that a `LoopFinder` found; None if it found none."""
    if repeated is None:
        return None
    return Verdict(
        Action.INTERRUPT,
        TripReason.LOOP_DETECTED,
        Severity.MEDIUM,
        f'The same words came again and again: "{one_line(repeated, _QUOTE_CHARS)}".',
    )


class _DistressWatch:
    """Evaluates the last few sentences whenever one ends (RA-35), and counts consecutive distress (R-131).

    The window is not longer than the allowed count, so that a single distressed sentence in it never fires.
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
            # The dots of an ellipsis that come one by one are not three sentences.
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
    """Queues each finished sentence for embedding and evaluates those that are ready, without delaying the tokens."""

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
        while verdict is None and (embedded := self._line.take()) is not None:
            verdict = self._watch.take(*embedded)
        return verdict


class _VelocityWatch:
    """Pieces per second over the last `_VELOCITY_PIECES`; no verdict until there are that many (RA-8)."""

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
        # The next verdict comes after as many pieces again, so that the halved pace can take effect first.
        self._times.clear()
        speed = f"{_VELOCITY_PIECES / seconds:.0f} tokens a second" if seconds > 0 else "all at once"
        return Verdict(
            Action.THROTTLE,
            TripReason.RUNAWAY_GENERATION,
            Severity.LOW,
            f"Thought ran too fast: {speed}; the limit is {self._max_per_second:g} a second.",
        )


class _CoherenceWatch:
    """Periodically checks the last pieces for text that is not language."""

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
        incoherence = find_incoherence("".join(self._chunks), self._order)
        if incoherence is None:
            return None
        return Verdict(
            Action.SNAPSHOT_AND_RESET,
            TripReason.INCOHERENCE,
            Severity.MEDIUM,
            f"The text fell apart: {incoherence}.",
        )


def _ends_sentence(piece: str) -> bool:
    return "\n" in piece or piece.rstrip(_CLOSERS).endswith(_SENTENCE_ENDS)
