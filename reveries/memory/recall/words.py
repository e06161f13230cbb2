"""BM25 over the turns in memory, kept up to date turn by turn, and over the window around each (2 before, 1 after).

k1 1.0, b 0.5, light stems, question words in the stop list: RECALL's measured choices. A window has no postings of its
own: what a turn's neighbours hold is gathered when a cue asks. A term costs as much as there are turns that hold it.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from reveries.memory.graph.loops import Int16, Int32, Int64
from reveries.memory.lexicon import associations, stop_words
from reveries.memory.recall.stemming import stem, words_of

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
Numbers = NDArray[np.int32]

K1 = 1.0
B = 0.5
_MOST_COUNTED = 32_767


_ASKING = frozenset(
    [
        "ask",
        "bring",
        "brought",
        "chat",
        "comprehensiv",
        "conversation",
        "discuss",
        "discussion",
        "item",
        "list",
        "mention",
        "order",
        "recal",
        "recall",
        "remember",
        "summari",
        "summariz",
        "talk",
        "tell",
        "told",
        "throughout",
        "across",
    ]
)
"""Stems."""


def terms_of(text: str) -> list[str]:
    """The stems of `text` that say what it is about, in order, with repeats."""
    stops = stop_words()
    return [stem(word) for word in words_of(text) if word not in stops]


def cue_terms(text: str) -> list[str]:
    """`terms_of` a cue, without the words by which one asks a memory ("what did I mention in our conversations, in
    order"): they name no subject. All of them when nothing else is there."""
    terms = terms_of(text)
    return [term for term in terms if term not in _ASKING] or terms


@dataclass(frozen=True, slots=True)
class WordScores:
    """How well the words of a cue are met, one value a row."""

    turn: Floats
    """BM25 of the turn itself."""
    window: Floats
    """BM25 of the turn with its neighbours."""
    coverage: Floats
    """The share of the cue's words, weighted by how rare they are, that the turn holds: 0 to 1."""
    window_coverage: Floats
    """The same for the turn with its neighbours."""
    kindred: Floats
    """Like `coverage`, but a word that means nearly the same counts too, by how near it is: 0 to 1."""


@dataclass(frozen=True)
class Neighbours:
    """For each row the row before and the row after it in its conversation; `size` itself where there is none."""

    previous: Rows
    next: Rows

    @cached_property
    def second_previous(self) -> Rows:
        """The row before the one before."""
        before: Rows = np.append(self.previous, len(self.previous))[self.previous]
        return before

    @cached_property
    def second_next(self) -> Rows:
        """The row after the one after."""
        after: Rows = np.append(self.next, len(self.next))[self.next]
        return after

    def gathered(self, values: Floats) -> Floats:
        """Each row's value with those of the two before it and the one after it added."""
        padded: Floats = np.append(values, np.float32(0.0)).astype(np.float32)
        wide: Floats = values + padded[self.previous] + padded[self.second_previous] + padded[self.next]
        return wide


@dataclass(frozen=True, slots=True)
class Norms:
    """BM25's length normalisation, one value a row; and how many rows are live."""

    turn: Floats
    window: Floats
    live_count: int


@dataclass(frozen=True, slots=True)
class PackedWords:
    """A whole word index, without its dead rows."""

    vocabulary: Sequence[str]
    """Terms by number."""
    term_ends: Int64
    """Where the rows of each term end."""
    rows: Int32
    counts: Int16
    terms: Int32
    """The terms of each row, in order, with repeats."""
    ends: Int64
    """Where the terms of each row end; shape (rows + 1,), from 0."""


class WordIndex:
    """Which term stands how often in which row. Rows are numbered from 0 in the order in which they are added.

    What it was filled with is packed, term after term; what comes later stands behind it.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._packed = packed_words([], np.zeros(0, dtype=np.int32), np.zeros(1, dtype=np.int64))
        self._rows: dict[int, array[int]] = {}
        self._counts: dict[int, array[int]] = {}
        self._size = 0
        self._terms: Int32 = np.zeros(1024, dtype=np.int32)
        self._ends: Int64 = np.zeros(256, dtype=np.int64)

    def __len__(self) -> int:
        return self._size

    def add(self, terms: Sequence[str]) -> int:
        """Add a row; its number."""
        row = self._size
        numbers = [self._number_of(term) for term in terms]
        for number, count in Counter(numbers).items():
            self._rows.setdefault(number, array("i")).append(row)
            self._counts.setdefault(number, array("h")).append(min(count, _MOST_COUNTED))
        self._keep(numbers)
        self._size += 1
        return row

    def fill(self, packed: PackedWords) -> None:
        """Take `packed` over; this index is empty. Raises ValueError where its parts do not fit together."""
        size, ends = len(packed.ends) - 1, packed.term_ends
        if len(ends) != len(packed.vocabulary) or len(packed.rows) != len(packed.counts):
            raise ValueError("The columns of the words are not of one length.")
        if len(packed.rows) != (int(ends[-1]) if len(ends) else 0) or len(packed.terms) != int(packed.ends[-1]):
            raise ValueError("The words end elsewhere than they say.")
        if len(packed.rows) and not 0 <= int(packed.rows.min()) <= int(packed.rows.max()) < size:
            raise ValueError("A word stands in a row that is not there.")
        self._packed, self._size = packed, size
        self._numbers = dict(zip(packed.vocabulary, range(len(packed.vocabulary)), strict=True))
        self._terms, self._ends = packed.terms, packed.ends

    def copied(self, live: NDArray[np.bool_]) -> Callable[[], PackedWords]:
        """A copy of what the `live` rows hold; sorting it, which takes the time, is left to whoever calls that."""
        lengths = np.diff(self._ends[: self._size + 1])
        terms = self._terms[: self._ends[self._size]].copy()
        vocabulary = list(self._numbers)

        def packed() -> PackedWords:
            ends = np.append(0, np.cumsum(np.where(live, lengths, 0))).astype(np.int64)
            return packed_words(vocabulary, terms[np.repeat(live, lengths)], ends)

        return packed

    def numbers_of(self, terms: Sequence[str], live: NDArray[np.bool_]) -> list[int]:
        """The numbers of those `terms` that some live row holds, in order."""
        return [self._numbers[term] for term in terms if live[self._postings(term)[0]].any()]

    def norms(self, live: NDArray[np.bool_], near: Neighbours) -> Norms:
        """What `score` needs to know of every row's length; rows that are not `live` count for nothing."""
        lengths = np.where(live, np.diff(self._ends[: self._size + 1]), 0).astype(np.float32)
        count = int(np.count_nonzero(live))
        return Norms(_norms(lengths, count), _norms(near.gathered(lengths), count), count)

    def terms_at(self, row: int) -> Numbers:
        """The numbers of a row's terms, in order, with repeats."""
        return self._terms[self._ends[row] : self._ends[row + 1]]

    def terms_in(self, rows: Rows) -> tuple[Numbers, Rows]:
        """The terms of several rows, one after another, and for each the place in `rows` that it belongs to."""
        starts = self._ends[rows]
        lengths = self._ends[rows + 1] - starts
        before = np.cumsum(lengths) - lengths
        places = np.repeat(np.arange(len(rows)), lengths)
        return self._terms[np.repeat(starts - before, lengths) + np.arange(len(places))], places

    def weight_of(self, term: str, live: NDArray[np.bool_]) -> float:
        """How telling a term is: the rarer among the `live` rows, the more (inverse document frequency)."""
        rows, _ = self._postings(term)
        return _idf(int(np.count_nonzero(live)), int(np.count_nonzero(live[rows])))

    def count_of(self, term: str, live: NDArray[np.bool_]) -> int:
        """How many `live` rows hold a term."""
        rows, _ = self._postings(term)
        return int(live[rows].sum())

    def score(
        self, terms: Sequence[str], live: NDArray[np.bool_], near: Neighbours, norms: Norms | None = None
    ) -> WordScores:
        """Score every row against the distinct `terms`; rows that are not `live` count for nothing. `norms` are those
        of this very state, if they are at hand."""
        tally = _Tally(norms or self.norms(live, near), near)
        for term in dict.fromkeys(terms):
            rows, counts = self._postings(term)
            kept = live[rows]
            tally.add(rows[kept], counts[kept], self._kindred(term, live))
        return tally.scores()

    def _keep(self, numbers: Sequence[int]) -> None:
        start = int(self._ends[self._size])
        end = start + len(numbers)
        if end > len(self._terms):
            self._terms = np.append(self._terms, np.zeros(max(end, 1024), dtype=np.int32))
        if self._size + 2 > len(self._ends):
            self._ends = np.append(self._ends, np.zeros(max(len(self._ends), 256), dtype=np.int64))
        self._terms[start:end] = numbers
        self._ends[self._size + 1] = end

    def _postings(self, term: str) -> tuple[Rows, Floats]:
        number = self._numbers.get(term)
        if number is None:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        packed = self._packed
        known = number < len(packed.term_ends)
        part = slice(packed.term_ends[number - 1] if number else 0, packed.term_ends[number]) if known else slice(0)
        rows, counts = packed.rows[part], packed.counts[part]
        if number in self._rows:
            rows = np.append(rows, np.array(self._rows[number], dtype=np.int32))
            counts = np.append(counts, np.array(self._counts[number], dtype=np.int16))
        return rows.astype(np.int64), counts.astype(np.float32)

    def _kindred(self, term: str, live: NDArray[np.bool_]) -> list[tuple[Rows, float]]:
        """The rows of the words that mean nearly the same, with how near: farthest first."""
        found: list[tuple[Rows, float]] = []
        for other, closeness in reversed(associations().get(term, ())):
            rows, _ = self._postings(other)
            if len(rows):
                found.append((rows[live[rows]], closeness))
        return found

    def _number_of(self, term: str) -> int:
        return self._numbers.setdefault(term, len(self._numbers))


def packed_words(vocabulary: Sequence[str], terms: Int32, ends: Int64) -> PackedWords:
    """The packed index of rows whose terms are given one row after the other; of a term that no row holds nothing."""
    size = len(ends) - 1
    is_held = np.zeros(len(vocabulary), dtype=np.bool_)
    is_held[terms] = True
    terms = (np.cumsum(is_held) - 1).astype(np.int32)[terms]
    vocabulary = [vocabulary[number] for number in np.flatnonzero(is_held).tolist()]
    rows = np.repeat(np.arange(size, dtype=np.int64), np.diff(ends))
    keys, counts = np.unique(terms.astype(np.int64) * max(1, size) + rows, return_counts=True)
    found, row = np.divmod(keys, max(1, size))
    return PackedWords(
        vocabulary,
        np.cumsum(np.bincount(found, minlength=len(vocabulary))).astype(np.int64),
        row.astype(np.int32),
        np.minimum(counts, _MOST_COUNTED).astype(np.int16),
        terms,
        ends,
    )


class _Tally:
    """The scores of one cue as they add up, term by term."""

    def __init__(self, norms: Norms, near: Neighbours) -> None:
        size = len(norms.turn)
        self._live_count = norms.live_count
        self._near = near
        self._norms = norms.turn
        self._window_norms = norms.window
        self._turn, self._window, self._covered, self._wide_covered = (
            np.zeros(size, dtype=np.float32) for _ in range(4)
        )
        self._kindred, self._closeness = np.zeros(size, dtype=np.float32), np.zeros(size, dtype=np.float32)
        self._wide = np.zeros(size + 1, dtype=np.float32)
        self._is_reached = np.zeros(size + 1, dtype=np.bool_)
        self._total_weight = 0.0

    def add(self, rows: Rows, counts: Floats, kindred: Sequence[tuple[Rows, float]]) -> None:
        """Take over a term that stands `counts` times in `rows`, and its like, farthest first."""
        weight = _idf(self._live_count, len(rows))
        self._total_weight += weight
        for near, closeness in (*kindred, (rows, 1.0)):
            self._closeness[near] = closeness
        for near in [rows, *(near for near, _ in kindred)]:
            self._kindred[near] += weight * self._closeness[near]
            self._closeness[near] = 0.0
        if not len(rows):
            return
        self._turn[rows] += weight * _saturated(counts, self._norms[rows])
        self._covered[rows] += weight
        reached = self._spread(rows, counts)
        wide = self._wide[reached]
        self._wide[reached] = 0.0
        self._window[reached] += _idf(self._live_count, len(reached)) * _saturated(wide, self._window_norms[reached])
        self._wide_covered[reached] += weight

    def scores(self) -> WordScores:
        total = np.float32(self._total_weight or 1.0)
        return WordScores(
            self._turn, self._window, self._covered / total, self._wide_covered / total, self._kindred / total
        )

    def _spread(self, rows: Rows, counts: Floats) -> Rows:
        """Add `counts` to every window that a row of `rows` is part of; the rows of those windows."""
        near = self._near
        for reached in (rows, near.previous[rows], near.next[rows], near.second_next[rows]):
            self._wide[reached] += counts
            self._is_reached[reached] = True
        self._wide[-1] = 0.0
        self._is_reached[-1] = False
        found = np.flatnonzero(self._is_reached)
        self._is_reached[found] = False
        return found


def _idf(total: int, holding: int) -> float:
    return float(np.log1p((total - min(total, holding) + 0.5) / (holding + 0.5)))


def _norms(lengths: Floats, live_count: int) -> Floats:
    """BM25's length normalisation; the average length is that of live rows (dead ones have length 0)."""
    average = float(lengths.sum()) / max(1, live_count) or 1.0
    return (K1 * (1.0 - B + B * lengths / np.float32(average))).astype(np.float32)


def _saturated(counts: Floats, norms: Floats) -> Floats:
    """BM25's term weight."""
    return (counts * np.float32(K1 + 1.0) / (counts + norms + np.float32(1e-9))).astype(np.float32)
