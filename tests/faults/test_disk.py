"""Real faults of a real disk: a file system that is full, one that is read-only, a sync that fails (A4, A5)."""

import contextlib
import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from reveries.config import Home
from reveries.errors import HomeError

pytestmark = pytest.mark.system

WRITER = """
    import asyncio, sys
    from pathlib import Path
    from reveries.db.database import open_database
    from reveries.errors import ReveriesError

    async def main(path, count, length):
        try:
            database = await open_database(Path(path))
            try:
                for number in range(count):
                    async with database.transaction() as work:
                        values = {"id": f"n{number}", "began_at": 1.0, "source": f"n{number}", "title": "x" * length}
                        await work.run("conversations.insert", values)
                    print("stored", number, flush=True)
            finally:
                await database.aclose()
        except ReveriesError as error:
            print("failed", error.code, error.exit_code, flush=True)

    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
"""


@contextlib.contextmanager
def mounted(options: str) -> Iterator[Path]:
    """A file system of its own in memory."""
    assert os.geteuid() == 0, "These tests mount file systems: run them as root."
    # Short, for a socket's path must fit.
    folder = Path(tempfile.mkdtemp(prefix="rv"))
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
        folder.rmdir()


def write(path: Path, *, count: int, length: int, under: tuple[str, ...] = ()) -> list[str]:
    """The lines of a process that stores `count` rows of `length` characters, one transaction each."""
    command = [*under, sys.executable, "-c", textwrap.dedent(WRITER), str(path), str(count), str(length)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    return done.stdout.splitlines()


@pytest.mark.requirement("A5")
def test_a_full_file_system_is_said_and_costs_nothing_that_was_stored() -> None:
    with mounted("size=2m") as folder:
        told = write(folder / "memory.db", count=200, length=20_000)
        stored = sum(line.startswith("stored") for line in told)
        assert told[-1] == "failed disk_full 74"
        assert 10 < stored < 200
        subprocess.run(["mount", "-o", "remount,size=16m", folder], check=True)
        again = write(folder / "memory.db", count=0, length=0)
        assert again == []
        assert rows_in(folder / "memory.db") == stored


@pytest.mark.requirement("A4")
@pytest.mark.parametrize("call", ["fsync,fdatasync", "pwrite64"])
@pytest.mark.parametrize("when", [1, 3, 8, 30])
def test_nothing_is_acknowledged_after_a_write_or_sync_that_failed(home: Home, call: str, when: int) -> None:
    """The N-th call fails, and every later one: while it opens, or while it stores."""
    home.create()
    path = home.path / "memory.db"
    write(path, count=0, length=0)
    inject = ("strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e")
    told = write(path, count=40, length=3000, under=(*inject, f"inject={call}:error=EIO:when={when}+"))
    acknowledged = sum(line.startswith("stored") for line in told)
    assert acknowledged == len(told) - 1 < 40
    assert told[-1] == "failed storage_lost 74" or (not acknowledged and told == ["failed storage 74"])
    # The row whose commit failed may be there or not: it was never acknowledged. No other may be missing or extra.
    assert acknowledged <= rows_in(path) <= acknowledged + 1


def test_a_home_on_a_read_only_file_system_is_refused() -> None:
    with mounted("ro,size=1m") as folder:
        with pytest.raises(HomeError, match="Read-only file system") as refused:
            Home(folder / "h").create()
        assert str(folder / "h") in refused.value.message
    with mounted("size=1m") as folder:
        Home(folder / "h").create()
        subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
        with pytest.raises(HomeError):
            Home(folder / "h").create()


def rows_in(path: Path) -> int:
    """How many rows are stored, in a process of its own; the file must be whole."""
    program = """
        import sys
        from reveries.db.driver import dbapi
        connection = dbapi.connect(sys.argv[1])
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        print(connection.execute("SELECT count(*) FROM conversations").fetchone()[0])
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(path)]
    return int(subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout)
