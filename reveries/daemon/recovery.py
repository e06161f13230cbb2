"""What the daemon does with a memory that is damaged: the newest backup that is whole takes its place, once (A8)."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import structlog

from reveries.clock import Clock
from reveries.db.backups import look_into, recover
from reveries.db.suspicion import suspect, suspicion
from reveries.errors import StorageDamagedError, StorageError

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
