"""What is seen of a broken memory while it is open: nothing is acknowledged after it, and the next wake knows of it."""

import asyncio
import math
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import aiosqlite
import pytest

from reveries.config import Home, load_settings
from reveries.daemon.checkup.inside import Inside, read_open_memory, run_checks
from reveries.daemon.lifecycle.room_keeper import RoomKeeper
from reveries.db.database import Database
from reveries.db.driver import CAN_READ_CONCURRENTLY, SQLITE_IOERR, dbapi
from reveries.db.integrity.page_sums import PageSums
from reveries.db.integrity.suspected_damage import damage_note_path
from reveries.db.opening import open_database
from reveries.errors import StorageDamagedError, StorageLostError
from tests.fakes.clock import HandClock

PAGE_BYTES = 4096
ASKED = "schedule.all"


@pytest.fixture
async def mind(tmp_path: Path) -> AsyncIterator[Database]:
    """A reopened memory: its content is in the file and not in the log."""
    await (await open_database(tmp_path / "memory.db", with_vector_search=False)).aclose()
    database = await open_database(tmp_path / "memory.db", with_vector_search=False)
    try:
        yield database
    finally:
        await database.aclose()


async def break_page_of(database: Database, table: str) -> None:
    """As a disk does it under an open file: the first page of the table is zeros, and SQLite has not read it yet."""
    [row] = await database.rows_of_text(f"SELECT rootpage FROM sqlite_master WHERE name = '{table}'", ())
    await database.rows_of_text("PRAGMA shrink_memory", ())
    write_zeros(database.path, row["rootpage"])


def write_zeros(file: Path, page: int) -> None:
    """By another process: this one must not open a file that SQLite has locked."""
    how = f"bs={PAGE_BYTES} count=1 seek={page - 1} conv=notrunc status=none"
    assert os.system(f"dd if=/dev/zero of={file} {how}") == 0


async def _rows(database: Database) -> None:
    await database.rows(ASKED)


async def _rows_within(database: Database) -> None:
    await database.rows_within(ASKED, {}, 5.0)


async def _rows_of_text(database: Database) -> None:
    await database.rows_of_text("SELECT * FROM schedule", ())


async def _moment(database: Database) -> None:
    async with database.snapshot() as reader:
        await reader.rows(ASKED)


async def _look_on_a_full_disk(database: Database) -> None:
    database.room.close()
    async with database.reading_transaction() as transaction:
        await transaction.rows(ASKED)


async def _copy(database: Database) -> None:
    await database.backup_to(database.path.with_name("copy.db"))


async def _is_intact(database: Database) -> None:
    if not await database.is_intact():
        raise StorageDamagedError("it says so itself")


async def _doctor(database: Database) -> None:
    settings = load_settings(None)
    inside = Inside(settings, Home(database.path.parent), await read_open_memory(database, settings))
    findings, _ = await run_checks(inside)
    if "database-damaged" in {finding.fault for finding in findings}:
        raise StorageDamagedError("it says so itself")


READS: dict[str, Callable[[Database], Awaitable[None]]] = {
    "rows": _rows,
    "rows within a time": _rows_within,
    "rows of a text": _rows_of_text,
    "a moment": _moment,
    "a look on a full disk": _look_on_a_full_disk,
    "a copy": _copy,
    "a check": _is_intact,
    "the doctor": _doctor,
}


@pytest.mark.requirement("A4", "A8")
@pytest.mark.parametrize("read", READS.values(), ids=READS)
async def test_damage_that_a_read_meets_is_not_sealed_over_and_the_next_wake_looks_for_it(
    mind: Database, read: Callable[[Database], Awaitable[None]]
) -> None:
    if read is _moment and not CAN_READ_CONCURRENTLY:
        pytest.skip("this SQLite has one connection")
    await break_page_of(mind, "schedule")
    with pytest.raises(StorageDamagedError):
        await read(mind)
    mind.room.open()
    with pytest.raises(StorageLostError):
        async with mind.transaction():
            pass
    await mind.aclose()
    assert damage_note_path(mind.path).exists()
    assert not _is_sealed(mind)


@pytest.mark.requirement("A8")
async def test_damage_that_somebody_else_saw_is_not_sealed_over_either(mind: Database) -> None:
    mind.suspect("what was erased might come back")
    await mind.aclose()
    assert damage_note_path(mind.path).exists()
    assert not _is_sealed(mind)


@pytest.mark.requirement("A8")
async def test_a_suspicion_that_a_wake_looked_into_is_over_when_it_closes(mind: Database) -> None:
    mind.suspect("a page could not be read")
    await mind.aclose()
    again = await open_database(mind.path, with_vector_search=False)
    was_there_while_awake = damage_note_path(mind.path).exists()
    await again.aclose()
    assert was_there_while_awake
    assert not damage_note_path(mind.path).exists()
    assert _is_sealed(mind)


def _is_sealed(database: Database) -> bool:
    return database.path.with_name(f"{database.path.name}.seal").exists()


class Refusing(dbapi.Connection):
    """SQLite on a disk that refuses one kind of statement, on request."""

    refused = "none"
    begun: threading.Event
    goes_on: threading.Event

    def execute(self, statement: str, *parameters: Any) -> "dbapi.Cursor":
        if not statement.startswith(self.refused):
            return super().execute(statement, *parameters)
        self.begun.set()
        self.goes_on.wait(60)
        error = dbapi.OperationalError("disk I/O error")
        error.sqlite_errorcode = SQLITE_IOERR
        raise error


@pytest.fixture
async def refusing(mind: Database) -> AsyncIterator[tuple[Database, Refusing]]:
    """Open the same memory on such a disk."""
    await mind.aclose()
    made: list[Refusing] = []

    def connect() -> Refusing:
        connection = dbapi.connect(str(mind.path), isolation_level=None, factory=Refusing, check_same_thread=False)
        connection.row_factory = dbapi.Row
        connection.begun, connection.goes_on = threading.Event(), threading.Event()
        made.append(connection)
        return connection

    connection = aiosqlite.Connection(connect, iter_chunk_size=64)
    await connection
    database = Database(connection, mind.path, PageSums(mind.path), has_vector_search=False)
    try:
        yield database, made[0]
    finally:
        await database.aclose()


@pytest.mark.requirement("A4")
@pytest.mark.parametrize(("refused", "earlier"), [("COMMIT", 0), ("PRAGMA wal_checkpoint", 49)])
async def test_what_fails_behind_a_caller_that_left_is_the_end_all_the_same(
    refusing: tuple[Database, Refusing], refused: str, earlier: int
) -> None:
    database, connection = refusing
    for number in range(earlier):
        await _put(database, f"earlier{number}")
    connection.refused = refused
    async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
        caller = tasks.create_task(_put(database, "of who left"))
        await asyncio.to_thread(connection.begun.wait, 5)
        caller.cancel()
        await asyncio.sleep(0)
        connection.goes_on.set()
    connection.refused = "none"
    with pytest.raises(StorageLostError):
        await _put(database, "after it")
    keeper = RoomKeeper(database, HandClock(), lambda: load_settings(None).storage)
    with pytest.raises(StorageLostError):
        async with asyncio.timeout(300):
            await keeper.run()


@pytest.mark.requirement("A5", "B7")
@pytest.mark.parametrize("is_full", [True, False])
async def test_a_disk_that_hangs_while_it_is_tried_is_watched(
    refusing: tuple[Database, Refusing], is_full: bool
) -> None:
    database, connection = refusing
    if is_full:
        database.room.close()
    else:
        database.room.record_refusal("Another program holds it.")
    connection.refused = "BEGIN"
    keeper = RoomKeeper(database, HandClock(), lambda: load_settings(None).storage, lambda _: math.inf)
    async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
        looking = tasks.create_task(_ends_for_a_lost_storage(keeper.check()))
        await asyncio.to_thread(connection.begun.wait, 5)
        was_watched = database.pulse.is_at_work
        connection.goes_on.set()
        await looking
    connection.refused = "none"
    assert was_watched
    assert not database.pulse.is_at_work


async def _ends_for_a_lost_storage(work: Awaitable[None]) -> None:
    with pytest.raises(StorageLostError):
        await work


async def _put(database: Database, name: str) -> None:
    async with database.transaction() as work:
        await work.run("conversations.insert", {"id": name, "began_at": 1.0, "source": name, "title": ""})
