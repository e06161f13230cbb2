"""BM25 over the turns in memory, kept up to date turn by turn, and over the window around each (2 before, 1 after).

k1 1.0, b 0.5, light stems, question words in the stop list: RECALL's measured choices. A window has no postings of its
own: what a turn's neighbours hold is gathered when a cue asks. A term costs as much as there are turns that hold it.
"""

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reveries.memory.lexicon import associations, stop_words
from reveries.memory.stemming import stem, words_of

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
Numbers = NDArray[np.int32]

K1 = 1.0
B = 0.5


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


@dataclass(frozen=True, slots=True)
class Neighbours:
    """For each row the row before and the row after it in its conversation; `size` itself where there is none."""

    previous: Rows
    next: Rows


class WordIndex:
    """Which term stands how often in which row. Rows are numbered from 0 in the order in which they are added."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._rows: list[array[int]] = []
        self._counts: list[array[int]] = []
        self._lengths = array("i")
        self._terms: Numbers = np.zeros(1024, dtype=np.int32)
        self._ends = array("q", [0])

    def __len__(self) -> int:
        return len(self._lengths)

    def add(self, terms: Sequence[str]) -> int:
        """Add a row; its number."""
        row = len(self._lengths)
        numbers = [self._number_of(term) for term in terms]
        for number, count in Counter(numbers).items():
            self._rows[number].append(row)
            self._counts[number].append(count)
        self._lengths.append(len(numbers))
        self._keep(numbers)
        return row

    def numbers_of(self, terms: Sequence[str], live: NDArray[np.bool_]) -> list[int]:
        """The numbers of those `terms` that some live row holds, in order."""
        return [self._numbers[term] for term in terms if live[self._postings(term)[0]].any()]

    def terms_at(self, row: int) -> Numbers:
        """The numbers of a row's terms, in order, with repeats."""
        return self._terms[self._ends[row] : self._ends[row + 1]]

    def terms_in(self, rows: Rows) -> tuple[Numbers, Rows]:
        """The terms of several rows, one after another, and for each the place in `rows` that it belongs to."""
        pieces = [self.terms_at(row) for row in rows.tolist()]
        if not pieces:
            return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64)
        return np.concatenate(pieces), np.repeat(np.arange(len(rows)), [len(piece) for piece in pieces])

    def weight_of(self, term: str, live: NDArray[np.bool_]) -> float:
        """How telling a term is: the rarer among the `live` rows, the more (inverse document frequency)."""
        rows, _ = self._postings(term)
        return _idf(int(live.sum()), int(live[rows].sum()))

    def count_of(self, term: str, live: NDArray[np.bool_]) -> int:
        """How many `live` rows hold a term."""
        rows, _ = self._postings(term)
        return int(live[rows].sum())

    def score(self, terms: Sequence[str], live: NDArray[np.bool_], near: Neighbours) -> WordScores:
        """Score every row against the distinct `terms`; rows that are not `live` count for nothing."""
        tally = _Tally(
            np.where(live, np.array(self._lengths, dtype=np.float32), np.float32(0.0)), near, int(live.sum())
        )
        for term in dict.fromkeys(terms):
            rows, counts = self._postings(term)
            kept = live[rows]
            tally.add(rows[kept], counts[kept], self._kindred(term, live))
        return tally.scores()

    def _keep(self, numbers: Sequence[int]) -> None:
        end = self._ends[-1] + len(numbers)
        while end > len(self._terms):
            self._terms = np.concatenate([self._terms, np.zeros_like(self._terms)])
        self._terms[self._ends[-1] : end] = numbers
        self._ends.append(end)

    def _postings(self, term: str) -> tuple[Rows, Floats]:
        number = self._numbers.get(term)
        if number is None:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        return np.array(self._rows[number], dtype=np.int64), np.array(self._counts[number], dtype=np.float32)

    def _kindred(self, term: str, live: NDArray[np.bool_]) -> list[tuple[Rows, float]]:
        """The rows of the words that mean nearly the same, with how near: farthest first."""
        found: list[tuple[Rows, float]] = []
        for other, closeness in reversed(associations().get(term, ())):
            rows, _ = self._postings(other)
            if len(rows):
                found.append((rows[live[rows]], closeness))
        return found

    def _number_of(self, term: str) -> int:
        number = self._numbers.get(term)
        if number is None:
            number = self._numbers[term] = len(self._rows)
            self._rows.append(array("q"))
            self._counts.append(array("i"))
        return number


class _Tally:
    """The scores of one cue as they add up, term by term."""

    def __init__(self, lengths: Floats, near: Neighbours, live_count: int) -> None:
        size = len(lengths)
        self._live_count = live_count
        self._near = near
        self._norms = _norms(lengths, live_count)
        self._window_norms = _norms(_gather(lengths, near), live_count)
        self._turn, self._window, self._covered, self._wide_covered = (
            np.zeros(size, dtype=np.float32) for _ in range(4)
        )
        self._kindred, self._closeness = np.zeros(size, dtype=np.float32), np.zeros(size, dtype=np.float32)
        self._wide = np.zeros(size + 1, dtype=np.float32)
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
        size = len(self._turn)
        following = self._near.next[rows]
        second = np.full_like(following, size)
        inside = following < size
        second[inside] = self._near.next[following[inside]]
        touched = [rows, self._near.previous[rows], following, second]
        for reached in touched:
            self._wide[reached] += counts
        self._wide[size] = 0.0
        unique = np.unique(np.concatenate(touched))
        return unique[unique < size]


def _idf(total: int, holding: int) -> float:
    return float(np.log1p((total - min(total, holding) + 0.5) / (holding + 0.5)))


def _norms(lengths: Floats, live_count: int) -> Floats:
    """BM25's length normalisation; the average length is that of live rows (dead ones have length 0)."""
    average = float(lengths.sum()) / max(1, live_count) or 1.0
    return (K1 * (1.0 - B + B * lengths / np.float32(average))).astype(np.float32)


def _saturated(counts: Floats, norms: Floats) -> Floats:
    """BM25's term weight."""
    return (counts * np.float32(K1 + 1.0) / (counts + norms + np.float32(1e-9))).astype(np.float32)


def _gather(values: Floats, near: Neighbours) -> Floats:
    """Each row's value with those of the two before it and the one after it added."""
    padded: Floats = np.append(values, np.float32(0.0)).astype(np.float32)
    before = np.append(near.previous, len(values))
    wide: Floats = values + padded[near.previous] + padded[before[near.previous]] + padded[near.next]
    return wide
