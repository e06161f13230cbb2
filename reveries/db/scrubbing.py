"""A file that holds nothing of what was deleted from it."""

import asyncio
import shutil
from pathlib import Path

import aiosqlite

from reveries.db.driver import SQLITE_FULL, dbapi

_SCRUB_ROOM = 2.2
"""Of the file's size: a copy of it, and the log that brings it back."""
_IN_MEMORY_BYTES = 256 * 2**20


async def vacuumed(connection: aiosqlite.Connection, path: Path) -> bool:
    """Write `path`, which `connection` holds open, anew. False where the disk has no room for that. Raises what the
    driver raises."""
    size, free = await asyncio.to_thread(lambda: (path.stat().st_size, shutil.disk_usage(path.parent).free))
    if free < _SCRUB_ROOM * size:
        return False
    # In memory is quick while it is small; a large mind would need as much memory as disk.
    store = "FILE" if size > _IN_MEMORY_BYTES else "MEMORY"
    await (await connection.execute(f"PRAGMA temp_store={store}")).close()
    try:
        await (await connection.execute("VACUUM")).close()
    except dbapi.OperationalError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF != SQLITE_FULL:
            raise
        return False
    finally:
        await (await connection.execute("PRAGMA temp_store=MEMORY")).close()
    return True
