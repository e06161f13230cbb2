"""Read the notes in a project's folder into its knowledge: each wake reads what is new or changed.

Sections that a note no longer has fall, and what rests on them falls too. That takes a note that was read, or a folder
that certainly does not have it: one that waits for the next wake, is too large or cannot be read proves nothing. It is
unknown who wrote a file, so all of it is untrusted until the owner grants the folder.
"""

import asyncio
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Final

import structlog

from reveries.errors import ToolError, UsageError
from reveries.knowledge.model import Chunk, NewChunk
from reveries.projects.documents import chunks_of_text, known_sections, path_of, retire_sections, store_document
from reveries.projects.model import Project
from reveries.projects.store import ProjectStore
from reveries.tools.reach import FOLDER_SOURCE
from reveries.tools.sandbox import Sandbox
from reveries.tools.worker import FolderAccess, Worker, open_folder_worker

log = structlog.get_logger("work")

_SUFFIXES: Final = (".md", ".markdown", ".txt", ".rst", ".org")
_MOST_FILES: Final = 300
"""Read at one wake."""
_MOST_FILE_BYTES: Final = 200_000


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
        """Return which of `paths` the folder certainly does not have."""
        if "" in self.unseen:
            return set()
        absent = paths - {one.path for one in self.files}
        return {path for path in absent if not any(path.startswith(f"{folder}/") for folder in self.unseen)}


@dataclass(frozen=True, slots=True)
class FolderReading:
    """What reading the folder changed."""

    files: int = 0
    stored: int = 0
    fallen: int = 0
    waiting: int = 0
    """New or changed notes that are left for the next wakes."""
    unreadable: int = 0
    """Notes that are too large or no text."""

    def describe(self) -> str:
        """Return it in words, for the owner."""
        words = [f"{_count(self.files, 'note')}: {_count(self.stored, 'new section')}, {self.fallen} no longer there"]
        if self.waiting:
            words.append(f"{_count(self.waiting, 'more note')} at the next wakes")
        if self.unreadable:
            words.append(f"{self.unreadable} not readable (no text, or above {_MOST_FILE_BYTES // 1000} KB)")
        return "; ".join(words)


@dataclass(frozen=True, slots=True)
class _ReadNotes:
    """The sections of each note that was read, by path (none: it is empty), and how many were not."""

    sections: Mapping[str, Sequence[NewChunk]]
    waiting: int
    unreadable: int


async def read_folder(store: ProjectStore, project: Project, access: FolderAccess, sandbox: Sandbox) -> FolderReading:
    """Update what the project knows of its folder. A missing folder is only logged."""
    worker = open_folder_worker(sandbox, FolderAccess(access.path, may_write=False))
    every = await store.knowledge.of_project(project.id)
    try:
        listing = await list_notes(worker)
        notes = await _read_notes(worker, listing, _known_since(every))
    except ToolError as error:
        log.warning("folder.not_read", why=error.message)
        return FolderReading()
    finally:
        await asyncio.shield(worker.close())
    gone = _find_gone(every, listing, notes.sections)
    known, now, stored = known_sections(every, {one.id for one in gone}), store.now, 0
    for sections in notes.sections.values():
        dated = [replace(one, foreign_sources=frozenset({FOLDER_SOURCE}), valid_from=now) for one in sections]
        stored += len(await store_document(store, project, dated, known))
    fallen = await retire_sections(store, project, gone)
    if fallen:
        async with store.transaction() as transaction:
            await store.log(transaction, project.id, "folder.changed", f"{fallen} sections stand there no more")
    return FolderReading(len(notes.sections), stored, fallen, notes.waiting, notes.unreadable)


async def list_notes(worker: Worker) -> NoteListing:
    """Return the notes of the worker's folder. Raises ToolError."""
    found = await worker.call("list_files", {"suffixes": _SUFFIXES})
    return NoteListing([NoteFile(*one) for one in found["files"] if _is_note(one[0])], found["unseen"])


async def _read_notes(worker: Worker, listing: NoteListing, known_since: Mapping[str, float]) -> _ReadNotes:
    """Read new notes first, then changed ones, then the others, which may have changed unnoticed; the newest of each
    first. Raises ToolError."""
    fitting = [one for one in listing.files if not one.is_too_large]
    fitting.sort(key=lambda one: (one.path in known_since, not _is_due(one, known_since), -one.changed_at, one.path))
    sections: dict[str, Sequence[NewChunk]] = {}
    tried = 0
    while tried < len(fitting) and len(sections) < _MOST_FILES:
        path = fitting[tried].path
        if (read := await _read_note(worker, path)) is not None:
            sections[path] = read
        tried += 1
    waiting = sum(_is_due(one, known_since) for one in fitting[tried:])
    return _ReadNotes(sections, waiting, tried - len(sections) + len(listing.files) - len(fitting))


async def _read_note(worker: Worker, path: str) -> Sequence[NewChunk] | None:
    """Return the sections of a note; None if it cannot be read or has too many."""
    try:
        text = str(await worker.call("read", {"path": path}))
    except ToolError:  # Gone since, or no text.
        return None
    try:
        return chunks_of_text(path, text, is_own=False)
    except UsageError:
        return None if text.strip() else []


def _known_since(every: Sequence[Chunk]) -> dict[str, float]:
    """Return by path when the newest section of each note was stored."""
    since: dict[str, float] = {}
    for one in filter(is_of_folder, every):
        since[path_of(one)] = max(one.created_at, since.get(path_of(one), 0.0))
    return since


def _is_due(note: NoteFile, known_since: Mapping[str, float]) -> bool:
    """Whether a note is new or has changed since it was read."""
    since = known_since.get(note.path)
    return note.size_bytes > 0 if since is None else note.changed_at > since


def _find_gone(every: Sequence[Chunk], listing: NoteListing, read: Mapping[str, Sequence[NewChunk]]) -> list[Chunk]:
    """Return the sections that their note has no more, and those of notes that are gone."""
    there = {(one.title, one.content) for sections in read.values() for one in sections}
    absent = [one for one in every if one.stands and is_of_folder(one) and (one.title, one.content) not in there]
    missing = listing.find_missing({path_of(one) for one in absent})
    return [one for one in absent if path_of(one) in read or path_of(one) in missing]


def is_of_folder(chunk: Chunk) -> bool:
    """Whether a chunk is a section of a file in the folder."""
    return FOLDER_SOURCE in chunk.foreign_sources and chunk.task_id is None and _is_note(path_of(chunk))


def _is_note(path: str) -> bool:
    """Whether the file at `path` is a note, by its name."""
    return PurePosixPath(path).suffix.lower() in _SUFFIXES


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
