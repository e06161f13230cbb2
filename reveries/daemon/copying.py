"""One more backup, within what the disk has room for; and what is told of one that was put back."""

import asyncio
from pathlib import Path

from reveries.clock import Clock
from reveries.config import StorageSettings
from reveries.db.backups import (
    MEGABYTE,
    Looked,
    Tell,
    date_back,
    described,
    last_restored,
    remove_outlived,
    require_room,
    tell_nobody,
    undate,
)
from reveries.db.database import Database
from reveries.db.write_ahead_log import log_bytes

_RESTORING_SHOWN_SECONDS = 7 * 86400.0


async def make_copy(
    database: Database, folder: Path, settings: StorageSettings, clock: Clock, tell: Tell = tell_nobody
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
        looked = await database.backup_to(folder / name, tell)
        await asyncio.to_thread(remove_outlived, folder, now, share)
        return name, looked


def copy_name(now: float) -> str:
    """What a copy made at `now` is called."""
    return f"memory-{int(now)}.db"


def _database_bytes(database: Path) -> int:
    return (database.stat().st_size if database.exists() else 0) + log_bytes(database)


def restoring_told(database: Path, now: float) -> list[str]:
    """For a week after a backup took the memory's place, what is missing of it."""
    restored = last_restored(database)
    if restored is None or now - restored.at > _RESTORING_SHOWN_SECONDS:
        return []
    return [described(restored)]
