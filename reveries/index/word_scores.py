"""BM25 scores of a cue, term by term: for rows, for their windows, and the share of the cue's words that they contain.

Two forms that give identical bits: over whole arrays, which is the reference and is used until the loops are compiled,
and by compiled loops, which read each posting once. Pure.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from reveries.index.arrays import Int16, Int32
from reveries.index.kernels import IndexKernels

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]

K1 = 1.0
B = 0.5
_SATURATION = K1 + 1.0


@dataclass(frozen=True, slots=True)
class WordScores:
    """How well each row matches the words of a cue: one value per row."""

    row: Floats
    """BM25 of the row itself."""
    window: Floats
    """BM25 of the row with its neighbours."""
    coverage: Floats
    """The share of the cue's words, weighted by rarity, that the row contains: 0 to 1."""
    window_coverage: Floats
    """The same for the row with its neighbours."""


@dataclass(frozen=True)
class Neighbours:
    """For each row the previous and the next row of its sequence; the number of rows where there is none."""

    previous: Rows
    next: Rows

    @cached_property
    def second_previous(self) -> Rows:
        """Two rows back."""
        before: Rows = np.append(self.previous, len(self.previous))[self.previous]
        return before

    @cached_property
    def second_next(self) -> Rows:
        """Two rows ahead."""
        after: Rows = np.append(self.next, len(self.next))[self.next]
        return after

    def gather_windows(self, values: Floats) -> Floats:
        """Return each row's value plus those of the two rows before it and the one after it."""
        padded: Floats = np.append(values, np.float32(0.0)).astype(np.float32)
        wide: Floats = values + padded[self.previous] + padded[self.second_previous] + padded[self.next]
        return wide


@dataclass(frozen=True, slots=True)
class Norms:
    """BM25's length normalisation, one value per row, and the number of live rows."""

    row: Floats
    window: Floats
    live_count: int


@dataclass(frozen=True, slots=True)
class Posting:
    """The rows that contain a term, live or not, each once, and how often each does."""

    rows: Int32
    counts: Int16


@dataclass(frozen=True, slots=True)
class ScoredRows:
    """The rows to score; rows that are not `live` are ignored."""

    live: NDArray[np.bool_]
    near: Neighbours
    norms: Norms


class Tally:
    """Accumulates the scores of one cue over whole arrays: the reference form."""

    def __init__(self, state: ScoredRows) -> None:
        size = len(state.live)
        self._state = state
        self._row, self._window, self._covered, self._wide_covered = (
            np.zeros(size, dtype=np.float32) for _ in range(4)
        )
        self._wide = np.zeros(size + 1, dtype=np.float32)
        self._is_reached = np.zeros(size + 1, dtype=np.bool_)
        self._total_weight = 0.0

    def add(self, posting: Posting) -> None:
        """Add the scores of one term."""
        live, norms = self._state.live, self._state.norms
        kept = live[posting.rows]
        rows, counts = posting.rows[kept].astype(np.int64), posting.counts[kept].astype(np.float32)
        weight = idf(norms.live_count, len(rows))
        self._total_weight += weight
        if not len(rows):
            return
        self._row[rows] += weight * saturate_counts(counts, norms.row[rows])
        self._covered[rows] += weight
        reached = self._add_to_windows(rows, counts)
        wide = self._wide[reached]
        self._wide[reached] = 0.0
        self._window[reached] += idf(norms.live_count, len(reached)) * saturate_counts(wide, norms.window[reached])
        self._wide_covered[reached] += weight

    def scores(self) -> WordScores:
        """Return the accumulated scores."""
        total = np.float32(self._total_weight or 1.0)
        return WordScores(self._row, self._window, self._covered / total, self._wide_covered / total)

    def _add_to_windows(self, rows: Rows, counts: Floats) -> Rows:
        """Add `counts` to every window that contains one of `rows`; return the rows of those windows."""
        near = self._state.near
        for reached in (rows, near.previous[rows], near.next[rows], near.second_next[rows]):
            self._wide[reached] += counts
            self._is_reached[reached] = True
        self._wide[-1] = 0.0
        self._is_reached[-1] = False
        windows = np.flatnonzero(self._is_reached)
        self._is_reached[windows] = False
        return windows


class LoopTally:
    """Accumulates the scores of one cue by compiled loops."""

    def __init__(self, kernels: IndexKernels, state: ScoredRows) -> None:
        size = len(state.live)
        self._kernels = kernels
        self._state = state
        self._row, self._window, self._covered, self._wide_covered = (
            np.zeros(size, dtype=np.float32) for _ in range(4)
        )
        self._wide = np.zeros(size + 1, dtype=np.float32)
        self._reached: Int32 = np.empty(size + 1, dtype=np.int32)
        self._total_weight = 0.0

    def add(self, posting: Posting) -> None:
        """See Tally."""
        live, near, norms, loops = self._state.live, self._state.near, self._state.norms, self._kernels
        rows, counts = posting.rows, posting.counts
        row_count, window_count = loops.reach_windows(
            rows, counts, live, near.previous, near.next, self._wide, self._reached
        )
        weight = idf(norms.live_count, row_count)
        self._total_weight += weight
        if not row_count:
            return
        loops.weigh_rows(rows, counts, live, norms.row, _SATURATION, weight, self._row, self._covered)
        rarity = idf(norms.live_count, window_count)
        loops.weigh_windows(
            self._wide,
            self._reached,
            window_count,
            norms.window,
            _SATURATION,
            rarity,
            weight,
            self._window,
            self._wide_covered,
        )

    def scores(self) -> WordScores:
        """See Tally."""
        total = np.float32(self._total_weight or 1.0)
        return WordScores(self._row, self._window, self._covered / total, self._wide_covered / total)


def idf(total: int, holding: int) -> float:
    """Return the inverse document frequency of a term that `holding` of `total` rows contain."""
    return float(np.log1p((total - min(total, holding) + 0.5) / (holding + 0.5)))


def norms_of(lengths: Floats, live_count: int) -> Floats:
    """Return BM25's length normalisation; the average is over the live rows (others have length 0)."""
    average = float(lengths.sum()) / max(1, live_count) or 1.0
    return (K1 * (1.0 - B + B * lengths / np.float32(average))).astype(np.float32)


def saturate_counts(counts: Floats, norms: Floats) -> Floats:
    """Return BM25's term weights."""
    return (counts * np.float32(_SATURATION) / (counts + norms + np.float32(1e-9))).astype(np.float32)
