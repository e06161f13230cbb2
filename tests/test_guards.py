"""The tests of the tests' own guards."""

import contextlib
import os
import socket
from pathlib import Path

import pytest

from reveries.db.database import Database
from tests.fakes.guards import DatabaseGuard, DatabaseOpenedError, NetworkRefusedError

needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="only /proc tells which files are open")


@needs_proc
@pytest.mark.requirement("A6")
async def test_reading_a_held_database_by_its_path_is_refused(
    database: Database, database_guard: DatabaseGuard
) -> None:
    """The mistake that cost another project its data: open(db).read(16) drops SQLite's locks when it is closed."""
    with pytest.raises(DatabaseOpenedError), database.path.open("rb") as file:
        file.read(16)
    assert database_guard.seen == [str(database.path)]
    database_guard.seen.clear()


@needs_proc
@pytest.mark.requirement("A6")
async def test_a_refusal_that_is_swallowed_is_still_seen(database: Database, database_guard: DatabaseGuard) -> None:
    await database.rows("statistics.counts")
    with contextlib.suppress(DatabaseOpenedError):
        os.close(os.open(f"{database.path}-wal", os.O_RDWR))
    assert database_guard.seen == [f"{database.path}-wal"]
    database_guard.seen.clear()


@needs_proc
@pytest.mark.requirement("A6")
async def test_reading_the_log_drops_no_lock(database: Database, database_guard: DatabaseGuard) -> None:
    def locked() -> set[int]:
        """The files that this process has locks on, by their inodes."""
        rows = [line.split() for line in Path("/proc/locks").read_text(encoding="ascii").splitlines()]
        return {int(row[5].rpartition(":")[2]) for row in rows if int(row[4]) == os.getpid()}

    log, index = (Path(f"{database.path}-{of}") for of in ("wal", "shm"))
    async with database.transaction() as work:
        await work.run("room.clear")
        before = locked()
        assert {database.path.stat().st_ino, index.stat().st_ino} <= before
        assert log.stat().st_ino not in before
        log.read_bytes()
        assert locked() == before
    assert not database_guard.seen


def test_a_database_that_nobody_holds_may_be_read(tmp_path: Path) -> None:
    file = tmp_path / "memory.db"
    file.write_bytes(b"planted by a test")
    assert file.read_bytes() == b"planted by a test"


@pytest.mark.parametrize("host", ["example.com", "192.0.2.1"])
def test_no_test_reaches_another_machine(host: str) -> None:
    with pytest.raises(NetworkRefusedError):
        socket.create_connection((host, 443), timeout=1)


def test_loopback_may_be_reached() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname(), timeout=1) as client,
    ):
        assert client.fileno() >= 0


@pytest.mark.parametrize("content", [os.urandom(4), os.urandom(200).hex()])
def test_no_content_is_part_of_a_tests_name(content: bytes | str, request: pytest.FixtureRequest) -> None:
    """Two workers gathered a zip two seconds apart, its time was part of a name, and neither ran anything."""
    assert request.node.name.split("[")[1].startswith("content"), content
