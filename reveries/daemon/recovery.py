"""What the daemon does with a memory that is damaged: the newest backup that is whole takes its place, once (A8)."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import structlog

from reveries.clock import Clock
from reveries.db.backups import look_into, recover
from reveries.db.integrity.suspected_damage import suspect, suspicion
from reveries.db.room import Room
from reveries.errors import DiskFullError, StorageDamagedError, StorageError, StorageLostError

_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 300.0
_HEALTHY_AFTER_SECONDS = 60.0

log = structlog.get_logger("supervisor")


async def supervise(name: str, child: Callable[[], Awaitable[None]], clock: Clock, room: Room | None = None) -> None:
    """Run `child` until it returns. When it raises, wait (1 s, doubling to 5 min) and run it again.

    A child that ran for a minute before it failed begins again with the shortest wait. One that found the disk full
    begins again as soon as there is `room` (A5). StorageLostError is passed on: a daemon whose disk fails must end
    (A4).
    """
    pause = _FIRST_PAUSE_SECONDS
    while True:
        began = clock.monotonic()
        try:
            await child()
        except StorageLostError:
            raise
        except Exception as error:  # The named boundary: whatever a child raises, the mind lives on.
            if room is not None and room.is_full and _is_of_full_disk(error):
                log.warning("child.waits_for_room", child=name)
                await room.wait()
                continue
            if clock.monotonic() - began > _HEALTHY_AFTER_SECONDS:
                pause = _FIRST_PAUSE_SECONDS
            log.exception("child.failed", child=name, retry_seconds=pause)
            await clock.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
        else:
            return


def _is_of_full_disk(error: Exception) -> bool:
    """Whether that is all that is wrong."""
    if isinstance(error, ExceptionGroup):
        return all(_is_of_full_disk(one) for one in error.exceptions)
    return isinstance(error, DiskFullError)


log = structlog.get_logger("recovery")

Life = Callable[[asyncio.Event], Awaitable[int]]
"""Opens the memory, lives, and closes; sets the event when the memory is there whole and others may come."""


async def live_with_recovery(life: Life, database: Path, backups: Path, clock: Clock) -> int:
    """What `life` returns. Damage that is found before it is awake is put right from a backup, and it begins again;
    what is found later ends it, and the next wake looks at everything first. Raises StorageDamagedError, then and
    when no backup can help."""
    awake = asyncio.Event()
    try:
        return await _noticing_garbage(life, database, awake)
    except StorageDamagedError as error:
        suspect(database, error.message)
        log.exception("memory.damaged", why=error.message)
        if awake.is_set():
            raise
        restored = await asyncio.to_thread(recover, database, backups, clock.now(), error.message)
        log.warning("memory.put_back", backup=restored.backup, kept=restored.kept)
    return await _noticing_garbage(life, database, awake)


async def _noticing_garbage(life: Life, database: Path, awake: asyncio.Event) -> int:
    try:
        return await life(awake)
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError, LookupError, TypeError) as error:
        # Rows that are no rows, perhaps. Perhaps a fault of ours: for that no memory is put away.
        if awake.is_set():
            raise
        why = f"The memory {database} holds what cannot be read ({type(error).__name__})."
        if await asyncio.to_thread(_is_shown_damaged, database):
            raise StorageDamagedError(why, advice="The newest backup that is whole takes its place.") from error
        if isinstance(error, msgspec.MsgspecError):
            raise StorageError(why, advice="Nothing was changed. To go back: reveries backup restore") from error
        raise


def _is_shown_damaged(database: Path) -> bool:
    looked = look_into(database)
    return bool(looked.problems or looked.rotten) or suspicion(database).exists()
