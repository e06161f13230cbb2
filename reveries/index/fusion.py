"""Rank fusion: top-k selection, score normalisation, and the weights of meaning and words. Pure."""

import numpy as np
from numpy.typing import NDArray

from reveries.index.word_scores import Floats, Rows

_MEANING_LEAST, _MEANING_MOST = 0.4, 0.85
_BLOCK = 64

_WORTH_BLOCKS = 64
"""With fewer blocks than this, block maxima save nothing and every value is compared."""


def kth_highest(values: Floats, count: int) -> np.float32:
    """Return the `count`-th highest of `values`, which must hold at least `count` values."""
    reaching = values[_rows_reaching(values, count)]
    least: np.float32 = np.partition(reaching, len(reaching) - count)[len(reaching) - count]
    return least


def select_highest(values: Floats, count: int) -> Rows:
    """Return the positions of the `count` highest values, unordered; ties are broken arbitrarily."""
    if len(values) <= count:
        return np.arange(len(values))
    rows = _rows_reaching(values, count)
    best = np.argpartition(-values[rows], count - 1)[:count]
    chosen: Rows = rows[best]
    return chosen


def rank_highest(values: Floats, count: int) -> list[int]:
    """Return the positions of the `count` highest values, best first; ties keep their order."""
    rows = np.arange(len(values))
    if len(values) > count:
        rows = np.flatnonzero(values >= kth_highest(values, count))
    ordered: list[int] = rows[np.argsort(-values[rows], kind="stable")][:count].tolist()
    return ordered


def _rows_reaching(values: Floats, count: int) -> Rows:
    """Return the positions of all values that can be among the `count` highest."""
    blocks = len(values) // _BLOCK
    if blocks < _WORTH_BLOCKS or blocks < count:
        return np.arange(len(values))
    maxima = values[: blocks * _BLOCK].reshape(blocks, _BLOCK).max(axis=1)
    return np.flatnonzero(values >= np.partition(maxima, blocks - count)[blocks - count])


_NOISE = 1e-5
"""Cosines whose standard deviation is below this are equal up to float32 rounding."""


def z_scores(values: Floats, live: NDArray[np.bool_]) -> Floats:
    """Return how many standard deviations each value is above the mean of the live rows."""
    chosen = values if live.all() else values[live]
    middle: np.float32 = chosen.mean() if len(chosen) else np.float32(0.0)
    centred: Floats = chosen - middle
    spread = float(np.sqrt((centred * centred).mean())) if len(chosen) else 0.0
    above: Floats = centred if chosen is values else values - middle
    scaled: Floats = above / np.float32(spread if spread > _NOISE else 1.0)
    return scaled


def meaning_weight(best_coverage: float) -> float:
    """Return the weight of meaning against words: the better any single row covers the words of the cue, the more words
    count."""
    return _MEANING_MOST - (_MEANING_MOST - _MEANING_LEAST) * best_coverage


def fuse(meaning: Floats, words: Floats, weight: float) -> Floats:
    """Return `weight` x meaning + (1 - `weight`) x words."""
    fused: Floats = weight * meaning + (1.0 - weight) * words
    return fused
