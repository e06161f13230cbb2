"""What of a turn index holds for every cue: worked out when a cue first needs it, and again after a change. Pure."""

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from reveries.llm.base import Vector
from reveries.memory.recall.words import Neighbours, Norms

if TYPE_CHECKING:
    from reveries.memory.recall.turn_index import TurnIndex

_SAMPLED = 4096


class Standing:
    """Of one state of an index: whoever changes the index takes another."""

    def __init__(self, index: "TurnIndex") -> None:
        self._index = index
        self._telling: dict[str, tuple[int, float] | None] = {}

    @cached_property
    def neighbours(self) -> Neighbours:
        """Rows before and after in the same conversation; `size` where there is none."""
        return self._index.measured_neighbours()

    @cached_property
    def norms(self) -> Norms:
        """BM25's length normalisation."""
        return self._index.words.norms(self._index.live, self.neighbours)

    def telling(self, term: str) -> tuple[int, float] | None:
        """A term's number, and how telling it is: the rarer, the more. None for one that no live row holds."""
        if term not in self._telling:
            words, live = self._index.words, self._index.live
            numbers = words.numbers_of([term], live)
            self._telling[term] = (numbers[0], words.weight_of(term, live)) if numbers else None
        return self._telling[term]

    @cached_property
    def common(self) -> Vector:
        """The direction of what everything here has in common."""
        mean = self._index.mean_vector
        length = float(np.linalg.norm(mean))
        scaled: Vector = (mean / np.float32(length if length > 1e-9 else 1.0)).astype(np.float32)
        return scaled

    @cached_property
    def usual_typicality(self) -> tuple[float, float]:
        """Mean and deviation of how near turns are to `common`; those of a large memory from a few thousand of them."""
        index = self._index
        some = slice(None, None, max(1, index.size // _SAMPLED))
        usual = (index.vectors[some] @ self.common)[index.live[some]]
        return (float(usual.mean()), float(usual.std())) if len(usual) else (0.0, 0.0)

    @cached_property
    def usual_length(self) -> tuple[np.float32, float]:
        """Mean and deviation of the live turns' `log_length`. There is at least one."""
        usual = self._index.surface["log_length"][self._index.live]
        return usual.mean(), float(usual.std())
