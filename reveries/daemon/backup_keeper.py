"""Makes backups within what the disk has room for; and what the owner is told of one that was put back."""

import asyncio
from pathlib import Path

from reveries.clock import Clock
from reveries.config import StorageSettings
from reveries.daemon.health import Health
from reveries.daemon.mind_parts import MindParts
from reveries.db.backups import (
    MEGABYTE,
    Looked,
    date_back,
    described,
    last_restored,
    remove_outlived,
    require_room,
    undate,
)
from reveries.db.database import Database
from reveries.db.integrity.write_ahead_log import log_bytes
from reveries.errors import StorageError
from reveries.progress import ProgressCallback, ignore_progress

_RESTORING_SHOWN_SECONDS = 7 * 86400.0


async def make_copy(
    database: Database,
    folder: Path,
    settings: StorageSettings,
    clock: Clock,
    progress: ProgressCallback = ignore_progress,
) -> tuple[str, Looked]:
    """Its name, and what the look at it found. Older ones go before it where there would be no room, and
    after it when they have outlived. Raises StorageError."""
    now, share = clock.now(), settings.backups_most_share
    # All of it: a disk of the backups that is gone may hang at the first look into the folder.
    with database.copy_pulse.at_work():
        await asyncio.to_thread(date_back, folder, now)
        coming = await asyncio.to_thread(_database_bytes, database.path)
        await asyncio.to_thread(remove_outlived, folder, now, share, coming)
        await asyncio.to_thread(require_room, folder, coming, settings.rest_below_free_megabytes * MEGABYTE)
        name = copy_name(now)
        await asyncio.to_thread(undate, folder / name)
        looked = await database.backup_to(folder / name, progress)
        await asyncio.to_thread(remove_outlived, folder, now, share)
        return name, looked


class BackupKeeper:
    """Copies of the memory, kept with those of 24 hours and of 7 days, as far as the disk has room for them (A9)."""

    def __init__(self, parts: MindParts, health: Health) -> None:
        self._parts = parts
        self._health = health

    async def back_up(self) -> str:
        """Make a copy; its name. Raises StorageError."""
        name, _ = await self.make_verified()
        return name

    async def make_verified(self, progress: ProgressCallback = ignore_progress) -> tuple[str, Looked]:
        """A copy: its name, and what a look at it found. Raises StorageError."""
        parts = self._parts
        folder, storage = parts.home.backups, parts.settings.storage
        try:
            name, looked = await make_copy(parts.database, folder, storage, parts.clock, progress)
        except StorageError as error:
            self._health.backup_failed(str(error))
            raise
        self._health.backup_made(looked)
        return name, looked


def copy_name(now: float) -> str:
    """What a copy made at `now` is called."""
    return f"memory-{int(now)}.db"


def _database_bytes(database: Path) -> int:
    return (database.stat().st_size if database.exists() else 0) + log_bytes(database)


def restore_notices(database: Path, now: float) -> list[str]:
    """For a week after a backup took the memory's place, what is missing of it."""
    restored = last_restored(database)
    if restored is None or now - restored.at > _RESTORING_SHOWN_SECONDS:
        return []
    return [described(restored)]
