"""In-memory index of the pages and pointers of a project's documents, and how they are ranked for a question. No I/O.

A page is ranked by its words (BM25 of the page, to which the names of its document, section and label belong), by
these names alone, by the best of its pointers by words, and by the best of its pointers by meaning. A pointer is
ranked by its page and by its own words and meaning, so that of two pages that fit, the place that fits comes first.
"""

from array import array
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reveries.index.fusion import rank_highest, z_scores
from reveries.index.terms import terms_of
from reveries.index.word_scores import Floats, Neighbours
from reveries.index.words import WordIndex
from reveries.llm.base import Vector, Vectors

PAGE_WORDS: Final = 1.0
POINTER_WORDS: Final = 0.5
CONTEXT_WORDS: Final = 0.5
MEANING: Final = 1.0
"""What the lists of a page count, each in standard deviations over all pages: its words, those of its best pointer,
the names of its document, section and label, and the meaning of its best pointer. Even parts, chosen on no question."""
OWN_SHARE: Final = 0.5
"""What a pointer's own words and meaning count against those of its page."""
_COVERED: Final = 0.9
_LEAST_ROWS: Final = 256


@dataclass(frozen=True, slots=True)
class IndexedPointer:
    """A pointer as the index takes it. `vector` None: it is not embedded yet, and found by words alone."""

    id: str
    title: str
    text: str
    vector: Vector | None = None


@dataclass(frozen=True, slots=True)
class IndexedPage:
    """A page as the index takes it. `context`: the names of its document, section and label."""

    id: str
    document_id: str
    number: int
    context: str
    text: str
    pointers: Sequence[IndexedPointer]


@dataclass(frozen=True, slots=True)
class RankedPointer:
    """A pointer with its page, best first. Scores are comparable within one question."""

    pointer_id: str
    page_id: str
    page_number: int
    score: float
    page_score: float
    similarity: float
    """Cosine with the question; 0 if it has no vector."""
    coverage: float
    """The share of the question's words, weighted by rarity, that its page contains: 0 to 1."""


class DocumentIndex:
    """Pages and pointers by row, in the order in which they were added. Rows that were removed are not live."""

    def __init__(self, dimensions: int) -> None:
        self._pages = WordIndex()
        self._contexts = WordIndex()
        self._pointers = WordIndex()
        self._page_ids: list[str] = []
        self._documents: list[str] = []
        self._numbers = array("i")
        self._page_rows: dict[str, int] = {}
        self._live_pages: NDArray[np.bool_] = np.zeros(0, np.bool_)
        self._pointer_ids: list[str] = []
        self._pointer_rows: dict[str, int] = {}
        self._page_of = array("i")
        self._live_pointers: NDArray[np.bool_] = np.zeros(0, np.bool_)
        self._vectors: NDArray[np.float32] = np.zeros((_LEAST_ROWS, dimensions), np.float32)

    def __len__(self) -> int:
        """Number of pages that are live."""
        return len(self._page_rows)

    def add(self, pages: Sequence[IndexedPage]) -> None:
        """Add pages; one whose id is there takes the place of the earlier one."""
        self.remove([page.id for page in pages])
        for page in pages:
            context = terms_of(page.context)
            row = len(self._page_ids)
            of_pointers = [self._add_pointer(pointer, row, context) for pointer in page.pointers]
            self._pages.add([*context, *_page_terms(page, of_pointers)])
            self._contexts.add(list(dict.fromkeys(context)))
            self._page_rows[page.id] = row
            self._page_ids.append(page.id)
            self._documents.append(page.document_id)
            self._numbers.append(page.number)
        self._live_pages = _grown(self._live_pages, len(self._page_ids))
        self._live_pointers = _grown(self._live_pointers, len(self._pointer_ids))

    def _add_pointer(self, pointer: IndexedPointer, page_row: int, context: Sequence[str]) -> list[str]:
        """Add a pointer; return the terms of its words."""
        if (earlier := self._pointer_rows.get(pointer.id)) is not None and earlier < len(self._live_pointers):
            self._live_pointers[earlier] = False
        terms = terms_of(pointer.text)
        row = self._pointers.add([*context, *terms_of(pointer.title), *terms])
        self._pointer_rows[pointer.id] = row
        self._pointer_ids.append(pointer.id)
        self._page_of.append(page_row)
        if row >= len(self._vectors):
            more = np.zeros((max(_LEAST_ROWS, len(self._vectors) // 4), self._vectors.shape[1]), np.float32)
            self._vectors = np.append(self._vectors, more, axis=0)
        if pointer.vector is not None:
            self._vectors[row] = pointer.vector
        return terms

    def remove(self, page_ids: Collection[str]) -> None:
        """Take out pages with their pointers."""
        rows = [row for name in page_ids if (row := self._page_rows.pop(name, None)) is not None]
        if not rows:
            return
        self._live_pages[rows] = False
        gone = np.isin(np.asarray(self._page_of, np.int32), rows)
        self._live_pointers[gone] = False
        for row in np.flatnonzero(gone).tolist():
            if self._pointer_rows.get(self._pointer_ids[row]) == row:
                del self._pointer_rows[self._pointer_ids[row]]

    def set_vectors(self, pointer_ids: Sequence[str], vectors: Vectors) -> None:
        """Set the vectors of pointers; those that are not in the index are passed over."""
        for name, vector in zip(pointer_ids, vectors, strict=True):
            if (row := self._pointer_rows.get(name)) is not None:
                self._vectors[row] = vector

    def rank(
        self, question: str, cue: Vector, count: int, *, documents: Collection[str] | None = None
    ) -> list[RankedPointer]:
        """Return the `count` best pointers, of `documents` only if these are named. `cue`: the question's vector."""
        shown = self._live_pages
        if documents is not None:
            shown = shown & np.isin(np.asarray(self._documents, dtype=object), list(documents))
        page_of = np.asarray(self._page_of, np.int32)
        live = self._live_pointers & shown[page_of] if len(page_of) else self._live_pointers
        if count < 1 or not live.any():
            return []
        terms = terms_of(question)
        alone = _no_neighbours(len(shown))
        pages, contexts = self._pages.score(terms, shown, alone), self._contexts.score(terms, shown, alone)
        pointers = self._pointers.score(terms, live, _no_neighbours(len(live)))
        cosines = np.where(live, self._vectors[: len(live)] @ cue, 0.0).astype(np.float32)
        best_words = _best_of_page(pointers.row, page_of, live, len(shown))
        best_cosine = _best_of_page(cosines, page_of, live, len(shown))
        page_scores = (
            PAGE_WORDS * z_scores(pages.row, shown)
            + POINTER_WORDS * z_scores(best_words, shown)
            + CONTEXT_WORDS * z_scores(contexts.row, shown)
            + MEANING * z_scores(best_cosine, shown)
        )
        own = POINTER_WORDS * z_scores(pointers.row, live) + MEANING * z_scores(cosines, live)
        scores = np.where(live, page_scores[page_of] + OWN_SHARE * own, -np.inf).astype(np.float32)
        return [
            RankedPointer(
                self._pointer_ids[row], self._page_ids[page_of[row]], self._numbers[page_of[row]], float(scores[row]),
                float(page_scores[page_of[row]]), float(cosines[row]), float(pages.coverage[page_of[row]]),
            )
            for row in rank_highest(scores, min(count, int(live.sum())))
        ]  # fmt: skip


def rank_pages(ranked: Sequence[RankedPointer]) -> list[RankedPointer]:
    """Return the best pointer of each page, best page first. Pure."""
    best: dict[str, RankedPointer] = {}
    for pointer in ranked:
        best.setdefault(pointer.page_id, pointer)
    return sorted(best.values(), key=lambda pointer: -pointer.page_score)


def spread_over_pages(ranked: Sequence[RankedPointer], count: int, most_of_page: int) -> list[RankedPointer]:
    """Return the `count` best pointers with at most `most_of_page` of one page. Pure."""
    taken: dict[str, int] = {}
    spread: list[RankedPointer] = []
    for pointer in ranked:
        taken[pointer.page_id] = taken.get(pointer.page_id, 0) + 1
        if taken[pointer.page_id] <= most_of_page:
            spread.append(pointer)
    return spread[:count]


def _page_terms(page: IndexedPage, of_pointers: Sequence[Sequence[str]]) -> Sequence[str]:
    """Return the terms of a page: those of its pointers where these cover it, because reading terms takes long."""
    covered = sum(len(pointer.text) for pointer in page.pointers)
    if covered >= _COVERED * len(page.text):
        return [term for terms in of_pointers for term in terms]
    return terms_of(page.text)


def _best_of_page(values: Floats, page_of: NDArray[np.int32], live: NDArray[np.bool_], pages: int) -> Floats:
    best: Floats = np.zeros(pages, np.float32)
    np.maximum.at(best, page_of[live], values[live])
    return best


def _no_neighbours(size: int) -> Neighbours:
    outside = np.full(size, size, np.int64)
    return Neighbours(outside, outside)


def _grown(live: NDArray[np.bool_], size: int) -> NDArray[np.bool_]:
    """Return `live` with further rows, which are live."""
    return np.append(live, np.ones(size - len(live), np.bool_))
