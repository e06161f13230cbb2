"""Files that the owner gives a project to read: added, read again, removed. `document_reading` reads what is in them.

The same file is stored once, whatever its name. A file at a place where another was added before is a newer version.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path, PurePath
from typing import Final

from reveries.db.database import Database
from reveries.errors import NotFoundError, UsageError
from reveries.knowledge.documents import (
    Document,
    DocumentOrigin,
    DocumentReading,
    DocumentState,
    choose_name,
    mark_document_gone,
    put_document,
)
from reveries.knowledge.model import Fall
from reveries.knowledge.originals import drop_unneeded, find_original, keep_original
from reveries.knowledge.pages import PageCounts, count_pages, finish_version
from reveries.projects.model import Project
from reveries.projects.store import ProjectStore
from reveries.safe_text import one_line

_NAME_CHARS: Final = 80


class Addition(StrEnum):
    """What became of a file that was added."""

    NEW = "new"
    NEWER = "newer"
    """A newer version of a document."""
    PRESENT = "present"
    """It is there already: nothing was stored."""


@dataclass(frozen=True, slots=True)
class AddedFile:
    """A document with what adding it changed."""

    document: Document
    addition: Addition


@dataclass(frozen=True, slots=True)
class DocumentStanding:
    """A document with how far it is read."""

    document: Document
    number: int
    """Its place among the documents of its project, from 1: d3 in d3.p12.b2."""
    counts: PageCounts

    @property
    def is_of_pages(self) -> bool:
        """Whether it is read page by page, not stored as text."""
        document = self.document
        return bool(document.original or self.counts.pages) or document.reading is not DocumentReading.COMPLETE


class DocumentLibrary:
    """The files that projects read, and the originals in the home."""

    def __init__(self, store: ProjectStore, database: Database, originals: Path, backups: Path) -> None:
        """`originals`: the folder in the home. `backups`: the folder beside the backups."""
        self._store = store
        self._database = database
        self._originals = originals
        self._backups = backups
        self._keeping = asyncio.Lock()
        """Held while files are kept or dropped: one that is just being added belongs to no row yet."""

    # --- reading -----------------------------------------------------------------------------------------------------

    async def standings(self, project: Project) -> list[DocumentStanding]:
        """All documents of a project that the owner added as files, oldest first."""
        counts = await count_pages(self._database, project.id)
        documents = await self._store.knowledge.documents(project.id)
        every = [
            DocumentStanding(document, number, counts.get(document.id, PageCounts()))
            for number, document in enumerate(documents, 1)
        ]
        return [item for item in every if item.is_of_pages and item.document.state is DocumentState.PRESENT]

    async def find(self, project: Project, name: str) -> DocumentStanding:
        """Find a document by its name, its number (`d3`), or a unique part of its name. Raises NotFoundError."""
        standings = await self.standings(project)
        wanted = name.strip().casefold()
        exact = [item for item in standings if wanted in (item.document.name.casefold(), f"d{item.number}")]
        matches = exact or [item for item in standings if wanted and wanted in item.document.name.casefold()]
        if len(matches) == 1:
            return matches[0]
        many = "more than one document" if matches else "no document"
        names = ", ".join(one_line(item.document.name, _NAME_CHARS) for item in (matches or standings)[:8])
        raise NotFoundError(
            f"In {project.name} there is {many} called {name[:_NAME_CHARS]!r}.",
            advice=f"There are: {names}." if names else "Add one: reveries document add FILE --project NAME",
        )

    def find_file(self, document: Document) -> Path | None:
        """Return where the file of a document is kept, None if it is nowhere. Looks at the disk."""
        return find_original(document.original, self._originals, self._backups)

    # --- changing ----------------------------------------------------------------------------------------------------

    async def add(self, project: Project, path: Path, *, is_own: bool = False) -> AddedFile:
        """Keep a file, to be read. `is_own`: the owner wrote it. Raises DocumentError, StorageError, UsageError."""
        if project.state == "archived":
            raise UsageError(f"{project.name} is archived.", advice=f"First: reveries project resume {project.name}")
        async with self._keeping:
            kept = await asyncio.to_thread(keep_original, path, self._originals)
            documents = await self._store.knowledge.documents(project.id)
            present = [item for item in documents if item.state is DocumentState.PRESENT]
            if same := next((item for item in present if item.original == kept.sha256), None):
                return AddedFile(same, Addition.PRESENT)
            place = str(path)
            earlier = next((item for item in documents if _is_file_at(item, place)), None)
            document = earlier or self._new_document(project, path, documents, is_own=is_own)
            document = replace(
                document.with_text(""),
                sha256="",
                bytes=kept.bytes,
                original=kept.sha256,
                version=document.version + 1 if earlier else 1,
                reading=DocumentReading.PENDING,
                failure=None,
                tries=0,
                page_count=0,
            )
            async with self._database.transaction() as transaction:
                await put_document(transaction, document)
        return AddedFile(document, Addition.NEWER if earlier else Addition.NEW)

    def _new_document(self, project: Project, path: Path, documents: Sequence[Document], *, is_own: bool) -> Document:
        pure = PurePath(path)
        name = choose_name([pure.name, f"{pure.parent.name}/{pure.name}", str(path)], documents)
        document = self._store.knowledge.new_document(project.id, DocumentOrigin.ADDED, str(path), name)
        return replace(document, is_trusted=is_own)

    async def retry(self, standing: DocumentStanding) -> Document:
        """Read a document again from where it failed, and the pictures of its pages that could not be read. Raises
        UsageError."""
        document = standing.document
        if document.reading is not DocumentReading.FAILED and not standing.counts.unrecognised:
            raise UsageError(f"Nothing of {document.name} failed.", advice="See: reveries document list")
        is_failed = document.reading is DocumentReading.FAILED
        if is_failed:
            document = replace(document, reading=DocumentReading.PENDING, failure=None, tries=0)
        async with self._database.transaction() as transaction:
            await put_document(transaction, document)
            await transaction.run("pages.retry_recognition", {"document_id": document.id})
        return document

    async def remove(self, project: Project, standing: DocumentStanding) -> int:
        """Take a document out: nothing finds it any more, its pages and its file are deleted, and what rests on it is
        held at the next wake. Returns how many pointers fell. Its words leave for good with `forget --erase`."""
        gone = replace(
            standing.document,
            version=standing.document.version + 1,
            original="",
            sha256="",
            reading=DocumentReading.COMPLETE,
            failure=None,
            page_count=0,
        )
        async with self._database.transaction() as transaction:
            left = await finish_version(transaction, gone)
            why = f"{one_line(gone.name, _NAME_CHARS)} was removed"
            for chunk_id in left:
                await self._store.knowledge.mark_fallen(transaction, project.id, chunk_id, Fall.LEFT_DOCUMENT, why)
            await put_document(transaction, gone)
            await mark_document_gone(transaction, gone.id)
            await self._store.log.put(transaction, project.id, "material.removed", one_line(gone.name, _NAME_CHARS))
            await self._store.rests.clear(transaction, project.id)
        self._store.knowledge.places.drop(project.id)
        await self.drop_unneeded_files()
        return len(left)

    async def drop_unneeded_files(self, *, with_backups: bool = False) -> int:
        """Remove the files in the home that no document has, and with `with_backups` those that only backups have;
        return how many. Raises OSError."""
        async with self._keeping:
            needed = {str(row["original"]) for row in await self._database.rows("documents.originals")}
            folders = (self._originals, *((self._backups,) if with_backups else ()))
            return sum([await asyncio.to_thread(drop_unneeded, needed, folder) for folder in folders])


def _is_file_at(document: Document, place: str) -> bool:
    """Whether a document was a file at this place, now or before it was removed. Pure."""
    is_file = bool(document.original) or document.state is DocumentState.GONE
    return document.origin is DocumentOrigin.ADDED and document.path == place and is_file


def count_pending(standings: Sequence[DocumentStanding]) -> int:
    """How many documents are still to be read. Pure."""
    waiting = (DocumentReading.PENDING, DocumentReading.PROCESSING)
    return sum(item.document.reading in waiting for item in standings)
