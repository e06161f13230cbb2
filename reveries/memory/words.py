"""BM25 over the turns in memory, kept up to date turn by turn, and over the window around each (2 before, 1 after).

k1 1.0, b 0.5, light stems, question words in the stop list: RECALL's measured choices. A window has no postings of its
own: what a turn's neighbours hold is gathered when a cue asks.
"""

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reveries.memory.lexicon import stop_words
from reveries.memory.stemming import stem, words_of

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]

K1 = 1.0
B = 0.5


def terms_of(text: str) -> list[str]:
    """The stems of `text` that say what it is about, in order, with repeats."""
    stops = stop_words()
    return [stem(word) for word in words_of(text) if word not in stops]


@dataclass(frozen=True, slots=True)
class WordScores:
    """How well the words of a cue are met, one value a row."""

    turn: Floats
    """BM25 of the turn itself."""
    window: Floats
    """BM25 of the turn with its neighbours."""
    coverage: Floats
    """The share of the cue's words, weighted by how rare they are, that the turn holds: 0 to 1."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """For each row the row before and the row after it in its conversation; `size` itself where there is none."""

    previous: Rows
    next: Rows


class WordIndex:
    """Which term stands how often in which row. Rows are numbered from 0 in the order in which they are added."""

    def __init__(self) -> None:
        self._rows: dict[str, array[int]] = {}
        self._counts: dict[str, array[int]] = {}
        self._lengths = array("i")

    def __len__(self) -> int:
        return len(self._lengths)

    def add(self, terms: Sequence[str]) -> int:
        """Add a row; its number."""
        row = len(self._lengths)
        for term, count in Counter(terms).items():
            self._rows.setdefault(term, array("q")).append(row)
            self._counts.setdefault(term, array("i")).append(count)
        self._lengths.append(len(terms))
        return row

    def score(self, terms: Sequence[str], live: NDArray[np.bool_], near: Neighbours) -> WordScores:
        """Score every row against the distinct `terms`; rows that are not `live` count for nothing."""
        size = len(self._lengths)
        turn, window, covered = (np.zeros(size, dtype=np.float32) for _ in range(3))
        lengths = np.where(live, np.array(self._lengths, dtype=np.float32), np.float32(0.0))
        wide_lengths = _gather(lengths, near)
        live_count = int(live.sum())
        total_weight = 0.0
        for term in dict.fromkeys(terms):
            counts = self._counts_of(term, live)
            weight = _idf(live_count, int(np.count_nonzero(counts)))
            total_weight += weight
            if not counts.any():
                continue
            wide = _gather(counts, near)
            turn += weight * _saturated(counts, lengths, live_count)
            window += _idf(live_count, int(np.count_nonzero(wide))) * _saturated(wide, wide_lengths, live_count)
            covered += weight * (counts > 0)
        return WordScores(turn, window, covered / np.float32(total_weight or 1.0))

    def _counts_of(self, term: str, live: NDArray[np.bool_]) -> Floats:
        counts = np.zeros(len(self._lengths), dtype=np.float32)
        if term in self._rows:
            counts[np.array(self._rows[term])] = self._counts[term]
        counts[~live] = 0.0
        return counts


def _idf(total: int, holding: int) -> float:
    return float(np.log1p((total - holding + 0.5) / (holding + 0.5)))


def _saturated(counts: Floats, lengths: Floats, live_count: int) -> Floats:
    """BM25's term weight; the average length is that of live rows (dead ones have length 0)."""
    average = float(lengths.sum()) / max(1, live_count) or 1.0
    norm = K1 * (1.0 - B + B * lengths / np.float32(average))
    return (counts * np.float32(K1 + 1.0) / (counts + norm + np.float32(1e-9))).astype(np.float32)


def _gather(values: Floats, near: Neighbours) -> Floats:
    """Each row's value with those of the two before it and the one after it added."""
    padded: Floats = np.append(values, np.float32(0.0)).astype(np.float32)
    before = np.append(near.previous, len(values))
    wide: Floats = values + padded[near.previous] + padded[before[near.previous]] + padded[near.next]
    return wide
