"""Rank fusion: the best k of an array, scores made comparable, and how meaning and words are weighted. Pure."""

import numpy as np
from numpy.typing import NDArray

from reveries.index.word_scores import Floats, Rows

_MEANING_LEAST, _MEANING_MOST = 0.4, 0.85
_BLOCK = 64

_WORTH_BLOCKS = 64
"""So many blocks a wanted value at least, or all values are looked at."""


def kth_highest(values: Floats, count: int) -> np.float32:
    """The `count`-th highest of `values`, of which there are at least so many."""
    reaching = values[_rows_reaching(values, count)]
    least: np.float32 = np.partition(reaching, len(reaching) - count)[len(reaching) - count]
    return least


def select_highest(values: Floats, count: int) -> Rows:
    """The places of the `count` highest, in no order; which of equal ones is undecided."""
    if len(values) <= count:
        return np.arange(len(values))
    rows = _rows_reaching(values, count)
    best = np.argpartition(-values[rows], count - 1)[:count]
    chosen: Rows = rows[best]
    return chosen


def rank_highest(values: Floats, count: int) -> list[int]:
    """The places of the `count` highest, best first; of equal ones the first goes first."""
    rows = np.arange(len(values))
    if len(values) > count:
        rows = np.flatnonzero(values >= kth_highest(values, count))
    ordered: list[int] = rows[np.argsort(-values[rows], kind="stable")][:count].tolist()
    return ordered


def _rows_reaching(values: Floats, count: int) -> Rows:
    """The places of all values that can be among the `count` highest."""
    blocks = len(values) // _BLOCK
    if blocks < _WORTH_BLOCKS or blocks < count:
        return np.arange(len(values))
    maxima = values[: blocks * _BLOCK].reshape(blocks, _BLOCK).max(axis=1)
    return np.flatnonzero(values >= np.partition(maxima, blocks - count)[blocks - count])


_NOISE = 1e-5
"""A spread of cosines below this is what float32 makes of equal ones."""


def z_scores(values: Floats, live: NDArray[np.bool_]) -> Floats:
    """How many standard deviations above the mean of the live rows."""
    chosen = values if live.all() else values[live]
    middle: np.float32 = chosen.mean() if len(chosen) else np.float32(0.0)
    centred: Floats = chosen - middle
    spread = float(np.sqrt((centred * centred).mean())) if len(chosen) else 0.0
    above: Floats = centred if chosen is values else values - middle
    scaled: Floats = above / np.float32(spread if spread > _NOISE else 1.0)
    return scaled


def meaning_weight(best_coverage: float) -> float:
    """How much meaning counts against words: the better one single row covers the words of the cue, the more the words
    count."""
    return _MEANING_MOST - (_MEANING_MOST - _MEANING_LEAST) * best_coverage


def fuse(meaning: Floats, words: Floats, weight: float) -> Floats:
    """Scores by meaning, weighted by `weight`, with scores by words."""
    fused: Floats = weight * meaning + (1.0 - weight) * words
    return fused
