"""Real faults of a real disk: a file system that is full, one that is read-only, a sync that fails (A4, A5)."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from reveries import protocol
from reveries.config import Home
from reveries.db.opening import open_database
from reveries.errors import HomeError
from tests.durability.checks import violations
from tests.durability.ledger import Acknowledged
from tests.durability.mind import Company, client_of, prepare, start, until_it_listens
from tests.e2e.living import Client
from tests.fakes.lateness import lateness
from tests.fakes.provider import Provider, provider

pytestmark = pytest.mark.system

TOLD_WITHIN_SECONDS = 2.0

WRITER = """
    import asyncio, sys
    from pathlib import Path
    from reveries.db.opening import open_database
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
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"mode=700,{options}", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
        folder.rmdir()


def write(path: Path, *, count: int, length: int, under: tuple[str, ...] = ()) -> list[str]:
    """The lines of a process that stores `count` rows of `length` characters, one transaction each."""
    command = [*under, sys.executable, "-c", textwrap.dedent(WRITER), str(path), str(count), str(length)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
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


@pytest.mark.requirement("A5")
async def test_a_fold_that_finds_no_room_takes_nothing_back() -> None:
    """What was committed before it is stored, and told to be."""
    with mounted("size=4m") as folder:
        database = await open_database(folder / "memory.db")
        try:
            stored = 0
            while not database.room.is_full:
                if stored == 45:
                    leave_free(folder, 100_000)
                async with database.transaction() as work:
                    values = {"id": f"n{stored}", "began_at": 1.0, "source": f"n{stored}", "title": "x" * 3000}
                    await work.run("conversations.insert", values)
                stored += 1
            assert 45 < stored <= 50
        finally:
            await database.aclose()
        grow(folder, "16m")
        assert rows_in(folder / "memory.db") == stored


def grow(folder: Path, size: str) -> None:
    """Room, as when somebody tidies up."""
    subprocess.run(["mount", "-o", f"remount,size={size}", folder], check=True)


def leave_free(folder: Path, size: int) -> None:
    """Fill the file system of `folder` up to that many bytes."""
    found = os.statvfs(folder)
    with (folder / "filler").open("wb", buffering=0) as file, contextlib.suppress(OSError):  # Others write, too.
        while file.write(b"x" * min(2**20, max(0, found.f_bavail * found.f_frsize - size - file.tell()))):
            pass


TALKS = """
[storage]
warn_below_free_megabytes = 0
rest_below_free_megabytes = 0
"""


@pytest.mark.requirement("A5", "H3")
async def test_a_mind_on_a_full_disk_says_so_spends_nothing_and_goes_on_by_itself(tmp_path: Path) -> None:
    """Told within 2 s; 0 calls of a model and 0 acknowledgements while it lasts; back within 10 s of room."""
    with mounted("size=48m") as folder:
        home, ledger = Home(folder / "h"), Acknowledged(tmp_path / "ledger.jsonl")
        async with provider() as asked:
            prepare(home, asked)
            home.config.write_text(home.config.read_text(encoding="utf-8") + TALKS, encoding="utf-8")
            process = start([sys.executable, "-m", "reveries.daemon"], home)
            try:
                await until_it_listens(home, lambda: process.poll() is not None)
                company = Company(home, ledger, "before")
                async with client_of(home) as client, client_of(home) as watcher:
                    watcher.send(protocol.Attach(watcher.number()))
                    await watcher.next_of(protocol.Attached)
                    for number in range(5):
                        await company.say(client, f"before.{number}: I planted a tree.")
                    await _fill_and_look(folder, watcher, client, asked)
                    grow(folder, "96m")
                    began = time.monotonic()
                    while (await watcher.next_of(protocol.Trouble, 10)).problems:
                        pass
                    await company.say(client, "after.0: I found it again.")
                    assert time.monotonic() - began < 10
                    assert company.failures == []
                process.send_signal(signal.SIGTERM)
                assert await asyncio.to_thread(process.wait, 20) == 0
            finally:
                process.kill()
                process.wait(timeout=300)
        assert ledger.count >= 12
        assert violations(home.database_default, ledger) == []
        ledger.close()


@pytest.mark.requirement("A5", "H3")
@pytest.mark.parametrize("how_it_ended", [signal.SIGTERM, signal.SIGKILL])
async def test_a_mind_wakes_on_a_disk_that_is_full_says_so_and_goes_on_by_itself(
    tmp_path: Path, how_it_ended: signal.Signals
) -> None:
    with mounted("size=48m") as folder:
        home, ledger = Home(folder / "h"), Acknowledged(tmp_path / "ledger.jsonl")
        async with provider() as asked:
            prepare(home, asked)
            home.config.write_text(home.config.read_text(encoding="utf-8") + TALKS, encoding="utf-8")
            company = Company(home, ledger, "before")
            async with _awake(home) as process, client_of(home) as client:
                for number in range(3):
                    await company.say(client, f"before.{number}: I planted a tree.")
                process.send_signal(how_it_ended)
                await asyncio.to_thread(process.wait, 20)
            leave_free(folder, 0)
            async with _awake(home) as process, client_of(home) as client:
                client.send(protocol.Attach(client.number()))
                attached = await client.next_of(protocol.Attached, 5)
                assert len(attached.turns) == 6
                status = await client.status()
                if status.health == "ok":
                    await _told_in_time(client)
                    status = await client.status()
                assert "The disk is full" in status.problems[0]
                before = _calls(asked)  # Until it was noticed there was room for one, which was put by.
                client.send(protocol.Say(client.number(), "meanwhile.1: are you there?"))
                assert (await client.next_of(protocol.Failed, 5)).code == "disk_full"
                assert _calls(asked) == before
                grow(folder, "96m")
                while (await client.next_of(protocol.Trouble, 10)).problems:
                    pass
                await company.say(client, "after.0: I found it again.")
                process.send_signal(signal.SIGTERM)
                assert await asyncio.to_thread(process.wait, 20) == 0
            assert company.failures == []
        assert violations(home.database_default, ledger) == []
        ledger.close()


@contextlib.asynccontextmanager
async def _awake(home: Home) -> AsyncIterator["subprocess.Popen[bytes]"]:
    """A daemon, from when it listens; ended in any case."""
    home.socket.unlink(missing_ok=True)
    process = start([sys.executable, "-m", "reveries.daemon"], home)
    try:
        await until_it_listens(home, lambda: process.poll() is not None)
        yield process
    finally:
        process.kill()
        process.wait(timeout=300)


async def _fill_and_look(folder: Path, watcher: Client, client: Client, asked: Provider) -> None:
    leave_free(folder, 0)
    told = await _told_in_time(watcher)
    assert "The disk is full" in told.problems[0]
    await asyncio.sleep(0.5)  # A call that was under way may end.
    before = _calls(asked)
    for number in range(10):
        client.send(protocol.Say(client.number(), f"meanwhile.{number}: are you there?"))
        failed = await client.next_of(protocol.Failed, 5)
        assert failed.code == "disk_full"
        client.send(protocol.NudgeThinking(client.number(), "the tree"))
        assert (await client.next_of(protocol.Failed, 5)).code == "disk_full"
        await asyncio.sleep(0.3)
    assert _calls(asked) == before
    assert (await client.status()).health == "degraded"


async def _told_in_time(client: Client) -> protocol.Trouble:
    """Within two seconds, and what this machine itself is late."""
    began = time.monotonic()
    async with lateness() as late:
        told = await client.next_of(protocol.Trouble)
    assert time.monotonic() - began <= TOLD_WITHIN_SECONDS + late.allowance_seconds
    return told


def _calls(asked: Provider) -> int:
    return len([one for one in asked.requests if one.is_generation or one.path.endswith(("/embed", "/embeddings"))])


@pytest.mark.requirement("A5")
def test_a_quota_that_a_commit_meets_is_a_full_disk_not_a_broken_one(home: Home) -> None:
    home.create()
    path = home.path / "memory.db"
    write(path, count=0, length=0)
    inject = ("strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=pwrite64", "-e")
    told = write(path, count=40, length=3000, under=(*inject, "inject=pwrite64:error=EDQUOT:when=8+"))
    acknowledged = sum(line.startswith("stored") for line in told)
    assert told[-1] == "failed disk_full 74"
    assert acknowledged == len(told) - 1 < 40
    assert rows_in(path) == acknowledged
    assert not path.with_name("memory.db.tried").exists()


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
    return int(subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout)
