"""Searches the documents of a project: places on pages, with the document as context.

The index of a project is built when it is first searched and follows what is read after that. Rows of results are read
again, so what fell or was erased meanwhile is not shown.
"""

import asyncio
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from reveries.db.database import Database, Row
from reveries.knowledge.citations import OfferedPlace
from reveries.knowledge.document_index import (
    DocumentIndex,
    IndexedPage,
    IndexedPointer,
    RankedPointer,
    spread_over_pages,
)
from reveries.knowledge.documents import Document, DocumentState, read_documents
from reveries.knowledge.pages import Pointer, read_pages, read_pointers
from reveries.llm.base import Embedder, Vector, Vectors

LEAST_SIMILARITY: Final = 0.35
LEAST_COVERAGE: Final = 0.5
"""A place that is less like the question, on a page with fewer of its words, has nothing to do with it."""
_LOADED_PAGES: Final = 256
_RANKED: Final = 40
"""How many pointers are read again at the least, to make up for those that share a page."""
_MOST_QUERY_CHARS: Final = 20_000


@dataclass(frozen=True, slots=True)
class FoundPointer:
    """A place in a document that fits a question."""

    pointer: Pointer
    document: Document
    document_number: int
    """Its place among the documents of the project, from 1."""
    score: float
    similarity: float
    """Cosine with the question; 0 if it is not embedded yet."""
    coverage: float
    """The share of the question's words, weighted by rarity, that its page contains."""

    @property
    def short_id(self) -> str:
        """By which a prompt offers it: d3.p12.b2 is the second pointer on page 12 of the third document."""
        return f"d{self.document_number}.p{self.pointer.page_number}.b{self.pointer.position}"

    @property
    def is_related(self) -> bool:
        """Whether it may have something to do with the question."""
        return self.similarity >= LEAST_SIMILARITY or self.coverage >= LEAST_COVERAGE


class DocumentSearch:
    """Searches within the documents of one project at a time."""

    def __init__(self, database: Database, embedder: Embedder) -> None:
        self._database = database
        self._embedder = embedder
        self._indexes: dict[str, DocumentIndex] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._drops = 0
        """How often an index was dropped: one that was being built meanwhile is not kept."""

    def drop(self, project_id: str) -> None:
        """Free the index of a project; the next search builds it."""
        self._drops += 1
        self._indexes.pop(project_id, None)

    def drop_all(self) -> None:
        """Drop every index, so that no erased word stays in memory."""
        self._drops += 1
        self._indexes.clear()

    async def load(self, project_id: str) -> None:
        """Build the index of a project before it is asked for: a thousand pages take a second or two."""
        await self._index(project_id)

    async def find(
        self,
        project_id: str,
        question: str,
        limit: int,
        *,
        documents: Collection[str] | None = None,
        most_of_page: int = 2,
    ) -> list[FoundPointer]:
        """Return up to `limit` places, best first, at most `most_of_page` of one page. `documents`: ids of those to
        search; None: all."""
        question = question.strip()[:_MOST_QUERY_CHARS]
        known = {item.id: (number, item) for number, item in enumerate(await self._documents(project_id), 1)}
        if not question or limit < 1 or not known:
            return []
        index = await self._index(project_id)
        if not len(index):
            return []
        [cue] = await self._embedder.embed([question])
        async with self._lock_of(project_id):
            ranked = await asyncio.to_thread(index.rank, question, cue, max(_RANKED, 4 * limit), documents=documents)
        return await self._read(ranked, known, limit, most_of_page)

    async def offer(self, found: Sequence[FoundPointer]) -> list[OfferedPlace]:
        """Return places as a prompt offers them, each with the verbatim text of its pages."""
        offered: list[OfferedPlace] = []
        for item in found:
            pointer = item.pointer
            numbers = {pointer.page_number, *(placed.page for placed in pointer.boxes)}
            pages = await read_pages(self._database, item.document, min(numbers), max(numbers))
            offered.append(
                OfferedPlace(
                    item.short_id, pointer.id, item.document.name, pointer.page_number, pointer.page_label,
                    pointer.title, pointer.text, pointer.boxes, "\n".join(page.text for page in pages),
                    bool(pointer.foreign_sources),
                )
            )  # fmt: skip
        return offered

    async def note_pages(self, project_id: str, page_ids: Collection[str]) -> None:
        """Take pages that were read, or read anew, into the index if there is one."""
        if (index := self._indexes.get(project_id)) is None or not page_ids:
            return
        rows = await self._database.rows("pages.indexed", {"ids": json.dumps(sorted(page_ids))})
        pages = await self._with_pointers(rows)
        async with self._lock_of(project_id):
            await asyncio.to_thread(index.add, pages)

    async def note_vectors(self, project_id: str, pointer_ids: Sequence[str], vectors: Vectors) -> None:
        """Take vectors of pointers into the index if there is one."""
        if (index := self._indexes.get(project_id)) is not None:
            async with self._lock_of(project_id):
                index.set_vectors(pointer_ids, vectors)

    async def _documents(self, project_id: str) -> list[Document]:
        return await read_documents(self._database, project_id)

    async def _read(
        self,
        ranked: Sequence[RankedPointer],
        known: dict[str, tuple[int, Document]],
        limit: int,
        most_of_page: int,
    ) -> list[FoundPointer]:
        pointers = {
            item.id: item for item in await read_pointers(self._database, ids=[item.pointer_id for item in ranked])
        }
        found: list[FoundPointer] = []
        for item in spread_over_pages(ranked, len(ranked), most_of_page):
            pointer = pointers.get(item.pointer_id)
            if pointer is None or pointer.document_id not in known:
                continue
            number, document = known[pointer.document_id]
            if document.state is DocumentState.PRESENT:
                found.append(FoundPointer(pointer, document, number, item.score, item.similarity, item.coverage))
        return found[:limit]

    async def _index(self, project_id: str) -> DocumentIndex:
        if (index := self._indexes.get(project_id)) is not None:
            return index
        async with self._lock_of(project_id):
            if (index := self._indexes.get(project_id)) is not None:
                return index
            index, drops, after = DocumentIndex(self._embedder.dimensions), self._drops, 0
            while True:
                named = {"project_id": project_id, "after": after, "limit": _LOADED_PAGES}
                rows = await self._database.rows("pages.indexed_after", named)
                if not rows:
                    break
                await asyncio.to_thread(index.add, await self._with_pointers(rows))
                after = int(rows[-1]["place"])
            if drops == self._drops:
                self._indexes[project_id] = index
        return index

    async def _with_pointers(self, rows: Sequence[Row]) -> list[IndexedPage]:
        ids = json.dumps([str(row["id"]) for row in rows])
        named = {"page_ids": ids, "model_id": self._embedder.model_id}
        by_page: dict[str, list[IndexedPointer]] = {}
        for row in await self._database.rows("pages.indexed_pointers", named):
            vector = _vector_of(row["vector"])
            by_page.setdefault(str(row["page_id"]), []).append(
                IndexedPointer(str(row["id"]), str(row["title"]), str(row["content"]), vector)
            )
        return [
            IndexedPage(
                str(row["id"]), str(row["document_id"]), int(row["number"]),
                f"{row['document']} {row['section']} {row['label']}", str(row["text"]), by_page.get(str(row["id"]), ()),
            )
            for row in rows
        ]  # fmt: skip

    def _lock_of(self, project_id: str) -> asyncio.Lock:
        """Held while an index is built, changed, or read in a thread."""
        return self._locks.setdefault(project_id, asyncio.Lock())


def _vector_of(blob: bytes | None) -> Vector | None:
    return np.frombuffer(blob, "<f4") if blob else None
