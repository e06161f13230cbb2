"""Documents: the texts whose sections a project knows. A document is a row; its name only says what to show."""

import hashlib
import mimetypes
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import PurePosixPath

from reveries.db.database import Reader, Row, Transaction
from reveries.db.typed_rows import read_row
from reveries.errors import DocumentFault


class DocumentOrigin(StrEnum):
    FOLDER = "folder"
    """A file of the project's folder."""
    ADDED = "added"
    """The owner added it."""


class DocumentState(StrEnum):
    PRESENT = "present"
    GONE = "gone"
    """The folder does not have it any more, or the owner removed it."""


class DocumentReading(StrEnum):
    """How far a file has been read page by page."""

    PENDING = "pending"
    PROCESSING = "processing"
    COMPLETE = "complete"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Document:
    """A document of a project, as it was last read."""

    id: str
    project_id: str
    origin: DocumentOrigin
    path: str
    """What identifies it: in the folder, or where an added file lies on the owner's machine; for a text that came
    without a place, its name."""
    name: str
    """What it is called; no other document of the project has this name."""
    added_at: float
    is_trusted: bool
    """Whether the owner wrote it."""
    media_type: str = ""
    sha256: str = ""
    """Of its text; empty: unknown, or some of it was erased."""
    bytes: int = 0
    state: DocumentState = DocumentState.PRESENT
    original: str = ""
    """SHA-256 of its file, by which the home keeps it; empty: it came as text, or some of it was erased."""
    version: int = 1
    """Of its file: one more with each newer one."""
    reading: DocumentReading = DocumentReading.COMPLETE
    failure: DocumentFault | None = None
    """Why it could not be read."""
    tries: int = 0
    """How often its reading began since a page of it was last read."""
    page_count: int = 0
    """Of its file; 0: unknown, or it is not read page by page."""

    @property
    def is_read_by_page(self) -> bool:
        """Whether it is a file that is there and of which pages are read, if only of the version before."""
        return self.state is DocumentState.PRESENT and (bool(self.page_count) or self.version > 1)

    def is_note_at(self, paths: Collection[str]) -> bool:
        """Whether it is one of these files of the folder."""
        return self.origin is DocumentOrigin.FOLDER and self.path in paths

    def with_text(self, text: str) -> "Document":
        """Return the document with what its text, as it is now, says of it."""
        content = text.encode("utf-8", "surrogatepass")
        media_type = mimetypes.guess_type(PurePosixPath(self.path).name)[0] or "text/plain"
        return replace(
            self,
            sha256=hashlib.sha256(content).hexdigest(),
            bytes=len(content),
            media_type=media_type,
            state=DocumentState.PRESENT,
        )


def choose_name(wanted: Sequence[str], documents: Iterable[Document]) -> str:
    """Return the first of the `wanted` names that no document has; if all are taken, the last with a number."""
    taken = {document.name for document in documents}
    free = next((name for name in wanted if name not in taken), None)
    number = 2
    while free is None:
        numbered = f"{wanted[-1]} ({number})"
        free, number = numbered if numbered not in taken else None, number + 1
    return free


async def read_documents(source: Reader, project_id: str) -> list[Document]:
    """All documents of a project, oldest first."""
    return [_document_of(row) for row in await source.rows("documents.of_project", {"project_id": project_id})]


async def read_document(source: Reader, document_id: str) -> Document | None:
    """The document of this id, if there is one."""
    return next((_document_of(row) for row in await source.rows("documents.named", {"id": document_id})), None)


async def read_documents_to_read(source: Reader) -> list[Document]:
    """Those of active projects whose files are still to be read, oldest first."""
    return [_document_of(row) for row in await source.rows("documents.to_read")]


async def put_document(transaction: Transaction, document: Document) -> None:
    """Store a new document, or what changed of one."""
    row = {name: getattr(document, name) for name in Document.__slots__} | {"failure": document.failure or ""}
    await transaction.run("documents.put", row)


async def mark_document_gone(transaction: Transaction, document_id: str) -> None:
    await transaction.run("documents.mark_gone", {"id": document_id})


def _document_of(row: Row) -> Document:
    return read_row(Document, row, failure=row["failure"] or None)
