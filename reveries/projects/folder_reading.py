"""Read the notes in a project's folder into its knowledge: each wake reads what is new or changed.

Sections that are no longer there fall, and what rests on them falls too. It is unknown who wrote a file, so all of it
is untrusted until the owner grants the folder.
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
from reveries.tools.worker import FolderAccess, Worker, open_folder_worker

log = structlog.get_logger("work")

SUFFIXES: Final = (".md", ".markdown", ".txt", ".rst", ".org")
_MOST_FILES: Final = 300
_MOST_FILE_BYTES: Final = 200_000


@dataclass(frozen=True, slots=True)
class FolderReading:
    """What reading the folder changed."""

    files: int = 0
    stored: int = 0
    fallen: int = 0


async def read_folder(store: ProjectStore, project: Project, access: FolderAccess, sandbox: Sandbox) -> FolderReading:
    """Update what the project knows of its folder. A missing folder is only logged."""
    worker = open_folder_worker(sandbox, FolderAccess(access.path, may_write=False))
    try:
        texts = await _read_texts(worker)
    except ToolError as error:
        log.warning("folder.not_read", why=error.message)
        return FolderReading()
    finally:
        await asyncio.shield(worker.close())
    stored, now = 0, store.now
    gone = await _find_gone(store, project, texts)
    ids, sources = {one.id for one in gone}, frozenset({FOLDER_SOURCE})
    for path, text in texts.items():
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
    return FolderReading(len(texts), stored, fallen)


async def _read_texts(worker: Worker) -> dict[str, str]:
    """Return the texts of the note files, by path."""
    found = [one for one in await worker.call("find", {"pattern": "**"}) if one["size_bytes"] <= _MOST_FILE_BYTES]
    paths = [str(one["path"]) for one in found if PurePosixPath(one["path"]).suffix.lower() in SUFFIXES]
    texts: dict[str, str] = {}
    for path in paths[:_MOST_FILES]:
        try:
            texts[path] = str(await worker.call("read", {"path": path}))
        except ToolError:  # Gone since, or no text.
            continue
    return texts


async def _find_gone(store: ProjectStore, project: Project, texts: dict[str, str]) -> list[Chunk]:
    """Return the stored sections of the folder that are in no file any more."""
    there: set[tuple[str, str]] = set()
    for path, text in texts.items():
        try:
            there |= {(one.title, one.content) for one in chunks_of_text(path, text, is_own=False)}
        except UsageError:
            continue
    return [
        one
        for one in await store.knowledge.of_project(project.id)
        if one.stands and is_of_folder(one) and (one.title, one.content) not in there
    ]


def is_of_folder(chunk: Chunk) -> bool:
    """Whether a chunk is a section of a file in the folder."""
    return FOLDER_SOURCE in chunk.foreign_sources and chunk.task_id is None and path_of(chunk).endswith(SUFFIXES)
