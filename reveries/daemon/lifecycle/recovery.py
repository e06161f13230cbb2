"""Restarts failed tasks, and restores the newest intact backup of a damaged memory, once (A8)."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import structlog

from reveries.clock import Clock
from reveries.db.backups import restore_newest_whole, verify_database
from reveries.db.integrity.suspected_damage import damage_note_path, note_damage
from reveries.db.room import DiskSpace
from reveries.errors import DiskFullError, StorageDamagedError, StorageError, StorageLostError

_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 300.0
_HEALTHY_AFTER_SECONDS = 60.0

log = structlog.get_logger("supervisor")


async def supervise(
    name: str, child: Callable[[], Awaitable[None]], clock: Clock, room: DiskSpace | None = None
) -> None:
    """Run `child` until it returns. When it raises, wait (1 s, doubling to 5 min) and run it again.

    A child that ran for a minute before it failed restarts after the shortest wait. One that found the disk full
    restarts as soon as there is `room` (A5). StorageLostError is raised on: a daemon whose disk fails must end (A4).
    """
    pause = _FIRST_PAUSE_SECONDS
    while True:
        began = clock.monotonic()
        try:
            await child()
        except StorageLostError:
            raise
        except Exception as error:  # The named boundary: a failing child must not end the mind.
            if room is not None and room.is_full and _is_disk_full(error):
                log.warning("child.waiting_for_space", child=name)
                await room.wait()
                continue
            if clock.monotonic() - began > _HEALTHY_AFTER_SECONDS:
                pause = _FIRST_PAUSE_SECONDS
            log.exception("child.failed", child=name, retry_seconds=pause)
            await clock.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
        else:
            return


def _is_disk_full(error: Exception) -> bool:
    """Whether the error is only a full disk."""
    if isinstance(error, ExceptionGroup):
        return all(_is_disk_full(exception) for exception in error.exceptions)
    return isinstance(error, DiskFullError)


log = structlog.get_logger("recovery")

Life = Callable[[asyncio.Event], Awaitable[int]]
"""Opens the memory, runs, and closes; sets the event when the memory is open and intact."""


async def live_with_recovery(life: Life, database: Path, backups: Path, clock: Clock) -> int:
    """Run `life` and return its result. If damage is found before it is awake, a backup is restored and it runs again;
    later damage ends it, and the next start checks everything first. Raises StorageDamagedError then, and if no backup
    helps."""
    awake = asyncio.Event()
    try:
        return await _run_detecting_damage(life, database, awake)
    except StorageDamagedError as error:
        note_damage(database, error.message)
        log.exception("memory.damaged", why=error.message)
        if awake.is_set():
            raise
        restored = await asyncio.to_thread(restore_newest_whole, database, backups, clock.now(), error.message)
        log.warning("memory.restored", backup=restored.backup, kept=restored.kept)
    return await _run_detecting_damage(life, database, awake)


async def _run_detecting_damage(life: Life, database: Path, awake: asyncio.Event) -> int:
    try:
        return await life(awake)
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError, LookupError, TypeError) as error:
        # Either damaged rows or a bug of ours; a bug must not cause a restore.
        if awake.is_set():
            raise
        why = f"The memory {database} contains rows that cannot be read ({type(error).__name__})."
        if await asyncio.to_thread(_is_proven_damaged, database):
            raise StorageDamagedError(why, advice="The newest intact backup replaces it.") from error
        if isinstance(error, msgspec.MsgspecError):
            raise StorageError(why, advice="Nothing was changed. To go back: reveries backup restore") from error
        raise


def _is_proven_damaged(database: Path) -> bool:
    looked = verify_database(database)
    return bool(looked.problems or looked.rotten) or damage_note_path(database).exists()
