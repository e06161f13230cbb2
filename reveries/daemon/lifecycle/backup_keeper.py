"""Creates backups within the available disk space, and notices about a restored backup."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from reveries.clock import Clock
from reveries.config import StorageSettings
from reveries.db.backups import (
    MEGABYTE,
    VerificationResult,
    correct_future_dates,
    describe_restore,
    read_last_restore,
    remove_corrected_date,
    remove_expired,
    require_room,
)
from reveries.db.database import Database
from reveries.db.integrity.write_ahead_log import log_bytes
from reveries.errors import StorageError
from reveries.progress import ProgressCallback, ignore_progress

if TYPE_CHECKING:
    # A backup of a mind that is not awake needs neither, and a person waits for it.
    from reveries.daemon.lifecycle.health import Health
    from reveries.daemon.mind_parts import MindParts

_RESTORING_SHOWN_SECONDS = 7 * 86400.0


async def write_backup(
    database: Database,
    folder: Path,
    settings: StorageSettings,
    clock: Clock,
    progress: ProgressCallback = ignore_progress,
) -> tuple[str, VerificationResult]:
    """Write a backup; return its name and the result of its check. Old backups are removed first if space is short, and
    expired ones afterwards. Raises StorageError."""
    now, share = clock.now(), settings.backups_most_share
    # Watch all of it: a missing backup disk may hang at the first access of the folder.
    with database.copy_pulse.at_work():
        await asyncio.to_thread(correct_future_dates, folder, now)
        coming = await asyncio.to_thread(_database_bytes, database.path)
        await asyncio.to_thread(remove_expired, folder, now, share, coming)
        await asyncio.to_thread(require_room, folder, coming, settings.rest_below_free_megabytes * MEGABYTE)
        name = backup_name(now)
        await asyncio.to_thread(remove_corrected_date, folder / name)
        looked = await database.backup_to(folder / name, progress)
        await asyncio.to_thread(remove_expired, folder, now, share)
        return name, looked


class BackupKeeper:
    """Keeps backups of the last 24 hours and of 7 days, as far as disk space allows (A9)."""

    def __init__(self, parts: "MindParts", health: "Health") -> None:
        self._parts = parts
        self._health = health

    async def back_up(self) -> str:
        """Create a backup and return its name. Raises StorageError."""
        name, _ = await self.back_up_verified()
        return name

    async def back_up_verified(self, progress: ProgressCallback = ignore_progress) -> tuple[str, VerificationResult]:
        """Create a backup; return its name and the result of its check. Raises StorageError."""
        parts = self._parts
        folder, storage = parts.home.backups, parts.settings.storage
        try:
            name, looked = await write_backup(parts.database, folder, storage, parts.clock, progress)
        except StorageError as error:
            self._health.note_failed_backup(str(error))
            raise
        self._health.note_backup(looked)
        return name, looked


def backup_name(now: float) -> str:
    """Return the file name of a backup created at `now`."""
    return f"memory-{int(now)}.db"


def _database_bytes(database: Path) -> int:
    return (database.stat().st_size if database.exists() else 0) + log_bytes(database)


def restore_notices(database: Path, now: float) -> list[str]:
    """Return, for a week after a backup was restored, a notice of what is missing."""
    restored = read_last_restore(database)
    if restored is None or now - restored.at > _RESTORING_SHOWN_SECONDS:
        return []
    return [describe_restore(restored)]
