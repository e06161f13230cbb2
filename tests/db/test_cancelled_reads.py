"""A read that was cancelled leaves its cursor open until the loop turns: what folds the log behind it may not mind. Nor
does one that is cancelled leave the connection other than it was."""

import asyncio
import time
from pathlib import Path

import pytest

from reveries.db.connecting import connected, waiting_for_nobody
from reveries.db.opening import open_database

_SLOW = """
WITH RECURSIVE counted(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM counted WHERE number < 100000)
SELECT (SELECT count(*) FROM counted) FROM sqlite_schema
"""
"""Its first row takes a while, and others wait behind it."""


async def test_a_memory_closes_properly_behind_a_read_that_was_cancelled(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "memory.db")
    async with asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(database.rows_of_text(_SLOW, ()), name="reading")
        await asyncio.sleep(0.005)
        reading.cancel()
        await asyncio.wait([reading])
        assert reading.cancelled()
        tasks.create_task(database.aclose(), name="closing")
        await asyncio.sleep(0)
        stand_still()
    assert not (tmp_path / "memory.db-wal").exists()


@pytest.mark.requirement("A5")
async def test_who_is_cancelled_while_it_is_said_that_nobody_is_waited_for_leaves_the_wait_as_it_was(
    tmp_path: Path,
) -> None:
    connection = await connected(tmp_path / "memory.db", with_vector_search=False)

    async def look() -> None:
        async with waiting_for_nobody(connection):
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
    """The loop is not turned while the connection's thread goes on."""
    time.sleep(0.1)
