"""What of a turn index holds for every cue: worked out when a cue first needs it, and again after a change. Pure."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from reveries.index.arrays import Int32
from reveries.index.word_scores import Neighbours, Norms
from reveries.index.words import WordIndex


@dataclass(frozen=True, slots=True)
class Columns:
    """What of an index is looked at, one value a row."""

    live: NDArray[np.bool_]
    surface: NDArray[np.void]
    """Records of SURFACE."""
    previous: Int32
    """The row before it in the same conversation; -1 for none."""
    following: Int32


class StaticFeatures:
    """Of one state of an index: whoever changes the index takes another."""

    def __init__(self, words: WordIndex, columns: Columns) -> None:
        self._words = words
        self._columns = columns
        self._telling: dict[str, tuple[int, float] | None] = {}

    @cached_property
    def neighbours(self) -> Neighbours:
        """Rows before and after in the same conversation; `size` where there is none."""
        size = len(self._columns.live)
        previous, following = self._columns.previous.astype(np.int64), self._columns.following.astype(np.int64)
        return Neighbours(np.where(previous < 0, size, previous), np.where(following < 0, size, following))

    @cached_property
    def norms(self) -> Norms:
        """BM25's length normalisation."""
        return self._words.norms(self._columns.live, self.neighbours)

    def telling(self, term: str) -> tuple[int, float] | None:
        """A term's number, and how telling it is: the rarer, the more. None for one that no live row holds."""
        if term not in self._telling:
            words, live = self._words, self._columns.live
            numbers = words.numbers_of([term], live)
            self._telling[term] = (numbers[0], words.weight_of(term, live)) if numbers else None
        return self._telling[term]

    @cached_property
    def usual_length(self) -> tuple[np.float32, float]:
        """Mean and deviation of the live turns' `log_length`. There is at least one."""
        usual = self._columns.surface["log_length"][self._columns.live]
        return usual.mean(), float(usual.std())
