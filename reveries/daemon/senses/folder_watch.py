"""Watches the folders of projects: a changed file is read within a minute, whatever else the mind does."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

import structlog

from reveries.clock import Clock
from reveries.errors import ReveriesError
from reveries.projects.model import Project
from reveries.projects.store import ProjectStore

log = structlog.get_logger("work")

_LOOK_SECONDS: Final = 20.0
"""Between two looks: looking at the names and times of a thousand files takes milliseconds."""
_MOST_FILES: Final = 20_000

Stamps = Mapping[str, tuple[int, int]]
"""Of each file: when it was changed, and its size."""


class FolderWatch:
    """Notices changed files, and has them read."""

    def __init__(self, store: ProjectStore, clock: Clock, read_changes: Callable[[Project], Awaitable[bool]]) -> None:
        """`read_changes` reads a project's folder; False if it cannot now, and is to be asked again."""
        self._store = store
        self._clock = clock
        self._read_changes = read_changes
        self._stamps: dict[str, tuple[str, Stamps]] = {}
        """Of each project by id: its folder, and what was read last."""

    async def run(self) -> None:
        """Look at the folders again and again, until cancelled."""
        while True:
            await self.look()
            await self._clock.sleep(_LOOK_SECONDS)

    async def look(self) -> None:
        """Look at each folder once; read those in which something changed."""
        for project in await self._store.projects():
            if project.state != "active" or not project.folder:
                self._stamps.pop(project.id, None)
                continue
            stamps = await asyncio.to_thread(read_stamps, Path(project.folder))
            if self._stamps.get(project.id) == (project.folder, stamps):
                continue
            try:
                if await self._read_changes(project):
                    self._stamps[project.id] = project.folder, stamps
            except ReveriesError as error:
                log.warning("folder.not_followed", why=error.message)
                self._stamps[project.id] = project.folder, stamps


def read_stamps(folder: Path) -> Stamps:
    """Return the stamp of each file in a folder, without opening any; links are not followed. Results are made from
    files of all kinds, not only from notes."""
    stamps: dict[str, tuple[int, int]] = {}
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for path in (Path(parent, name) for name in files if not name.startswith(".")):
            if len(stamps) >= _MOST_FILES:
                return stamps
            try:
                file_stat = path.stat(follow_symlinks=False)
            except OSError:  # Gone since.
                continue
            stamps[str(path)] = file_stat.st_mtime_ns, file_stat.st_size
    return stamps
