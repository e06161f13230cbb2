"""A read that was cancelled leaves its cursor open until the loop turns: what folds the log behind it may not mind."""

import asyncio
import threading
import time
from pathlib import Path

from reveries.db.opening import open_database

_SLOW = "SELECT takes_a_while() FROM sqlite_schema"
"""Its first row comes when it is let, and others wait behind it."""


async def test_a_memory_closes_properly_behind_a_read_that_was_cancelled(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "memory.db")
    is_read, may_go_on = threading.Event(), threading.Event()

    def takes_a_while() -> int:
        is_read.set()
        return int(may_go_on.wait(30))

    await database._connection.create_function("takes_a_while", 0, takes_a_while)
    async with asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(database.rows_of_text(_SLOW, ()), name="reading")
        assert await asyncio.to_thread(is_read.wait, 30)
        reading.cancel()
        await asyncio.wait([reading])
        assert reading.cancelled()
        tasks.create_task(database.aclose(), name="closing")
        await asyncio.sleep(0)
        may_go_on.set()
        stand_still()
    assert not (tmp_path / "memory.db-wal").exists()


def stand_still() -> None:
    """The loop is not turned while the connection's thread goes on."""
    time.sleep(0.1)
