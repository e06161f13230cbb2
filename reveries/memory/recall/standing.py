"""What of a turn index holds for every cue: worked out when a cue first needs it, and again after a change. Pure."""

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from reveries.memory.recall.words import Neighbours, Norms

if TYPE_CHECKING:
    from reveries.memory.recall.turn_index import TurnIndex


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
    def usual_length(self) -> tuple[np.float32, float]:
        """Mean and deviation of the live turns' `log_length`. There is at least one."""
        usual = self._index.surface["log_length"][self._index.live]
        return usual.mean(), float(usual.std())
