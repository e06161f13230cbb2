"""Looks at the files of a project's folder, with the worker of a task or with one of its own."""

import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path

from reveries.errors import ToolError
from reveries.projects.model import AgentState
from reveries.projects.step_material import FolderFile
from reveries.tools.sandbox import Sandbox
from reveries.tools.worker import FolderAccess, Worker, open_folder_worker


def folder_access(state: AgentState) -> FolderAccess | None:
    """Return access to the project's folder; None if it has none."""
    path = Path(state.project.folder)
    return FolderAccess(path, state.project.may_write) if state.project.folder and path.is_absolute() else None


async def list_folder_files(worker: Worker) -> list[FolderFile]:
    """Return the files of a folder; empty if it cannot be read."""
    try:
        listing = await worker.call("list_files", {"suffixes": [""]})
    except ToolError:
        return []
    return [FolderFile(*file) for file in listing["files"]]


async def list_files_once(sandbox: Sandbox, access: FolderAccess) -> list[FolderFile]:
    """Return the files of a folder with a worker of their own."""
    worker = open_folder_worker(sandbox, access)
    try:
        return await list_folder_files(worker)
    finally:
        await worker.close()


async def digest_files_once(sandbox: Sandbox, access: FolderAccess, paths: Sequence[str]) -> dict[str, str] | None:
    """Return the SHA-256 of those of these files that exist, with a worker of their own; None if the folder cannot be
    looked at: then nothing is known of them."""
    if not await asyncio.to_thread(access.path.is_dir):
        return None
    worker = open_folder_worker(sandbox, FolderAccess(access.path, may_write=False))
    try:
        return await digest_files(worker, paths)
    finally:
        await worker.close()


async def digest_files(worker: Worker, paths: Sequence[str]) -> dict[str, str]:
    """Return the SHA-256 of those of these files that can be read."""
    digests: dict[str, str] = {}
    for path in paths:
        with contextlib.suppress(ToolError):
            digests[path] = str(await worker.call("digest", {"path": path}))
    return digests
