"""Reads documents into pages, pointers and vectors, a little at a time: it can end at any moment and then goes on.

A batch of pages is one transaction, so a page is stored with its pointers or not at all. What is left to do is in the
rows alone.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import structlog

from reveries.clock import Clock, Deadline
from reveries.db.database import Database, Transaction
from reveries.errors import DocumentError, DocumentFault
from reveries.knowledge.documents import (
    Document,
    DocumentReading,
    put_document,
    read_document,
    read_documents_to_read,
)
from reveries.knowledge.model import Fall
from reveries.knowledge.pages import (
    Recognition,
    finish_version,
    last_page_read,
    read_named_pages,
    store_pages,
    store_recognised,
)
from reveries.knowledge.reading.layout import CutPage, DocumentReader
from reveries.knowledge.store import put_vector
from reveries.projects.document_library import DocumentLibrary
from reveries.projects.sections import source_name
from reveries.projects.store import ProjectStore
from reveries.safe_text import one_line

log = structlog.get_logger("documents")

MOST_TRIES: Final = 3
BATCH_PAGES: Final = 16
BATCH_SECONDS: Final = 2.0
"""A page waits for others to be stored with at most so long."""
EMBEDDED_BATCH: Final = 64
FIRST_PAGES: Final = 48
"""The first pages of a document are found by meaning before the rest is read."""
_NAME_CHARS: Final = 80
_LASTING: Final = frozenset(DocumentFault) - {DocumentFault.CRASHED, DocumentFault.TOO_SLOW}
"""What another try would find again."""


@dataclass(slots=True)
class ReadingPace:
    """How fast pages were read lately."""

    pages: int = 0
    seconds: float = 0.0

    @property
    def pages_a_second(self) -> float:
        return self.pages / self.seconds if self.seconds > 0.0 else 0.0

    def note(self, pages: int, seconds: float) -> None:
        """Count pages; the earlier ones count half as much from every sixty-fourth page on."""
        self.pages, self.seconds = self.pages + pages, self.seconds + seconds
        if self.pages >= 4 * BATCH_PAGES:
            self.pages, self.seconds = self.pages // 2, self.seconds / 2


class DocumentReadingSteps:
    """Each step does a little of what is left, and returns whether there was anything."""

    def __init__(
        self,
        store: ProjectStore,
        library: DocumentLibrary,
        database: Database,
        reader: DocumentReader,
        clock: Clock,
        new_id: Callable[[], str],
    ) -> None:
        self._store = store
        self._library = library
        self._database = database
        self._reader = reader
        self._clock = clock
        self._new_id = new_id
        self._recognition_tries: dict[str, int] = {}
        self.pace = ReadingPace()

    async def reset_broken_off(self) -> None:
        """After a wake: what was being read is to be read. One that ended the mind too often is not tried again."""
        for document in await read_documents_to_read(self._database):
            if document.reading is not DocumentReading.PROCESSING:
                continue
            if document.tries >= MOST_TRIES:
                await self._fail(document, DocumentFault.CRASHED)
            else:
                await self._put(replace(document, reading=DocumentReading.PENDING))

    # --- pages -------------------------------------------------------------------------------------------------------

    async def read_some(self, until: Deadline, is_interrupted: Callable[[], bool]) -> bool:
        """Read pages of the oldest document that waits, at least one batch, until the deadline or an interruption."""
        waiting = await read_documents_to_read(self._database)
        if not waiting:
            return False
        document = waiting[0]
        if document.reading is DocumentReading.PENDING:
            document = replace(document, reading=DocumentReading.PROCESSING, tries=document.tries + 1)
            await self._put(document)
        try:
            await self._read(document, until, is_interrupted)
        except DocumentError as error:
            await self._note_fault(document.id, error)
        except _DocumentChangedError:
            log.info("document.changed_meanwhile")
        return True

    async def _read(self, document: Document, until: Deadline, is_interrupted: Callable[[], bool]) -> None:
        path = await self._file_of(document)
        if not document.page_count:
            summary = await self._reader.inspect(path, document.media_type)
            document = replace(document, page_count=summary.page_count)
            await self._put(document)
        last, began = await last_page_read(self._database, document), self._clock.monotonic()
        if last < document.page_count:
            reading = self._reader.read(path, document.media_type, first_page=last + 1)
            async with contextlib.aclosing(reading) as pages, contextlib.aclosing(self._in_batches(pages)) as batches:
                async for batch in batches:
                    document = await self._store_batch(document, batch, began)
                    if batch[-1].number <= FIRST_PAGES:
                        await self.embed_some(Deadline(), is_interrupted)
                    began = self._clock.monotonic()
                    if until.seconds_left(self._clock) <= 0.0 or is_interrupted():
                        return
        await self._finish(document)

    async def _in_batches(self, pages: AsyncGenerator[CutPage]) -> AsyncGenerator[list[CutPage]]:
        """Yield pages in batches; also those that were read before an error."""
        batch: list[CutPage] = []
        ends = Deadline.after(BATCH_SECONDS, self._clock)
        try:
            async for page in pages:
                batch.append(page)
                if len(batch) >= BATCH_PAGES or ends.seconds_left(self._clock) <= 0.0:
                    yield batch
                    batch, ends = [], Deadline.after(BATCH_SECONDS, self._clock)
        except DocumentError:
            if batch:
                yield batch
            raise
        if batch:
            yield batch

    async def _file_of(self, document: Document) -> Path:
        path = await asyncio.to_thread(self._library.find_file, document)
        if path is None:
            raise DocumentError(
                f"The file of {document.name[:_NAME_CHARS]} is not in the home any more.",
                advice="Add it again.",
                fault=DocumentFault.MISSING,
            )
        return path

    async def _store_batch(self, document: Document, pages: list[CutPage], began: float) -> Document:
        async with self._database.transaction() as transaction:
            document = replace(await _require_unchanged(transaction, document), tries=0)
            await put_document(transaction, document)
            stored = await store_pages(
                transaction, document, pages, sources_of(document), self._clock.now(), self._new_id
            )
        self.pace.note(len(stored), self._clock.monotonic() - began)
        await self._store.knowledge.places.note_pages(document.project_id, stored)
        return document

    async def _finish(self, document: Document) -> None:
        """Mark a document as read: what an earlier version had and this one has not falls."""
        is_newer = document.version > 1
        async with self._database.transaction() as transaction:
            await _require_unchanged(transaction, document)
            count = await last_page_read(transaction, document)
            left = await finish_version(transaction, document)
            done = replace(document, reading=DocumentReading.COMPLETE, failure=None, tries=0, page_count=count)
            await put_document(transaction, done)
            await self._mark_left(transaction, document, left)
            words = f"{one_line(document.name, _NAME_CHARS)}: {count} pages"
            await self._store.log.put(transaction, document.project_id, "material.added", words)
            await self._store.rests.clear(transaction, document.project_id)
        if is_newer:
            self._store.knowledge.places.drop(document.project_id)
            await self._library.drop_unneeded_files()
        log.info("document.read", pages=count, fallen=len(left))

    async def _mark_left(self, transaction: Transaction, document: Document, pointer_ids: Sequence[str]) -> None:
        why = f"it stands no more in {document.name}"
        for chunk_id in pointer_ids:
            await transaction.run("pages.detach", {"id": chunk_id})
            await self._store.knowledge.mark_fallen(transaction, document.project_id, chunk_id, Fall.LEFT_DOCUMENT, why)

    async def note_own_fault(self) -> None:
        """After an error of ours: what was being read is tried again, three times in all."""
        for document in await read_documents_to_read(self._database):
            if document.reading is DocumentReading.PROCESSING:
                await self._note_fault(document.id, DocumentError("", fault=DocumentFault.CRASHED))

    async def _note_fault(self, document_id: str, error: DocumentError) -> None:
        document = await read_document(self._database, document_id)
        if document is None or document.reading is not DocumentReading.PROCESSING:
            return
        log.warning("document.not_read", fault=error.fault.value, tries=document.tries)
        if error.fault in _LASTING or document.tries >= MOST_TRIES:
            await self._fail(document, error.fault)
        else:
            await self._put(replace(document, reading=DocumentReading.PENDING))

    async def _fail(self, document: Document, fault: DocumentFault) -> None:
        await self._put(replace(document, reading=DocumentReading.FAILED, failure=fault))

    async def _put(self, document: Document) -> None:
        """Store how far a document is, unless it changed meanwhile."""
        with contextlib.suppress(_DocumentChangedError):
            async with self._database.transaction() as transaction:
                await _require_unchanged(transaction, document)
                await put_document(transaction, document)

    # --- vectors -----------------------------------------------------------------------------------------------------

    async def embed_some(self, until: Deadline, is_interrupted: Callable[[], bool]) -> bool:
        """Embed pointers that have no vector yet, at least one batch, until the deadline or an interruption."""
        has_embedded = False
        while True:
            named = {"model_id": self._store.knowledge.embedder_id, "limit": EMBEDDED_BATCH}
            rows = await self._database.rows("pages.without_vector", named)
            if not rows:
                return has_embedded
            vectors = await self._store.knowledge.embed_texts([f"{row['title']}\n{row['content']}" for row in rows])
            async with self._database.transaction() as transaction:
                for row, vector in zip(rows, vectors, strict=True):
                    if await transaction.rows("pages.is_pointer", {"id": row["id"]}):
                        await put_vector(transaction, str(row["id"]), str(named["model_id"]), vector)
            for project_id in {str(row["project_id"]) for row in rows}:
                of_project = [place for place, row in enumerate(rows) if row["project_id"] == project_id]
                ids = [str(rows[place]["id"]) for place in of_project]
                await self._store.knowledge.places.note_vectors(project_id, ids, vectors[of_project])
            has_embedded = True
            if until.seconds_left(self._clock) <= 0.0 or is_interrupted():
                return True

    # --- pictures of text --------------------------------------------------------------------------------------------

    async def recognise_next(self) -> bool:
        """Read the next page whose picture may hold words that its text lacks."""
        rows = await self._database.rows("pages.to_recognise", {"limit": 1})
        if not rows:
            return False
        page_id, document = str(rows[0]["id"]), await read_document(self._database, str(rows[0]["document_id"]))
        page = (await read_named_pages(self._database, [page_id])).get(page_id)
        if document is None or page is None:
            return True
        try:
            cut = await self._reader.recognise(await self._file_of(document), page.number, document.media_type)
        except DocumentError as error:
            await self._note_unrecognised(page_id, error)
            return True
        async with self._database.transaction() as transaction:
            if await read_named_pages(transaction, [page_id]):
                left = await store_recognised(
                    transaction, document, page_id, cut, sources_of(document), self._clock.now(), self._new_id
                )
                await self._mark_left(transaction, document, left)
        self._recognition_tries.pop(page_id, None)
        await self._store.knowledge.places.note_pages(document.project_id, [page_id])
        return True

    async def _note_unrecognised(self, page_id: str, error: DocumentError) -> None:
        tries = self._recognition_tries[page_id] = self._recognition_tries.get(page_id, 0) + 1
        log.warning("page.not_recognised", fault=error.fault.value, tries=tries)
        if error.fault not in _LASTING and tries < MOST_TRIES:
            return
        row = {"id": page_id, "recognition": Recognition.FAILED.value}
        async with self._database.transaction() as transaction:
            await transaction.run("pages.mark_recognition", row)


class _DocumentChangedError(Exception):
    """It was removed, or a newer version came, while it was read: what was read belongs to nothing."""


async def _require_unchanged(transaction: Transaction, document: Document) -> Document:
    """Return the document as it is stored now. Raises _DocumentChangedError."""
    current = await read_document(transaction, document.id)
    if current is None or (current.version, current.original) != (document.version, document.original):
        raise _DocumentChangedError
    return current


def sources_of(document: Document) -> frozenset[str]:
    """Return the foreign sources of what is read in a document: none where the owner wrote it. Pure."""
    return frozenset[str]() if document.is_trusted else frozenset({source_name(document.name)})
