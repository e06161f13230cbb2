"""Read the notes in a project's folder into its knowledge: each wake reads what is new or changed.

Sections that are no longer there fall, and what rests on them falls too: if their file was read, or if it is gone. A
file that is there but was not read (too large, one too many, not readable just now) proves nothing. It is unknown who
wrote a file, so all of it is untrusted until the owner grants the folder.
"""

import asyncio
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

import structlog

from reveries.errors import ToolError, UsageError
from reveries.knowledge.model import Chunk
from reveries.projects.documents import chunks_of_text, path_of, retire_sections, store_document
from reveries.projects.model import Project
from reveries.projects.store import ProjectStore
from reveries.tools.reach import FOLDER_SOURCE
from reveries.tools.sandbox import Sandbox
from reveries.tools.sandboxed.folder import MOST_WALKED
from reveries.tools.worker import FolderAccess, Worker, open_folder_worker

log = structlog.get_logger("work")

_SUFFIXES: Final = (".md", ".markdown", ".txt", ".rst", ".org")
_MOST_FILES: Final = 300
_MOST_FILE_BYTES: Final = 200_000
LIMITS: Final = f"at most {_MOST_FILES}, the ones changed last, of {_MOST_FILE_BYTES // 1000} KB at most"


@dataclass(frozen=True, slots=True)
class FolderReading:
    """What reading the folder changed."""

    files: int = 0
    stored: int = 0
    fallen: int = 0
    unread: int = 0
    """Notes that were not read: too large, or older than the newest `_MOST_FILES`."""

    def describe(self) -> str:
        """Return what was read in words, for the owner."""
        left = f"; {self.unread} more notes were not read ({LIMITS})" if self.unread else ""
        files = "1 file" if self.files == 1 else f"{self.files} files"
        return f"{files}: {self.stored} new pieces, {self.fallen} that stand no more{left}"


@dataclass(frozen=True, slots=True)
class _FolderNotes:
    """The notes of a folder: the texts of those that were read by path, newest first; how many were not read."""

    texts: dict[str, str]
    unread: int


async def read_folder(store: ProjectStore, project: Project, access: FolderAccess, sandbox: Sandbox) -> FolderReading:
    """Update what the project knows of its folder. A missing folder is only logged."""
    worker = open_folder_worker(sandbox, FolderAccess(access.path, may_write=False))
    try:
        notes = await _read_notes(worker)
        gone = await _find_gone(store, project, notes.texts, worker)
    except ToolError as error:
        log.warning("folder.not_read", why=error.message)
        return FolderReading()
    finally:
        await asyncio.shield(worker.close())
    stored, now = 0, store.now
    ids, sources = {one.id for one in gone}, frozenset({FOLDER_SOURCE})
    for path, text in notes.texts.items():
        try:
            new = await store_document(
                store, project, path, text, is_own=False, sources=sources, valid_from=now, gone=ids
            )
        except UsageError:  # An empty file, or one of thousands of pieces.
            continue
        stored += len(new)
    fallen = await retire_sections(store, project, gone)
    if fallen:
        async with store.transaction() as transaction:
            await store.log(transaction, project.id, "folder.changed", f"{fallen} sections stand there no more")
    return FolderReading(len(notes.texts), stored, fallen, notes.unread)


async def _read_notes(worker: Worker) -> _FolderNotes:
    """Read the notes that changed last. Raises ToolError."""
    found = await worker.call("find", {"pattern": "**", "most": MOST_WALKED})
    notes = [one for one in found if is_note(one["path"])]
    readable = [one for one in notes if one["size_bytes"] <= _MOST_FILE_BYTES]
    readable.sort(key=lambda one: (-one["changed_at"], one["path"]))
    texts: dict[str, str] = {}
    for path in (str(one["path"]) for one in readable[:_MOST_FILES]):
        try:
            texts[path] = str(await worker.call("read", {"path": path}))
        except ToolError:  # Gone since, or no text.
            continue
    return _FolderNotes(texts, len(notes) - min(len(readable), _MOST_FILES))


async def _find_gone(store: ProjectStore, project: Project, texts: dict[str, str], worker: Worker) -> list[Chunk]:
    """Return the stored sections of the folder that their file has no more, or whose file is gone. Raises ToolError."""
    there: set[tuple[str, str]] = set()
    for path, text in texts.items():
        try:
            there |= {(one.title, one.content) for one in chunks_of_text(path, text, is_own=False)}
        except UsageError:
            continue
    absent = [
        one
        for one in await store.knowledge.of_project(project.id)
        if one.stands and is_of_folder(one) and (one.title, one.content) not in there
    ]
    unknown = sorted({path_of(one) for one in absent} - texts.keys())
    missing = set(await worker.call("missing", {"paths": unknown})) if unknown else set()
    return [one for one in absent if path_of(one) in texts or path_of(one) in missing]


def is_of_folder(chunk: Chunk) -> bool:
    """Whether a chunk is a section of a file in the folder."""
    return FOLDER_SOURCE in chunk.foreign_sources and chunk.task_id is None and is_note(path_of(chunk))


def is_note(path: str) -> bool:
    """Whether the file at `path` is a note, by its name."""
    return PurePosixPath(path).suffix.lower() in _SUFFIXES
