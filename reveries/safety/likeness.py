"""Detection by sentence embeddings: distress in any wording, and the same thing said again in other words.

Pure except `load_likeness`. The weights were trained on `bench/safety/mind.txt` by `bench/safety_learn.py` for one
embedder; with another embedder only patterns and word loops are used.
"""

import math
import re
from collections import deque
from dataclasses import dataclass
from importlib import resources
from typing import Final

import numpy as np

from reveries.config import BreakerSettings
from reveries.llm.base import Vector
from reveries.safe_text import one_line
from reveries.safety.verdict import Action, Severity, TripReason, Verdict

LEAST_SENTENCE_CHARS: Final = 12
_DISTRESS_SENTENCES: Final = 3
_KEPT_SENTENCES: Final = 12
_NEAREST: Final = 2
_GOING_ROUND_SENTENCES: Final = 4
GOING_ROUND: Final = 0.72
"""Measured (docs/benchmarks/safety.md): thoughts that repeat themselves in other words reach it, others rarely."""
# List items, table rows, headings and code are similar to each other by nature, and answers are full of them.
_NO_PROSE: Final = re.compile(r"^\s*(?:[-–—*+•#>|]|\(?(?:\d{1,3}|[a-zA-Z])[.):]\s)|\*\*|[`{}|=<>\\]|:\s*$")
_QUOTE_CHARS: Final = 80


def is_prose(sentence: str) -> bool:
    """Whether `sentence` is prose: not a list item, heading, table row or code."""
    return not _NO_PROSE.search(sentence)


@dataclass(frozen=True, slots=True)
class TextLikeness:
    """One logistic regression over sentence vectors."""

    model_id: str
    weights: Vector
    bias: float

    def distress(self, vector: Vector) -> float:
        """Return the log odds that a sentence comes from a mind in distress."""
        return float(vector @ self.weights) + self.bias


def load_likeness() -> TextLikeness:
    """Load the weights that ship with the package. Reads a file: do not call it on the event loop."""
    with resources.files("reveries.safety").joinpath("likeness.npz").open("rb") as file:
        loaded = np.load(file)
        return TextLikeness(str(loaded["model_id"]), loaded["weights"], float(loaded["bias"]))


class MeaningWatch:
    """Evaluates each embedded sentence together with the last few. One instance for each thought or reply."""

    def __init__(self, settings: BreakerSettings, likeness: TextLikeness) -> None:
        self._settings = settings
        self._likeness = likeness
        self._odds: deque[float] = deque(maxlen=_DISTRESS_SENTENCES)
        self._kept: deque[Vector] = deque(maxlen=_KEPT_SENTENCES)
        self._nearness: deque[float] = deque(maxlen=_GOING_ROUND_SENTENCES)
        self.consecutive_distress = 0

    def take(self, sentence: str, vector: Vector) -> Verdict | None:
        """Return the verdict after `sentence`; `vector` is its embedding (unit length)."""
        going_round, distress = self.verdicts(sentence, vector)
        return going_round or distress

    def verdicts(self, sentence: str, vector: Vector) -> tuple[Verdict | None, Verdict | None]:
        """Return the verdicts on repetition and on distress, independently."""
        self._odds.append(self._likeness.distress(vector))
        self._nearness.append(self._nearness_of(vector) if is_prose(sentence) else 0.0)
        self._kept.append(vector)
        return self._going_round(sentence), self._distress(sentence)

    @property
    def nearness(self) -> float:
        """How close the last four sentences are to earlier ones, 0 to 1 (mean cosine to the two nearest)."""
        is_full = len(self._nearness) == _GOING_ROUND_SENTENCES and len(self._kept) > _GOING_ROUND_SENTENCES
        return sum(self._nearness) / _GOING_ROUND_SENTENCES if is_full else 0.0

    @property
    def similarity(self) -> float:
        """How distressed the last three sentences sound, 0 to 1: the similarity of RA-36."""
        return 1.0 / (1.0 + math.exp(-sum(self._odds) / len(self._odds))) if self._odds else 0.0

    def _nearness_of(self, vector: Vector) -> float:
        if len(self._kept) < _NEAREST:
            return 0.0
        cosines = np.sort(np.stack(self._kept) @ vector)
        return float(cosines[-_NEAREST:].mean())

    def _going_round(self, sentence: str) -> Verdict | None:
        if self.nearness <= GOING_ROUND:
            return None
        return Verdict(
            Action.INTERRUPT,
            TripReason.LOOP_DETECTED,
            Severity.MEDIUM,
            f"The same was said again and again in other words (nearness {self.nearness:.2f}, the limit is "
            f'{GOING_ROUND:.2f}): "{one_line(sentence, _QUOTE_CHARS)}".',
        )

    def _distress(self, sentence: str) -> Verdict | None:
        if self.similarity <= self._settings.distress_threshold:
            self.consecutive_distress = 0
            return None
        self.consecutive_distress += 1
        if self.consecutive_distress <= self._settings.max_consecutive_distress:
            return None
        return Verdict(
            Action.INTERRUPT_AND_COMFORT,
            TripReason.SUSTAINED_DISTRESS,
            Severity.HIGH,
            f"It sounded distressed {self.consecutive_distress} times in a row by what it meant (level "
            f"{self.similarity:.2f}, the limit is {self._settings.distress_threshold:.2f}): "
            f'"{one_line(sentence, _QUOTE_CHARS)}".',
        )
