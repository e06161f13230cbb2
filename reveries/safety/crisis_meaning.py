"""Whether words sound like those of a person in danger, by what they mean: beside the rules of `crisis`, never instead.

Pure but for `load_crisis_likeness`. The weights were learned from `bench/safety/crisis_train.jsonl` by
`bench/crisis_learn.py` for one embedder that knows English; with another one the rules stand alone.
"""

import math
from dataclasses import dataclass
from importlib import resources
from typing import Final

import numpy as np

from reveries.llm.base import Vector, Vectors
from reveries.safety.crisis import SENTENCE, normalise_lines

_SHORT_CHARS: Final = 200
"""A message up to so long is weighed whole: a sentence apart from its neighbours says too much or too little."""
_LEAST_CHARS: Final = 12
_MOST_SENTENCES: Final = 14
_READ_CHARS: Final = 20_000
_MOST_CHARS: Final = 300
"""Of one piece: all pieces of a long message must be embedded within half a second."""


@dataclass(frozen=True, slots=True)
class CrisisLikeness:
    """One logistic regression over the vectors of messages, and from which log odds on it says so."""

    model_id: str
    weights: Vector
    bias: float
    limit: float

    def highest(self, vectors: Vectors) -> float:
        """Log odds of the message; `vectors` are of its pieces, one a row, the whole first.

        The more sentences, the likelier one of them is above any limit by chance: so many times less each counts.
        """
        odds = vectors @ self.weights + self.bias
        sentences = float(odds[1:].max()) - math.log(len(odds) - 1) if len(odds) > 1 else -math.inf
        return max(float(odds[0]), sentences)

    def sounds_like_it(self, vectors: Vectors) -> bool:
        """Whether the message is above the limit."""
        return self.highest(vectors) > self.limit


def load_crisis_likeness() -> CrisisLikeness:
    """What ships with the package. Reads a file: not on the loop."""
    with resources.files("reveries.safety").joinpath("crisis.npz").open("rb") as file:
        loaded = np.load(file)
        return CrisisLikeness(str(loaded["model_id"]), loaded["weights"], float(loaded["bias"]), float(loaded["limit"]))


def pieces_to_weigh(words: str) -> list[str]:
    """The message itself; of a long one also its sentences, the first and the last where there are many."""
    said = normalise_lines(words[:_READ_CHARS])
    pieces = [said[:_MOST_CHARS]]
    if len(said) <= _SHORT_CHARS:
        return pieces
    sentences = [one.strip() for one in SENTENCE.findall(said)]
    sentences = [one[:_MOST_CHARS] for one in sentences if len(one) >= _LEAST_CHARS]
    if len(sentences) > _MOST_SENTENCES:
        sentences = sentences[: _MOST_SENTENCES // 2] + sentences[-_MOST_SENTENCES // 2 :]
    return pieces + sentences
