"""The one connection: whole transactions or none, safe settings, verified copies, honest errors."""

import asyncio
import contextlib
import json
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import aiosqlite
import pytest

from reveries.config import Home
from reveries.db.backup_retention import Backup
from reveries.db.backups import restore_backup_copy, verify_database
from reveries.db.checksums import checksum
from reveries.db.database import Database, Transaction
from reveries.db.driver import CAN_READ_CONCURRENTLY, SQLITE_VERSION, dbapi, is_safe_for_two_connections
from reveries.db.failpoints import HangPlace, Step, set_failpoint
from reveries.db.integrity.page_sums import PageSums
from reveries.db.integrity.scrubbing import replace_memory_file
from reveries.db.opening import open_database
from reveries.db.schemas import SCHEMA_VERSION
from reveries.errors import DatabaseTooNewError, DiskFullError, StorageError
from tests.fakes.clock import settle


async def put_conversation(work: Transaction, name: str) -> None:
    await work.run("conversations.insert", {"id": name, "began_at": 1.0, "source": name, "title": ""})


async def has_conversation(database: Database, name: str) -> bool:
    asked = {"source": name, "title": "", "earliest": 0.0, "latest": 2.0}
    return bool(await database.rows("conversations.latest_of", asked))


# --- transactions ----------------------------------------------------------------------------------------------------


async def test_what_was_committed_is_there_when_it_is_opened_again(home: Home) -> None:
    home.create()
    path = home.path / "memory.db"
    first = await open_database(path)
    async with first.transaction() as work:
        await put_conversation(work, "kept")
    await first.aclose()
    second = await open_database(path)
    try:
        assert await has_conversation(second, "kept")
    finally:
        await second.aclose()


async def test_a_body_that_raises_stores_nothing(database: Database) -> None:
    async def write() -> None:
        async with database.transaction() as work:
            await put_conversation(work, "gone")
            raise LookupError

    with pytest.raises(LookupError):
        await write()
    assert not await has_conversation(database, "gone")


@pytest.mark.requirement("R-107")
async def test_a_statement_that_fails_takes_the_whole_transaction_with_it(database: Database) -> None:
    async def write() -> None:
        async with database.transaction() as work:
            await put_conversation(work, "gone")
            await put_conversation(work, "gone")

    with pytest.raises(StorageError, match="refused a row"):
        await write()
    assert not await has_conversation(database, "gone")


async def test_a_body_that_is_cancelled_stores_nothing(database: Database) -> None:
    inside = asyncio.Event()

    async def write() -> None:
        async with database.transaction() as work:
            await put_conversation(work, "gone")
            inside.set()
            await asyncio.Event().wait()

    async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
        task = tasks.create_task(write(), name="write")
        await inside.wait()
        task.cancel()
    assert not await has_conversation(database, "gone")


@pytest.mark.parametrize("turns", range(14))
async def test_a_cancellation_at_any_moment_leaves_the_connection_usable(database: Database, turns: int) -> None:
    """Wherever it hits (waiting, beginning, writing, committing) the next transaction works and the two never mix."""

    async def write() -> None:
        async with database.transaction() as work:
            await put_conversation(work, "first")
            await put_conversation(work, "second")

    async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
        task = tasks.create_task(write(), name="write")
        await settle(turns)
        task.cancel()
    async with asyncio.timeout(300), database.transaction() as work:
        await put_conversation(work, "after")
    assert await has_conversation(database, "after")
    assert await has_conversation(database, "first") == await has_conversation(database, "second")


async def test_a_task_that_is_cancelled_while_it_waits_its_turn_harms_nobody(database: Database) -> None:
    inside, leave = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        async with database.transaction() as work:
            await put_conversation(work, "holder")
            inside.set()
            await leave.wait()

    async def wait_in_line() -> None:
        async with database.transaction() as work:
            await put_conversation(work, "waiter")

    async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
        tasks.create_task(hold(), name="hold")
        await inside.wait()
        waiter = tasks.create_task(wait_in_line(), name="wait")
        await settle()
        waiter.cancel()
        leave.set()
    assert await has_conversation(database, "holder")
    assert not await has_conversation(database, "waiter")


async def test_two_tasks_never_share_a_transaction(database: Database) -> None:
    inside, leave = asyncio.Event(), asyncio.Event()

    async def fails() -> None:
        with contextlib.suppress(LookupError):
            async with database.transaction() as work:
                await put_conversation(work, "fails")
                inside.set()
                await leave.wait()
                raise LookupError

    async def succeeds() -> None:
        async with database.transaction() as work:
            await put_conversation(work, "succeeds")

    async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
        tasks.create_task(fails(), name="fails")
        await inside.wait()
        tasks.create_task(succeeds(), name="succeeds")
        await settle()
        leave.set()
    assert not await has_conversation(database, "fails")
    assert await has_conversation(database, "succeeds")


async def test_a_reader_sees_only_what_is_committed(database: Database) -> None:
    inside, leave = asyncio.Event(), asyncio.Event()

    async def write() -> None:
        with contextlib.suppress(LookupError):
            async with database.transaction() as work:
                await put_conversation(work, "half")
                inside.set()
                await leave.wait()
                raise LookupError

    async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
        tasks.create_task(write(), name="write")
        await inside.wait()
        reading = tasks.create_task(has_conversation(database, "half"), name="read")
        await settle()
        assert not reading.done()
        leave.set()
    assert reading.result() is False


async def test_a_commit_that_was_cancelled_is_still_whole(database: Database) -> None:
    """Cancelled when the body is done: the rows are all there or none is, and the caller hears of the cancellation."""
    written = asyncio.Event()

    async def write() -> None:
        async with database.transaction() as work:
            await put_conversation(work, "first")
            await put_conversation(work, "second")
            written.set()

    async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
        task = tasks.create_task(write(), name="write")
        await written.wait()
        task.cancel()
    assert task.cancelled()
    assert await has_conversation(database, "first") == await has_conversation(database, "second")


# --- what the file is ------------------------------------------------------------------------------------------------


@pytest.mark.requirement("A7")
async def test_the_pragmas_are_as_promised(database: Database) -> None:
    expected = {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "secure_delete": 1,
        "busy_timeout": 5000,
        "mmap_size": 0,
        "user_version": SCHEMA_VERSION,
    }
    assert await pragmas_of(database, expected) == expected


async def pragmas_of(database: Database, names: dict[str, object]) -> dict[str, object]:
    """Asked of the very connection that writes; most of them belong to a connection, not to the file."""
    found = {}
    for name in names:
        cursor = await database._connection.execute(f"PRAGMA {name}")
        row = await cursor.fetchone()
        await cursor.close()
        assert row is not None
        found[name] = row[0]
    return found


@pytest.mark.requirement("A7")
def test_the_driver_carries_a_sqlite_without_the_wal_reset_bug_where_it_has_wheels() -> None:
    if dbapi.__name__.startswith("pysqlite3"):
        assert tuple(int(part) for part in SQLITE_VERSION.split(".")) >= (3, 51, 3)


@pytest.mark.requirement("R-14")
async def test_the_files_are_for_their_owner_alone(database: Database) -> None:
    async with database.transaction() as work:
        await put_conversation(work, "x")
    files = [database.path, *database.path.parent.glob("memory.db-*")]
    assert len(files) == 3
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}


@pytest.mark.requirement("R-155", "C3")
async def test_a_file_of_a_newer_reveries_is_refused_and_not_changed(home: Home) -> None:
    path = await newer_file(home)
    before = {file.name: file.read_bytes() for file in home.path.glob("memory.db*")}
    with pytest.raises(DatabaseTooNewError, match=f"{SCHEMA_VERSION + 1}"):
        await open_database(path, home.backups)
    assert {file.name: file.read_bytes() for file in home.path.glob("memory.db*")} == before
    assert not list(home.backups.iterdir())


@pytest.mark.requirement("R-155", "C3")
def test_a_newer_file_whose_daemon_was_killed_is_not_changed_either(home: Home) -> None:
    """Its last words are still in the write-ahead log: folding them in would be a change."""
    home.create()
    path = home.path / "memory.db"
    run_and_die(f"""
        import os
        from reveries.db.driver import dbapi
        connection = dbapi.connect({str(path)!r}, isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE future (x)")
        connection.execute("PRAGMA user_version={SCHEMA_VERSION + 1}")
        os._exit(0)
    """)
    kept = (path, path.with_name("memory.db-wal"))
    before = [file.read_bytes() for file in kept]
    assert before[1]
    with pytest.raises(DatabaseTooNewError):
        asyncio.run(open_database(path, home.backups))
    assert [file.read_bytes() for file in kept] == before


async def newer_file(home: Home) -> Path:
    home.create()
    path = home.path / "memory.db"
    connection = dbapi.connect(str(path), isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE future (x)")
    connection.execute(f"PRAGMA user_version={SCHEMA_VERSION + 1}")
    connection.close()
    return path


@pytest.mark.parametrize(
    "content", [b"a letter, no database " * 40, b"SQLite format 3\x00" + b"\xff" * 4096], ids=["text", "torn"]
)
async def test_a_file_that_is_no_database_is_refused_and_not_changed(home: Home, content: bytes) -> None:
    home.create()
    path = home.path / "memory.db"
    path.write_bytes(content)
    with pytest.raises(StorageError) as refused:
        await open_database(path)
    assert str(path) in refused.value.message
    assert refused.value.advice
    assert path.read_bytes() == content


async def test_a_path_that_cannot_be_opened_is_refused(home: Home) -> None:
    with pytest.raises(StorageError, match="cannot be opened"):
        await open_database(home.path / "not there" / "memory.db")


async def test_a_whole_file_is_intact(database: Database) -> None:
    assert await database.is_intact()


@pytest.mark.requirement("F10")
async def test_what_is_written_while_the_file_is_written_anew_is_kept(database: Database, home: Home) -> None:
    async with database.transaction() as work:
        await put_conversation(work, "before")
    target = home.backups / "copy.db"
    async with asyncio.timeout(300), asyncio.TaskGroup() as together:
        scrubbing = together.create_task(database.scrub(target), name="scrub")
        for number in range(5):
            await asyncio.sleep(0)
            assert await has_conversation(database, "before")
            async with database.transaction() as work:
                await put_conversation(work, f"meanwhile {number}")
    assert scrubbing.result().is_whole
    for name in ("before", *(f"meanwhile {number}" for number in range(5))):
        assert await has_conversation(database, name)
    assert await database.is_intact()
    if scrubbing.result().copied is not None:
        assert target.stat().st_mode & 0o777 == 0o600
        assert not verify_database(target).problems
    assert not list(home.path.glob("*.anew"))


@pytest.mark.skipif(not CAN_READ_CONCURRENTLY, reason="this SQLite reads on one connection only")
async def test_a_moment_is_read_while_others_write_and_sees_nothing_of_it(database: Database) -> None:
    async with database.snapshot() as moment:
        before = await moment.rows("forget.conversations")
        async with asyncio.timeout(300), database.transaction() as work:
            await put_conversation(work, "meanwhile")
        assert await moment.rows("forget.conversations") == before == []
    assert await has_conversation(database, "meanwhile")


@pytest.mark.parametrize("log", ["-wal", "-journal"])
def test_no_file_takes_the_place_of_a_memory_that_has_a_log(tmp_path: Path, log: str) -> None:
    memory, anew = tmp_path / "m.db", tmp_path / "m.db.anew"
    memory.write_bytes(b"old")
    anew.write_bytes(b"new")
    memory.with_name(f"m.db{log}").write_bytes(b"what was stored since")
    assert not replace_memory_file(anew, memory)
    assert memory.read_bytes() == b"old"
    memory.with_name(f"m.db{log}").unlink()
    assert replace_memory_file(anew, memory)
    assert memory.read_bytes() == b"new"


# --- copies ----------------------------------------------------------------------------------------------------------


async def test_a_backup_is_a_whole_database_of_its_owner_alone(database: Database, home: Home) -> None:
    async with database.transaction() as work:
        await put_conversation(work, "kept")
    target = home.backups / "copy.db"
    await database.backup_to(target)
    assert target.stat().st_mode & 0o777 == 0o600
    copy = await open_database(target)
    try:
        assert await copy.is_intact()
        assert await has_conversation(copy, "kept")
    finally:
        await copy.aclose()


async def test_a_backup_takes_the_place_of_an_older_one_and_of_what_a_crash_left(
    database: Database, home: Home
) -> None:
    target = home.backups / "copy.db"
    await database.backup_to(target)
    target.with_suffix(".partial").write_bytes(b"half a backup")
    async with database.transaction() as work:
        await put_conversation(work, "newer")
    await database.backup_to(target)
    assert sorted(file.name for file in home.backups.iterdir()) == ["copy.db", "copy.db.seal"]
    copy = await open_database(target)
    try:
        assert await has_conversation(copy, "newer")
    finally:
        await copy.aclose()


async def test_a_backup_says_how_far_it_is_and_so_does_what_looks_at_it(database: Database, home: Home) -> None:
    async with database.transaction() as work:
        await put_conversation(work, "kept")
    told: list[tuple[str, int, int]] = []
    await database.backup_to(home.backups / "copy.db", lambda *moved: told.append(moved))
    # Told of the copying again each quarter of a second that it takes.
    assert list(dict.fromkeys(what for what, _, _ in told)) == ["copying, MB", "checking its structure"]
    told.clear()
    done = restore_backup_copy(
        home.path / "other.db",
        Backup(home.backups / "copy.db", 1.0, False),
        2.0,
        "A test.",
        lambda *moved: told.append(moved),
    )
    assert done.backup == "copy.db"
    assert told[0] == ("copying, MB", 0, 0)


@pytest.mark.requirement("B4")
async def test_a_copy_that_nobody_waits_for_any_more_is_looked_at_no_further(database: Database, home: Home) -> None:
    """The caller who gave up waits for the end of the check: no thread of an old daemon runs next to the new one."""
    target, told = home.backups / "copy.db", list[str]()
    looks, may_look = threading.Event(), threading.Event()

    def tell(what: str, _: int, __: int) -> None:
        told.append(what)
        if what == "checking its structure":
            looks.set()
            may_look.wait(30)

    async with database.transaction() as work:
        for number in range(2000):
            await put_conversation(work, f"c{number}")
    copying = asyncio.get_running_loop().create_task(database.backup_to(target, tell), name="copy")
    assert await asyncio.to_thread(looks.wait, 30)
    copying.cancel()
    for _ in range(20):
        await asyncio.sleep(0)
    assert not copying.done()
    may_look.set()
    with pytest.raises(asyncio.CancelledError):
        await copying
    assert told[-1] == "checking its structure"
    assert list(home.backups.iterdir()) == []


async def test_a_backup_that_cannot_be_made_leaves_the_older_one(database: Database, home: Home) -> None:
    target = home.backups / "copy.db"
    await database.backup_to(target)
    before = target.read_bytes()
    target.with_suffix(".partial").mkdir()
    with pytest.raises(StorageError, match="cannot be made") as refused:
        await database.backup_to(target)
    assert str(target) in refused.value.message
    assert target.read_bytes() == before


# --- faults of the disk ----------------------------------------------------------------------------------------------


@pytest.fixture
async def small_database(database: Database) -> AsyncIterator[Database]:
    """A second connection to a copy that may hardly grow: SQLite reports "full", as on a full disk."""
    path = database.path.with_name("small.db")
    await database.backup_to(path)

    def connect() -> "dbapi.Connection":
        connection = dbapi.connect(str(path), isolation_level=None)
        connection.row_factory = dbapi.Row
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count={pages + 4}")
        return connection

    connection = aiosqlite.Connection(connect, iter_chunk_size=64)
    await connection
    small = Database(connection, path, PageSums(path), has_vector_search=False)
    try:
        yield small
    finally:
        await small.aclose()


async def put_large(database: Database) -> None:
    async with database.transaction() as work:
        values = {"id": "large", "began_at": 1.0, "source": "large", "title": "x" * 200_000}
        await work.run("conversations.insert", values)


@pytest.mark.requirement("A5")
async def test_a_full_disk_is_said_and_what_was_stored_stays(small_database: Database) -> None:
    async with small_database.transaction() as work:
        await put_conversation(work, "before")
    with pytest.raises(DiskFullError):
        await put_large(small_database)
    assert await has_conversation(small_database, "before")
    assert not await has_conversation(small_database, "large")
    assert small_database.room.is_full
    with pytest.raises(DiskFullError):  # It would fit; but nothing is acknowledged before there is room to go on.
        async with small_database.transaction() as work:
            await put_conversation(work, "between")
    assert not await small_database.probe_disk_space()
    await small_database.rows_of_text("PRAGMA max_page_count=100000", ())
    assert await small_database.probe_disk_space()
    async with small_database.transaction() as work:
        await put_conversation(work, "after")
    assert await has_conversation(small_database, "after")
    assert not await has_conversation(small_database, "between")


@pytest.mark.requirement("A5")
async def test_who_waits_for_room_goes_on_when_there_is_some(small_database: Database) -> None:
    changes: list[bool] = []
    small_database.room.changed.subscribe(lambda: changes.append(small_database.room.is_full))
    with pytest.raises(DiskFullError):
        await put_large(small_database)
    async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
        waits = tasks.create_task(small_database.room.wait())
        await asyncio.sleep(0)
        assert not waits.done()
        await small_database.rows_of_text("PRAGMA max_page_count=100000", ())
        await small_database.probe_disk_space()
    assert changes == [True, False]
    assert not [row for row in await small_database.rows("schedule.all") if row["job"] == "room"]


@pytest.mark.skipif(not CAN_READ_CONCURRENTLY, reason="this SQLite has one connection")
@pytest.mark.requirement("A9")
async def test_what_is_said_while_a_copy_is_made_waits_for_nobody(database: Database) -> None:
    """A transaction holds the writing connection during the whole copy."""
    target = database.path.with_name("copy.db")
    async with asyncio.timeout(300), database.transaction() as work:
        await put_conversation(work, "meanwhile")
        looked = await database.backup_to(target)
    assert looked.problems == ()
    assert await has_conversation(database, "meanwhile")


@pytest.mark.parametrize(
    ("version", "is_safe"),
    [((3, 40, 1), False), ((3, 51, 2), False), ((3, 51, 3), True), ((3, 52, 0), False), ((3, 53, 0), True)],
)
def test_a_second_connection_reads_only_where_the_wal_reset_bug_is_not(version: tuple[int, ...], is_safe: bool) -> None:
    assert is_safe_for_two_connections(version) is is_safe


@pytest.mark.requirement("A4")
def test_a_write_that_fails_is_a_lost_storage(home: Home) -> None:
    """A limit on file sizes makes write(2) fail with EFBIG, in a separate process."""
    home.create()
    told = run_and_die(f"""
        import asyncio, resource
        from pathlib import Path
        from reveries.db.opening import open_database
        from reveries.errors import StorageLostError

        async def main():
            database = await open_database(Path({str(home.path / "memory.db")!r}))
            resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
            try:
                async with database.transaction() as work:
                    values = {{"id": "large", "began_at": 1.0, "source": "chat", "title": "x" * 1_000_000}}
                    await work.run("conversations.insert", values)
            except StorageLostError as error:
                print(error.code, error.exit_code)
            await database.aclose()

        asyncio.run(main())
    """)
    assert told == "storage_lost 74"


def run_and_die(program: str) -> str:
    """Run `program` in a separate process and return its output."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


MANY = json.dumps([str(number) for number in range(300_000)])


async def test_a_query_whose_time_is_up_is_broken_off_and_the_next_one_is_not(database: Database) -> None:
    named = {"kind": "turn", "owner_ids": MANY}
    with pytest.raises(TimeoutError):
        await database.rows_within("deep.ids_of", named, 0.001)
    assert await database.rows("deep.ids_of", named) == []
    assert await database.rows_within("deep.ids_of", named, 60.0) == []


async def test_a_query_that_nobody_waits_for_any_more_ends_at_its_time_and_a_write_goes_on(database: Database) -> None:
    async with asyncio.timeout(300):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await database.rows_within("deep.ids_of", {"kind": "turn", "owner_ids": MANY}, 0.001)
        async with database.transaction() as work:
            await put_conversation(work, "kept")
        assert await has_conversation(database, "kept")


@pytest.mark.requirement("C1", "R-155")
@pytest.mark.parametrize("version", range(1, SCHEMA_VERSION))
async def test_an_older_file_gets_the_schema_of_a_new_one_and_keeps_its_rows(home: Home, version: int) -> None:
    older = (Path(__file__).parent / "schemas" / f"{version:04}.sql").read_text(encoding="utf-8")
    home.create()
    path = home.path / "older.db"
    with contextlib.closing(dbapi.connect(str(path))) as connection:
        connection.executescript(older)
        connection.execute("INSERT INTO schedule (job, next_run_at) VALUES ('backup', 7.0)")
        connection.execute(f"PRAGMA user_version={version}")
        connection.commit()

    await (await open_database(path, home.backups)).aclose()
    await (await open_database(home.path / "new.db")).aclose()

    assert shape_of(path) == shape_of(home.path / "new.db")
    with contextlib.closing(dbapi.connect(str(path))) as connection:
        assert connection.execute("SELECT job, next_run_at FROM schedule").fetchall() == [("backup", 7.0)]
    assert (home.backups / f"before-migration-{version}-to-{SCHEMA_VERSION}.db").exists()


@pytest.mark.requirement("F1", "F3")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE turns SET origin = 'owner'",
        "UPDATE turns SET tainted = 0",
        "UPDATE raw_experiences SET origin = 'owner'",
        "UPDATE raw_experiences SET tainted = 0",
        "UPDATE episodes SET origin = 'owner'",
        "UPDATE episodes SET tainted = 0",
    ],
)
async def test_no_statement_changes_where_a_text_came_from_or_takes_its_taint_away(
    database: Database, statement: str
) -> None:
    connection = database._connection
    for row in (
        "INSERT INTO conversations (id, began_at, last_said_at, source) VALUES ('c', 1, 1, 'x')",
        """INSERT INTO raw_experiences (id, kind, happened_at, content, salience, origin, tainted, checksum)
        VALUES ('x', 'external', 1, 'w', 0.5, 'document', 1, x'00')""",
        """INSERT INTO turns (id, conversation_id, position, origin, tainted, speaker, text, said_at, checksum)
        VALUES ('t', 'c', 0, 'document', 1, 's', 'w', 1, x'00')""",
        """INSERT INTO episodes (id, created_at, ended_at, last_accessed_at, summary, exemplars, salience, confidence,
        last_decayed_at, depth, origin, tainted, checksum)
        VALUES ('e', 1, 1, 1, 'w', '[]', 0.5, 1, 1, 'light', 'document', 1, x'00')""",
        "INSERT INTO episode_sources VALUES ('e', 'x')",
    ):
        await connection.execute(row)
    with pytest.raises(dbapi.IntegrityError, match="never"):
        await connection.execute(statement)


def shape_of(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return every table and index with its columns, and the text of every trigger."""
    with contextlib.closing(dbapi.connect(str(path))) as connection:
        written = connection.execute("SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'")
        return {
            f"{kind} {name}": [(text,)]
            if kind == "trigger"
            else connection.execute(f"PRAGMA {kind}_info('{name}')").fetchall()
            for kind, name, text in written.fetchall()
        }


@pytest.mark.requirement("A4")
def test_after_a_failed_write_nothing_is_stored_any_more_even_if_the_disk_is_well_again(home: Home) -> None:
    """In a separate process, whose limit on file sizes makes one write fail."""
    home.create()
    told = run_and_die(f"""
        import asyncio, resource
        from pathlib import Path
        from reveries.db.opening import open_database
        from reveries.errors import StorageLostError

        async def put(database, name, title):
            async with database.transaction() as work:
                await work.run(
                    "conversations.insert", {{"id": name, "began_at": 1.0, "source": "chat", "title": title}}
                )

        async def main():
            database = await open_database(Path({str(home.path / "memory.db")!r}))
            resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
            for name, title in (("large", "x" * 1_000_000), ("small", "")):
                try:
                    await put(database, name, title)
                    print("stored", name)
                except StorageLostError as error:
                    print(error.code, name)
                resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            await database.aclose()

        asyncio.run(main())
    """)
    assert told.split("\n") == ["storage_lost large", "storage_lost small"]


@pytest.mark.requirement("E7")
async def test_the_log_is_folded_into_the_file_while_the_mind_lives(database: Database) -> None:
    log = database.path.with_name("memory.db-wal")
    for number in range(400):
        async with database.transaction() as work:
            await work.run(
                "conversations.insert", {"id": str(number), "began_at": 1.0, "source": "chat", "title": "x" * 40_000}
            )
    assert log.stat().st_size < 8 * 2**20
    assert database.path.stat().st_size > 8 * 2**20


async def test_while_a_program_reads_the_log_is_folded_ever_more_rarely_and_as_before_after_it(
    database: Database,
) -> None:
    folds: list[int] = []

    async def commit(times: int) -> None:
        for number in range(database.commits, database.commits + times):
            async with database.transaction() as work:
                await work.run(
                    "conversations.insert", {"id": str(number), "began_at": 1.0, "source": "chat", "title": ""}
                )

    class Counting:
        def reach(self, step: Step) -> None:
            if step is Step.LOG_FOLDED:
                folds.append(database.commits)

        async def halt(self, place: HangPlace) -> None: ...

    set_failpoint(Counting())
    try:
        with contextlib.closing(dbapi.connect(str(database.path))) as reading:
            reading.execute("BEGIN")
            reading.execute("SELECT count(*) FROM turns").fetchall()
            began = database.commits
            await commit(360)
            assert len([at for at in folds if at > began]) == 3, "not seven"
        await commit(450)
        folds.clear()
        await commit(110)
        assert len(folds) == 2
    finally:
        set_failpoint(None)


@pytest.mark.requirement("A4")
def test_a_fold_that_fails_at_the_end_is_said_and_loses_nothing(home: Home) -> None:
    """In a separate process, whose limit on file sizes keeps the database from growing; the log has grown before."""
    home.create()
    told = run_and_die(f"""
        import asyncio, resource
        from pathlib import Path
        from reveries.db.opening import open_database
        from reveries.errors import StorageLostError

        async def main():
            path = Path({str(home.path / "memory.db")!r})
            database = await open_database(path)
            async with database.transaction() as work:
                values = {{"id": "large", "began_at": 1.0, "source": "chat", "title": "x" * 1_000_000}}
                await work.run("conversations.insert", values)
            resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, resource.RLIM_INFINITY))
            try:
                await database.aclose()
            except StorageLostError as error:
                print(error.code)
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            database = await open_database(path)
            print(len(await database.rows("conversations.latest_chat")))
            await database.aclose()

        asyncio.run(main())
    """)
    assert told.split("\n") == ["storage_lost", "1"]


@pytest.mark.requirement("A4")
@pytest.mark.skipif(not CAN_READ_CONCURRENTLY, reason="this SQLite is not written anew beside itself")
@pytest.mark.parametrize("refused", ["the file", "the folder"])
def test_a_sync_that_is_refused_while_the_file_is_written_anew_is_the_end(home: Home, refused: str) -> None:
    """What is stored afterwards would go into a file whose name may not last. An audit hook is the disk."""
    home.create()
    told = run_and_die(f"""
        import asyncio, errno, os, sys
        from pathlib import Path
        from reveries.db.opening import open_database
        from reveries.errors import StorageLostError

        path, names = Path({str(home.path / "memory.db")!r}), set()

        def disk(event, arguments):
            if event == "os.rename":
                names.update(map(str, arguments[:2]))
            if event != "open" or "on" not in names:
                return
            opened = str(arguments[0])
            is_file = {refused!r} == "the file" and opened.endswith(".anew")
            is_folder = {refused!r} == "the folder" and str(path) in names and opened == str(path.parent)
            if is_file or is_folder:
                raise OSError(errno.EIO, "Input/output error")

        async def put(database, name):
            async with database.transaction() as work:
                await work.run("conversations.insert", {{"id": name, "began_at": 1.0, "source": name, "title": ""}})

        async def main():
            database = await open_database(path)
            await put(database, "before")
            names.add("on")
            for attempt in (database.scrub(), put(database, "after")):
                try:
                    await attempt
                    print("done")
                except StorageLostError as error:
                    print(error.code)
            names.clear()
            await database.aclose()

        sys.addaudithook(disk)
        asyncio.run(main())
    """)
    assert told.split("\n") == ["storage_lost", "storage_lost"]


@pytest.mark.requirement("A4", "A9")
@pytest.mark.parametrize("is_another", [False, True], ids=["its own", "another"])
def test_the_disk_of_the_backups_may_fail_where_it_is_another_one(home: Home, is_another: bool) -> None:
    """In a separate process, whose limit on file sizes makes the copy fail."""
    home.create()
    places = [Path("/dev/shm"), Path(tempfile.gettempdir())] if is_another else [home.path]
    own = home.path.stat().st_dev
    fitting = [place for place in places if place.is_dir() and (place.stat().st_dev != own) is is_another]
    if not fitting:
        pytest.skip("there is one disk")
    with tempfile.TemporaryDirectory(dir=fitting[0]) as folder:
        told = run_and_die(f"""
            import asyncio, resource
            from pathlib import Path
            from reveries.db.opening import open_database
            from reveries.errors import StorageError

            async def put(database):
                async with database.transaction() as work:
                    await work.run(
                        "conversations.insert", {{"id": "one", "began_at": 1.0, "source": "chat", "title": ""}}
                    )

            async def main():
                database = await open_database(Path({str(home.path / "memory.db")!r}))
                resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, resource.RLIM_INFINITY))
                target = Path({folder!r}) / "copy.db"
                for attempt in (database.backup_to(target), put(database)):
                    try:
                        await attempt
                        print("done")
                    except StorageError as error:
                        print(error.code)
                    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
                print(list(target.parent.iterdir()) if {is_another} else [])
                await database.aclose()

            asyncio.run(main())
        """)
    expected = ["storage", "done"] if is_another else ["storage_lost", "storage_lost"]
    assert told.split("\n") == [*expected, "[]"]


@pytest.mark.requirement("V-115", "V-137")
async def test_chunks_of_schema_10_are_in_the_index_of_words_after_the_migration(home: Home) -> None:
    schema = (Path(__file__).parent / "schemas" / "0010.sql").read_text(encoding="utf-8")
    home.create()
    path = home.path / "older.db"
    with contextlib.closing(dbapi.connect(str(path))) as connection:
        connection.executescript(schema)
        connection.execute("INSERT INTO projects (id, name, created_at) VALUES ('p1', 'Boat', 0)")
        connection.execute(
            "INSERT INTO chunks"
            " (id, project_id, content, type, confidence, source, created_at, last_accessed_at, checksum)"
            " VALUES ('c1', 'p1', 'Larch for the planks.', 'decision', 'verified', 'user', 0, 0, x'00')"
        )
        connection.execute("PRAGMA user_version=10")
        connection.commit()
    database = await open_database(path, home.backups)
    try:
        named = {"words": '{title content} : "larch"', "limit": 5}
        assert len(await database.rows("chunks.by_words", named)) == 1
        [chunk] = await database.rows("chunks.of_project", {"project_id": "p1"})
        assert (chunk["memory_type"], chunk["superseded_by"]) == ("episodic", None)
    finally:
        await database.aclose()


async def test_documents_of_schema_13_are_made_of_the_titles_of_their_sections(home: Home) -> None:
    schema = (Path(__file__).parent / "schemas" / "0013.sql").read_text(encoding="utf-8")
    home.create()
    path = home.path / "older.db"
    rows = [
        ("c1", "lease.md", "resource", "[]", ""),
        ("c2", "lease.md › Rent", "resource", '["document:0123456789ab"]', ""),
        ("c3", "lease.md › Rent", "resource", '["folder"]', "it stands no more in lease.md"),
        ("c4", "lease.md › Cellar", "resource", '["folder"]', "it is damp"),
        ("c5", "lease.md", "insight", "[]", ""),
        ("c6", "lease.md", "resource", '["mcp:desk"]', ""),
    ]
    with contextlib.closing(dbapi.connect(str(path))) as connection:
        connection.executescript(schema)
        connection.execute("INSERT INTO projects (id, name, created_at) VALUES ('p1', 'Flat', 0)")
        connection.executemany(
            "INSERT INTO chunks (id, title, type, foreign_sources, fell_because, project_id, content, confidence,"
            " source, created_at, last_accessed_at, checksum)"
            " VALUES (?, ?, ?, ?, ?, 'p1', 'text', 'verified', 'user', 0, 0, x'00')",
            rows,
        )
        connection.execute("PRAGMA user_version=13")
        connection.commit()
    database = await open_database(path, home.backups)
    try:
        documents = await database.rows("documents.of_project", {"project_id": "p1"})
        found = {(row["id"], row["origin"], row["path"], row["name"], row["is_trusted"]) for row in documents}
        assert found == {
            ("c1", "added", "lease.md", "lease.md (added)", 0), ("c3", "folder", "lease.md", "lease.md", 0),
        }  # fmt: skip
        chunks = await database.rows("chunks.of_project", {"project_id": "p1"})
        assert {row["id"]: (row["document_id"], row["fall"]) for row in chunks} == {
            "c1": ("c1", ""), "c2": ("c1", ""), "c3": ("c3", "left_document"), "c4": ("c3", "retracted"),
            "c5": (None, ""), "c6": (None, ""),
        }  # fmt: skip
    finally:
        await database.aclose()


async def test_wishes_of_schema_13_are_kept_with_their_state_and_their_checksum(home: Home) -> None:
    home.create()
    path = home.path / "older.db"
    rows = [("w1", "p1", "move", "", "2026-12-09", "proposed"), ("w2", "p1", "add", "Call Ada", "", "applied")]
    with contextlib.closing(dbapi.connect(str(path))) as connection:
        connection.executescript((Path(__file__).parent / "schemas" / "0013.sql").read_text(encoding="utf-8"))
        connection.execute("INSERT INTO projects (id, name, created_at) VALUES ('p1', 'Boat', 0)")
        for row in rows:
            connection.execute(
                "INSERT INTO wishes (id, project_id, action, title, due, state, created_at, checksum)"
                " VALUES (?, ?, ?, ?, ?, ?, 1.0, ?)",
                (*row, checksum(row[3])),
            )
        connection.execute("PRAGMA user_version=13")
        connection.commit()
    database = await open_database(path, home.backups)
    try:
        [waiting] = await database.rows("wishes.proposed")
        assert (waiting["id"], waiting["due"]) == ("w1", "2026-12-09")
    finally:
        await database.aclose()
    with contextlib.closing(dbapi.connect(str(path))) as connection:
        kept = connection.execute("SELECT title, state, checksum FROM wishes ORDER BY id").fetchall()
    assert kept == [("", "proposed", checksum("")), ("Call Ada", "applied", checksum("Call Ada"))]


async def test_sentences_of_schema_14_that_were_states_are_columns(home: Home) -> None:
    home.create()
    path = home.path / "older.db"
    audits = {"t1": "said by you", "t2": "said by mcp:desk, not audited", "t3": "It is in the file.", "t4": ""}
    with contextlib.closing(dbapi.connect(str(path))) as connection:
        connection.executescript((Path(__file__).parent / "schemas" / "0014.sql").read_text(encoding="utf-8"))
        connection.execute("INSERT INTO projects (id, name, created_at) VALUES ('p1', 'Boat', 0)")
        connection.executemany(
            "INSERT INTO tasks (id, project_id, title, description, kind, status, audit, created_at, updated_at,"
            " checksum) VALUES (?, 'p1', 'Buy', '', 'other', 'done', ?, 0, 0, x'00')",
            audits.items(),
        )
        connection.executemany(
            "INSERT INTO orientation (project_id, version, content, trigger, written_at, checksum)"
            " VALUES ('p1', ?, '{\"vision_summary\": \"\"}', ?, 0, x'00')",
            [(1, "created"), (2, "time"), (3, "reverted to 1")],
        )
        connection.executemany(
            "INSERT INTO activities (project_id, action, details, happened_at) VALUES ('p1', ?, ?, 0)",
            [("question.answered", "whether the goal is reached"), ("planned", "2 tasks"), ("question.answered", "")],
        )
        connection.execute("PRAGMA user_version=14")
        connection.commit()
    database = await open_database(path, home.backups)
    try:
        tasks = await database.rows("projects.tasks", {"project_id": "p1"})
        assert {row["id"]: row["audited_by"] for row in tasks} == {
            "t1": "owner",
            "t2": "program",
            "t3": "audit",
            "t4": "",
        }
        pages = await database.rows("projects.orientations", {"project_id": "p1"})
        assert [row["reverted_to"] for row in pages] == [1, None, None]
        [counted] = await database.rows("projects.plans_since_reached_answer", {"project_id": "p1"})
        assert counted["number"] == 1
    finally:
        await database.aclose()
