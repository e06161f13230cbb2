"""Read the notes in a project's folder into its knowledge: each wake reads what is new or changed.

Sections that a note no longer has fall, and what rests on them falls too. That takes a note that was read, or a folder
that was looked through and does not have it: one that is too large or cannot be read proves nothing. It is unknown who
wrote a file, so all of it is untrusted until the owner grants the folder.
"""

import asyncio
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import PurePosixPath
from typing import Final

import structlog

from reveries.errors import ToolError
from reveries.knowledge.model import Chunk, NewChunk
from reveries.projects.documents import (
    MOST_CHUNKS,
    count_noun,
    describe_sections,
    known_sections,
    place_sections,
    rejected_sections,
    retire_sections,
    store_document,
)
from reveries.projects.model import Project
from reveries.projects.premise import last_version
from reveries.projects.sections import path_of, split_text
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
        absent = paths - {one.path for one in self.files}
        return {path for path in absent if not any(path.startswith(f"{folder}/") for folder in self.unseen)}

    @property
    def newest(self) -> Sequence[NoteFile]:
        """The notes that are read, the newest first."""
        return sorted(self.files, key=lambda one: (-one.changed_at, one.path))[:_MOST_NOTES]


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
        return [one for one in listing.newest if self.versions.get(one.path) != one]

    def note(self, batch: Sequence[NoteFile]) -> None:
        """Note that these were read, or cannot be."""
        self.versions |= {one.path: one for one in batch}

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
    try:
        listing = await list_notes(worker)
        due = past.find_due(listing)
        batch = due[:_BATCH_NOTES]
        outcomes = [(one.path, await _read_note(worker, one)) for one in batch]
    except ToolError as error:
        log.warning("folder.not_read", why=error.message)
        return FolderReading()
    finally:
        await asyncio.shield(worker.close())
    read = {path: outcome for path, outcome in outcomes if not isinstance(outcome, str)}
    skipped = [f"{one_line(path, 120)} ({why})" for path, why in outcomes if isinstance(why, str)]
    every = await store.knowledge.of_project(project.id)
    gone = _find_gone(every, listing, read)
    stored, fallen = await _store_notes(store, project, read, every, gone)
    past.note(batch)
    past.drop(_find_replaced_by(every, gone) | ({path_of(one) for one in gone} - read.keys()))
    return FolderReading(
        len(read),
        stored,
        fallen,
        len(past.find_due(listing)),
        skipped,
        len(listing.files) - len(listing.newest),
        is_partial=bool(listing.unseen),
    )


async def _store_notes(
    store: ProjectStore,
    project: Project,
    read: Mapping[str, Sequence[NewChunk]],
    every: Sequence[Chunk],
    gone: Sequence[Chunk],
) -> tuple[int, int]:
    """Store new sections and retire the ones that are gone; return how many. What the owner retracted is not
    stored again, though its note still has it."""
    rejected = rejected_sections(one for one in every if is_of_folder(one))
    known, now, stored = known_sections(every, {one.id for one in gone}) | rejected, store.now, 0
    for sections in read.values():
        dated = [replace(one, foreign_sources=frozenset({FOLDER_SOURCE}), valid_from=now) for one in sections]
        stored += len(await store_document(store, project, dated, known))
    fallen = await retire_sections(store, project, gone)
    await place_sections(store, project, read, is_of_folder)
    if fallen:
        async with store.transaction() as transaction:
            await store.log.put(
                transaction, project.id, "folder.changed", f"{count_noun(fallen, 'section')} no longer there"
            )
    return stored, fallen


async def list_notes(worker: Worker) -> NoteListing:
    """Return the notes of the worker's folder. Raises ToolError."""
    found = await worker.call("list_files", {"suffixes": _SUFFIXES}, _LISTING_SECONDS)
    return NoteListing([NoteFile(*one) for one in found["files"] if is_note(one[0])], found["unseen"])


async def _read_note(worker: Worker, note: NoteFile) -> Sequence[NewChunk] | str:
    """Return the sections of a note, or why it was not read."""
    if note.is_too_large:
        return f"above {_MOST_FILE_BYTES // 1000} KB"
    try:
        text = str(await worker.call("read", {"path": note.path}))
    except ToolError as error:
        return error.message.removeprefix(f"{note.path} ").rstrip(".")
    sections = split_text(note.path, text, is_own=False)
    if len(sections) > MOST_CHUNKS:
        return f"more than {MOST_CHUNKS:,} sections"
    day = date.fromtimestamp(note.changed_at).isoformat()
    return [replace(section, written_on=day) for section in sections]


def _find_gone(every: Sequence[Chunk], listing: NoteListing, read: Mapping[str, Sequence[NewChunk]]) -> list[Chunk]:
    """Return the sections that their note has no more, and those of notes that are gone."""
    there = {(one.title, one.content) for sections in read.values() for one in sections}
    standing = [one for one in every if one.stands and is_of_folder(one)]
    missing = listing.find_missing({path_of(one) for one in standing})
    return [
        one
        for one in standing
        if path_of(one) in missing or (path_of(one) in read and (one.title, one.content) not in there)
    ]


def _find_replaced_by(every: Sequence[Chunk], gone: Sequence[Chunk]) -> set[str]:
    """Return the paths of the notes with sections that one of `gone` replaced: those are to be stored again."""
    by_id, ids = {one.id: one for one in every}, {one.id for one in gone}
    replaced = [one for one in every if is_of_folder(one) and not one.fell_because and not one.stands]
    return {path_of(one) for one in replaced if (last := last_version(one.id, by_id)) is not None and last.id in ids}


def is_of_folder(chunk: Chunk) -> bool:
    """Whether a chunk is a section of a file in the folder."""
    return FOLDER_SOURCE in chunk.foreign_sources and chunk.task_id is None and is_note(path_of(chunk))


def is_note(path: str) -> bool:
    """Whether the file at `path` is a note, by its name."""
    return PurePosixPath(path).suffix.lower() in _SUFFIXES
