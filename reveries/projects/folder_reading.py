"""Read the notes in a project's folder into its knowledge: each wake reads what is new or changed.

Sections that a note no longer has fall, and what rests on them falls too. That takes a note that was read, or a folder
that was looked through and does not have it: one that is too large or cannot be read proves nothing. It is unknown who
wrote a file, so all of it is untrusted until the owner grants the folder.
"""

import asyncio
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import PurePath, PurePosixPath
from typing import Final

import structlog

from reveries.errors import ToolError
from reveries.knowledge.documents import Document, DocumentOrigin, DocumentState, choose_name
from reveries.knowledge.model import Chunk
from reveries.projects.documents import (
    MOST_CHUNKS,
    DocumentChange,
    DocumentVersion,
    count_noun,
    describe_sections,
    store_versions,
)
from reveries.projects.model import Project
from reveries.projects.premise import last_version
from reveries.projects.sections import split_text
from reveries.projects.store import ProjectStore
from reveries.safe_text import one_line
from reveries.tools.reach import FOLDER_SOURCE
from reveries.tools.sandbox import Sandbox
from reveries.tools.worker import FolderAccess, Worker, open_folder_worker

log = structlog.get_logger("work")

_SUFFIXES: Final = (".md", ".markdown", ".txt", ".rst", ".org", ".csv", ".tsv")
_MOST_NOTES: Final = 1_000
"""The newest are read: each is embedded, and compared with the others."""
_BATCH_NOTES: Final = 50
"""Read at once; the next batch waits until it was asked whether the work must stop."""
_MOST_FILE_BYTES: Final = 200_000
_MOST_NAMED: Final = 5
_LISTING_SECONDS: Final = 120.0


@dataclass(frozen=True, slots=True)
class NoteFile:
    """A note in the folder."""

    path: str
    size_bytes: int
    changed_at: float

    @property
    def is_too_large(self) -> bool:
        return self.size_bytes > _MOST_FILE_BYTES


@dataclass(frozen=True, slots=True)
class NoteListing:
    """The notes of a folder, and the folders below it that could not be looked into; "" stands for all of it."""

    files: Sequence[NoteFile]
    unseen: Sequence[str]

    def find_missing(self, paths: Set[str]) -> set[str]:
        """Return which of `paths` the folder does not have; none that lies where nothing could be looked at."""
        if "" in self.unseen:
            return set()
        absent = paths - {file.path for file in self.files}
        return {path for path in absent if not any(path.startswith(f"{folder}/") for folder in self.unseen)}

    @property
    def newest(self) -> Sequence[NoteFile]:
        """The notes that are read, the newest first."""
        return sorted(self.files, key=lambda note: (-note.changed_at, note.path))[:_MOST_NOTES]


@dataclass(slots=True)
class ReadNotes:
    """Which version of each note in a project's folder was read since the mind woke. After that all are read again,
    which stores nothing that is known."""

    folder: str = ""
    versions: dict[str, NoteFile] = field(default_factory=dict)

    def begin(self, folder: str) -> None:
        """Forget what was read in another folder."""
        if folder != self.folder:
            self.folder = folder
            self.versions.clear()

    def find_due(self, listing: NoteListing) -> list[NoteFile]:
        """Return the notes to be read, the newest first."""
        return [note for note in listing.newest if self.versions.get(note.path) != note]

    def note(self, batch: Sequence[NoteFile]) -> None:
        """Note that these were read, or cannot be."""
        self.versions |= {note.path: note for note in batch}

    def drop(self, paths: Set[str]) -> None:
        """Let these notes be read again."""
        for path in paths:
            self.versions.pop(path, None)


@dataclass(frozen=True, slots=True)
class FolderReading:
    """What reading a batch of notes changed."""

    files: int = 0
    stored: int = 0
    fallen: int = 0
    waiting: int = 0
    """New or changed notes of the next batches."""
    skipped: Sequence[str] = ()
    """Notes of this batch that were not read, each with the reason, for the owner."""
    beyond: int = 0
    """Notes that are not read, because others are newer."""
    is_partial: bool = False
    """Whether some of the folder could not be looked into."""

    def describe(self) -> str:
        """Return it in words, for the owner."""
        words = [f"{count_noun(self.files, 'note')}: {describe_sections(self.stored, self.fallen)}"]
        if self.waiting:
            words.append(f"{self.waiting} more to read")
        if self.skipped:
            more = len(self.skipped) - _MOST_NAMED
            named = ", ".join(self.skipped[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
            words.append(f"{len(self.skipped)} not read: {named}")
        if self.beyond:
            words.append(f"{self.beyond} not read, because they are older than the newest {_MOST_NOTES}")
        if self.is_partial:
            words.append("not everything in the folder could be looked at")
        return "; ".join(words)


async def read_folder(
    store: ProjectStore, project: Project, access: FolderAccess, sandbox: Sandbox, past: ReadNotes
) -> FolderReading:
    """Update what the project knows of its folder by one batch of notes. `past` is changed. A missing folder is only
    logged."""
    worker = open_folder_worker(sandbox, FolderAccess(access.path, may_write=False))
    past.begin(str(access.path))
    documents = NoteDocuments(store, project, await store.knowledge.documents(project.id))
    try:
        listing = await list_notes(worker)
        batch = past.find_due(listing)[:_BATCH_NOTES]
        now = store.now
        outcomes = [(note.path, await _read_note(worker, note, documents.of_path(note.path), now)) for note in batch]
    except ToolError as error:
        log.warning("folder.not_read", why=error.message)
        return FolderReading()
    finally:
        await asyncio.shield(worker.close())
    read = [outcome for _, outcome in outcomes if isinstance(outcome, DocumentVersion)]
    skipped = [f"{one_line(path, 120)} ({why})" for path, why in outcomes if isinstance(why, str)]
    change = await _store_notes(store, project, read, documents.find_missing(listing))
    past.note(batch)
    gone = documents.paths_of(change.gone) - {version.document.path for version in read}
    past.drop(documents.paths_of(await _find_replaced_by(store, project, change.gone)) | gone)
    return FolderReading(
        len(read),
        len(change.stored),
        change.retired,
        len(past.find_due(listing)),
        skipped,
        len(listing.files) - len(listing.newest),
        is_partial=bool(listing.unseen),
    )


class NoteDocuments:
    """The documents that the notes of a folder are, by their paths in it."""

    def __init__(self, store: ProjectStore, project: Project, documents: Sequence[Document]) -> None:
        self._store = store
        self._project = project
        self._documents = list(documents)
        self._notes = {item.path: item for item in documents if item.origin is DocumentOrigin.FOLDER}

    def of_path(self, path: str) -> Document:
        """Return the document at a path, which is a new one if none was read there before."""
        if path not in self._notes:
            name = choose_name([path, f"{PurePath(self._project.folder).name}/{path}"], self._documents)
            note = self._store.knowledge.new_document(self._project.id, DocumentOrigin.FOLDER, path, name)
            self._notes[path] = note
            self._documents.append(note)
        return self._notes[path]

    def find_missing(self, listing: NoteListing) -> list[Document]:
        """Return the documents that the folder has no more."""
        present = {path for path, note in self._notes.items() if note.state is DocumentState.PRESENT}
        return [self._notes[path] for path in sorted(listing.find_missing(present))]

    def paths_of(self, sections: Iterable[Chunk]) -> set[str]:
        """Return the paths of the notes that these are sections of."""
        paths = {note.id: path for path, note in self._notes.items()}
        return {paths[chunk.document_id] for chunk in sections if chunk.document_id in paths}


async def _store_notes(
    store: ProjectStore, project: Project, read: Sequence[DocumentVersion], missing: Sequence[Document]
) -> DocumentChange:
    """Store new sections and retire the ones that are gone. What the owner retracted is not stored again, though its
    note still has it."""
    change = await store_versions(store, project, read, missing, with_retracted=False)
    if change.retired:
        async with store.transaction() as transaction:
            words = f"{count_noun(change.retired, 'section')} no longer there"
            await store.log.put(transaction, project.id, "folder.changed", words)
    return change


async def list_notes(worker: Worker) -> NoteListing:
    """Return the notes of the worker's folder. Raises ToolError."""
    listed = await worker.call("list_files", {"suffixes": _SUFFIXES}, _LISTING_SECONDS)
    return NoteListing([NoteFile(*file) for file in listed["files"] if is_note(file[0])], listed["unseen"])


async def _read_note(worker: Worker, note: NoteFile, document: Document, now: float) -> DocumentVersion | str:
    """Return the sections of a note, which hold from `now` on, or why it was not read."""
    if note.is_too_large:
        return f"above {_MOST_FILE_BYTES // 1000} KB"
    try:
        text = str(await worker.call("read", {"path": note.path}))
    except ToolError as error:
        return error.message.removeprefix(f"{note.path} ").rstrip(".")
    sections = split_text(document.name, text, is_own=False)
    if len(sections) > MOST_CHUNKS:
        return f"more than {MOST_CHUNKS:,} sections"
    day, source = date.fromtimestamp(note.changed_at).isoformat(), frozenset({FOLDER_SOURCE})
    dated = [replace(section, written_on=day, foreign_sources=source, valid_from=now) for section in sections]
    return DocumentVersion(document.with_text(text), dated)


async def _find_replaced_by(store: ProjectStore, project: Project, gone: Sequence[Chunk]) -> list[Chunk]:
    """Return the sections that one of `gone` replaced: their notes are to be read again."""
    if not gone:
        return []
    every = await store.knowledge.of_project(project.id)
    by_id, ids = {chunk.id: chunk for chunk in every}, {chunk.id for chunk in gone}
    replaced = [chunk for chunk in every if chunk.document_id and not chunk.fell_because and not chunk.stands]
    return [chunk for chunk in replaced if (last := last_version(chunk.id, by_id)) is not None and last.id in ids]


def is_note(path: str) -> bool:
    """Whether the file at `path` is a note, by its name."""
    return PurePosixPath(path).suffix.lower() in _SUFFIXES
