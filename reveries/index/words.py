"""BM25 over rows of text and over the window around each row (2 before, 1 after), updated row by row.

k1 1.0, b 0.5, light stems, question words in the stop list: the choices measured in RECALL. Windows have no postings:
the terms of a row's neighbours are gathered at query time. The cost of a term is the number of rows that contain it.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reveries.index.arrays import Int16, Int32, Int64
from reveries.index.kernels import IndexKernels, interpreted_index_kernels
from reveries.index.word_scores import (
    LoopTally,
    Neighbours,
    Norms,
    Posting,
    Rows,
    ScoredRows,
    Tally,
    WordScores,
    idf,
    norms_of,
)

Numbers = NDArray[np.int32]

_NO_ROWS, _NO_COUNTS = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int16)
_FEW_ROWS = 64
_MOST_COUNTED = 32_767


@dataclass(frozen=True, slots=True)
class PackedWords:
    """A whole word index, without the rows that are not live."""

    vocabulary: Sequence[str]
    """Terms by number."""
    term_ends: Int64
    """End offsets of each term's rows in `rows`."""
    rows: Int32
    counts: Int16
    terms: Int32
    """The terms of each row, in order, with repeats."""
    ends: Int64
    """End offsets of each row's terms in `terms`; shape (rows + 1,), from 0."""


class WordIndex:
    """How often each row contains each term. Rows are numbered from 0 in the order in which they are added.

    Rows from `load_packed` stay packed, term after term; rows added later are kept apart from them.
    """

    def __init__(self, kernels: IndexKernels | None = None) -> None:
        self.kernels = kernels or interpreted_index_kernels()
        self._numbers: dict[str, int] = {}
        self._packed = pack_words([], np.zeros(0, dtype=np.int32), np.zeros(1, dtype=np.int64))
        self._rows: dict[int, array[int]] = {}
        self._counts: dict[int, array[int]] = {}
        self._size = 0
        self._terms: Int32 = np.zeros(1024, dtype=np.int32)
        self._ends: Int64 = np.zeros(256, dtype=np.int64)

    def __len__(self) -> int:
        return self._size

    def add(self, terms: Sequence[str]) -> int:
        """Add a row; return its number."""
        row = self._size
        numbers = [self._number_of(term) for term in terms]
        for number, count in Counter(numbers).items():
            self._rows.setdefault(number, array("i")).append(row)
            self._counts.setdefault(number, array("h")).append(min(count, _MOST_COUNTED))
        self._append_numbers(numbers)
        self._size += 1
        return row

    def load_packed(self, packed: PackedWords) -> None:
        """Load `packed` into this empty index. Raises ValueError if its parts are inconsistent."""
        size, ends = len(packed.ends) - 1, packed.term_ends
        if len(ends) != len(packed.vocabulary) or len(packed.rows) != len(packed.counts):
            raise ValueError("The columns of the word index differ in length.")
        if len(packed.rows) != (int(ends[-1]) if len(ends) else 0) or len(packed.terms) != int(packed.ends[-1]):
            raise ValueError("The end offsets of the word index do not match its columns.")
        if len(packed.rows) and not 0 <= int(packed.rows.min()) <= int(packed.rows.max()) < size:
            raise ValueError("A word refers to a row that does not exist.")
        self._packed, self._size = packed, size
        self._numbers = dict(zip(packed.vocabulary, range(len(packed.vocabulary)), strict=True))
        self._terms, self._ends = packed.terms, packed.ends

    def begin_copy(self, live: NDArray[np.bool_]) -> Callable[[], PackedWords]:
        """Copy the terms of the `live` rows; the returned function sorts them, which is the slow part."""
        lengths = np.diff(self._ends[: self._size + 1])
        terms = self._terms[: self._ends[self._size]].copy()
        vocabulary = list(self._numbers)

        def build_packed() -> PackedWords:
            ends = np.append(0, np.cumsum(np.where(live, lengths, 0))).astype(np.int64)
            return pack_words(vocabulary, terms[np.repeat(live, lengths)], ends)

        return build_packed

    def numbers_of(self, terms: Sequence[str], live: NDArray[np.bool_]) -> list[int]:
        """Return the numbers of those `terms` that some live row contains, in order."""
        numbers = [number for term in terms if (number := self._numbers.get(term)) is not None]
        return [number for number in numbers if _is_any_live(live, self._rows_of(number))]

    def norms(self, live: NDArray[np.bool_], near: Neighbours) -> Norms:
        """Return the length normalisation that `score` needs; rows that are not `live` are ignored."""
        lengths = np.where(live, np.diff(self._ends[: self._size + 1]), 0).astype(np.float32)
        count = int(np.count_nonzero(live))
        return Norms(norms_of(lengths, count), norms_of(near.gather_windows(lengths), count), count)

    def terms_at(self, row: int) -> Numbers:
        """Return the numbers of a row's terms, in order, with repeats."""
        return self._terms[self._ends[row] : self._ends[row + 1]]

    def terms_in(self, rows: Rows) -> tuple[Numbers, Rows]:
        """Return the terms of several rows, one row after another, and for each term its row's position in `rows`."""
        starts = self._ends[rows]
        lengths = self._ends[rows + 1] - starts
        before = np.cumsum(lengths) - lengths
        places = np.repeat(np.arange(len(rows)), lengths)
        return self._terms[np.repeat(starts - before, lengths) + np.arange(len(places))], places

    def weight_of(self, term: str, live: NDArray[np.bool_]) -> float:
        """Return the inverse document frequency of a term among the `live` rows."""
        return idf(int(np.count_nonzero(live)), self.count_of(term, live))

    def count_of(self, term: str, live: NDArray[np.bool_]) -> int:
        """Return how many `live` rows contain a term."""
        return int(np.count_nonzero(live[self._posting_of(term).rows]))

    def score(
        self, terms: Sequence[str], live: NDArray[np.bool_], near: Neighbours, norms: Norms | None = None
    ) -> WordScores:
        """Score every row against the distinct `terms`; rows that are not `live` are ignored. `norms`, if given, must
        belong to this state of the index."""
        state = ScoredRows(live, near, norms or self.norms(live, near))
        tally = LoopTally(self.kernels, state) if self.kernels.are_compiled else Tally(state)
        for term in dict.fromkeys(terms):
            tally.add(self._posting_of(term))
        return tally.scores()

    def _append_numbers(self, numbers: Sequence[int]) -> None:
        start = int(self._ends[self._size])
        end = start + len(numbers)
        if end > len(self._terms):
            self._terms = np.append(self._terms, np.zeros(max(end, 1024), dtype=np.int32))
        if self._size + 2 > len(self._ends):
            self._ends = np.append(self._ends, np.zeros(max(len(self._ends), 256), dtype=np.int64))
        self._terms[start:end] = numbers
        self._ends[self._size + 1] = end

    def _posting_of(self, term: str) -> Posting:
        number = self._numbers.get(term)
        if number is None:
            return Posting(_NO_ROWS, _NO_COUNTS)
        counts = self._packed.counts[self._slice_of(number)]
        if number in self._counts:
            counts = np.append(counts, np.array(self._counts[number], dtype=np.int16))
        return Posting(self._rows_of(number), counts)

    def _rows_of(self, number: int) -> Int32:
        rows = self._packed.rows[self._slice_of(number)]
        if number not in self._rows:
            return rows
        return np.append(rows, np.array(self._rows[number], dtype=np.int32))

    def _slice_of(self, number: int) -> slice:
        """Return the slice of the packed rows that belongs to a term."""
        ends = self._packed.term_ends
        if number >= len(ends):
            return slice(0)
        return slice(ends[number - 1] if number else 0, ends[number])

    def _number_of(self, term: str) -> int:
        return self._numbers.setdefault(term, len(self._numbers))


def pack_words(vocabulary: Sequence[str], terms: Int32, ends: Int64) -> PackedWords:
    """Build the packed index of rows whose terms are given one row after another; unused terms are left out."""
    size = len(ends) - 1
    is_used = np.zeros(len(vocabulary), dtype=np.bool_)
    is_used[terms] = True
    terms = (np.cumsum(is_used) - 1).astype(np.int32)[terms]
    vocabulary = [vocabulary[number] for number in np.flatnonzero(is_used).tolist()]
    rows = np.repeat(np.arange(size, dtype=np.int64), np.diff(ends))
    keys, counts = np.unique(terms.astype(np.int64) * max(1, size) + rows, return_counts=True)
    numbers, row = np.divmod(keys, max(1, size))
    return PackedWords(
        vocabulary,
        np.cumsum(np.bincount(numbers, minlength=len(vocabulary))).astype(np.int64),
        row.astype(np.int32),
        np.minimum(counts, _MOST_COUNTED).astype(np.int16),
        terms,
        ends,
    )


def _is_any_live(live: NDArray[np.bool_], rows: Int32) -> bool:
    """Whether any of `rows` is live. The first ones are checked first: usually one of them is."""
    return bool(live[rows[:_FEW_ROWS]].any() or live[rows[_FEW_ROWS:]].any())
