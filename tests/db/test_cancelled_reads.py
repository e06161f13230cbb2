"""A cancelled read leaves its cursor open until the next turn of the event loop; checkpoints must cope with that, and
the connection must stay usable."""

import asyncio
import threading
import time
from pathlib import Path

import pytest

from reveries.db.connecting import fail_if_locked, open_connection
from reveries.db.opening import open_database
from reveries.db.reading import DatabaseSnapshot

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


@pytest.mark.requirement("A1")
async def test_a_moment_is_not_closed_under_a_read_that_was_cancelled(tmp_path: Path) -> None:
    """Regression: SQLite was still using a freed statement, and the process crashed."""
    database = await open_database(tmp_path / "memory.db")
    is_read, may_go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def takes_a_while() -> int:
        is_read.set()
        may_go_on.wait(30)
        ended.set()
        return 0

    async def read() -> None:
        async with database.snapshot() as moment:
            assert isinstance(moment, DatabaseSnapshot)
            moment._connection.set_progress_handler(takes_a_while, 1)
            await moment.rows("forget.erasures")

    async with asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(read(), name="reading")
        assert await asyncio.to_thread(is_read.wait, 30)
        for _ in range(3):  # A daemon that ends asks more than once.
            reading.cancel()
            await asyncio.wait([reading], timeout=0.1)
        assert not reading.done()
        may_go_on.set()
        await asyncio.wait([reading])
    assert reading.cancelled()
    assert ended.is_set()
    await database.aclose()


@pytest.mark.requirement("A5")
async def test_who_is_cancelled_while_it_is_said_that_nobody_is_waited_for_leaves_the_wait_as_it_was(
    tmp_path: Path,
) -> None:
    connection = await open_connection(tmp_path / "memory.db", with_vector_search=False)

    async def look() -> None:
        async with fail_if_locked(connection):
            pass

    try:
        async with asyncio.TaskGroup() as tasks:
            looking = tasks.create_task(look(), name="look")
            await asyncio.sleep(0)  # It has asked, and waits for the answer.
            looking.cancel()
        [waits] = await connection.execute_fetchall("PRAGMA busy_timeout")
        assert waits[0] == 5000
    finally:
        await connection.close()


def stand_still() -> None:
    """Block the event loop while the connection's thread continues."""
    time.sleep(0.1)
