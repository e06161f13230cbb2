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
    find_backups,
    read_last_restore,
    read_originals,
    remove_corrected_date,
    remove_expired,
    require_room,
)
from reveries.db.database import Database
from reveries.db.driver import dbapi
from reveries.db.integrity.write_ahead_log import log_bytes
from reveries.errors import StorageError
from reveries.knowledge.originals import BACKUP_FOLDER, drop_unneeded, link_originals
from reveries.progress import ProgressCallback, ignore_progress

if TYPE_CHECKING:
    # A backup of a mind that is not awake needs neither, and a person waits for it.
    from reveries.daemon.lifecycle.health import Health
    from reveries.daemon.mind_parts import MindParts

_RESTORING_SHOWN_SECONDS = 7 * 86400.0


async def write_backup(
    database: Database,
    folder: Path,
    originals: Path,
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
        await _keep_originals(database, folder, originals)
        looked = await database.backup_to(folder / name, progress)
        await asyncio.to_thread(remove_expired, folder, now, share)
        await asyncio.to_thread(drop_unneeded_copies, folder)
        return name, looked


async def _keep_originals(database: Database, folder: Path, originals: Path) -> None:
    """Have the files of documents beside the backups, before a backup names them. Raises StorageError."""
    needed = {str(row["original"]) for row in await database.rows("documents.originals")}
    try:
        await asyncio.to_thread(link_originals, needed, originals, folder / BACKUP_FOLDER)
    except OSError as error:
        raise StorageError(
            f"The files of documents cannot be kept beside the backups: {error.strerror or error}.",
            advice="Free some space, then: reveries backup create",
        ) from error


def drop_unneeded_copies(folder: Path) -> int:
    """Remove the files of documents that no backup in `folder` names any more; return how many. If a backup
    cannot be read, none is removed. Raises OSError."""
    if not (folder / BACKUP_FOLDER).is_dir():
        return 0
    needed = set[str]()
    for backup in find_backups(folder):
        try:
            needed |= read_originals(folder / backup.name)
        except dbapi.Error:
            return 0
    return drop_unneeded(needed, folder / BACKUP_FOLDER)


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
            name, looked = await write_backup(
                parts.database, folder, parts.home.originals, storage, parts.clock, progress
            )
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
