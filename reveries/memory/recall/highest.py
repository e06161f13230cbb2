"""The few highest of many values, without ordering the many. Pure.

The values are looked at in blocks: the k-th highest of the blocks' maxima is no higher than the k-th highest value, so
that only what reaches it has to be looked at again.
"""

import numpy as np

from reveries.memory.recall.tallying import Floats, Rows

_BLOCK = 64
_WORTH_BLOCKS = 64
"""So many blocks a wanted value at least, or all values are looked at."""


def kth_highest(values: Floats, count: int) -> np.float32:
    """The `count`-th highest of `values`, of which there are at least so many."""
    reaching = values[_reaching(values, count)]
    least: np.float32 = np.partition(reaching, len(reaching) - count)[len(reaching) - count]
    return least


def highest(values: Floats, count: int) -> Rows:
    """The places of the `count` highest, in no order; which of equal ones is undecided."""
    if len(values) <= count:
        return np.arange(len(values))
    rows = _reaching(values, count)
    best = np.argpartition(-values[rows], count - 1)[:count]
    chosen: Rows = rows[best]
    return chosen


def best_first(values: Floats, count: int) -> list[int]:
    """The places of the `count` highest, best first; of equal ones the first goes first."""
    rows = np.arange(len(values))
    if len(values) > count:
        rows = np.flatnonzero(values >= kth_highest(values, count))
    ordered: list[int] = rows[np.argsort(-values[rows], kind="stable")][:count].tolist()
    return ordered


def _reaching(values: Floats, count: int) -> Rows:
    """The places of all values that can be among the `count` highest."""
    blocks = len(values) // _BLOCK
    if blocks < _WORTH_BLOCKS or blocks < count:
        return np.arange(len(values))
    maxima = values[: blocks * _BLOCK].reshape(blocks, _BLOCK).max(axis=1)
    return np.flatnonzero(values >= np.partition(maxima, blocks - count)[blocks - count])
