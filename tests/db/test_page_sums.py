"""After a kill too, a page changed by the disk is noticed, and no properly written page is reported."""

import asyncio
import contextlib
import os
import random
import shutil
import subprocess
import sys
import threading
import zlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.db.connecting import open_connection, open_with_page_sums
from reveries.db.database import Database
from reveries.db.driver import dbapi
from reveries.db.integrity.page_sums import PageSums
from reveries.db.integrity.write_ahead_log import is_log_broken_off, log_of, read_pages_in_log
from reveries.db.opening import open_database
from reveries.errors import StorageDamagedError
from tests.durability.damage import flip


async def put(database: Database, numbers: range, size: int = 2000) -> None:
    for number in numbers:
        async with database.transaction() as work:
            values = {"id": f"c{number}", "began_at": 1.0, "source": f"s{number}", "title": "x" * size}
            await work.run("conversations.insert", values)


def killed(database: Database, folder: Path) -> Path:
    """Copy an open memory as a kill would leave it; by another process, because SQLite holds locks in this one."""
    folder.mkdir()
    for file in sorted(database.path.parent.glob("memory.db*")):
        if not file.name.endswith("-shm"):
            os.system(f"cp -p {file} {folder}")  # this process may not open what SQLite holds
    return folder / "memory.db"


async def told_of(file: Path, backups: Path | None = None) -> str:
    """Open and close the memory; return the notice for the owner."""
    async with contextlib.aclosing(await open_database(file, backups, with_vector_search=False)) as opened:
        return opened.notice


@pytest.fixture
async def mind(tmp_path: Path) -> AsyncIterator[Database]:
    database = await open_database(tmp_path / "memory.db", with_vector_search=False)
    try:
        yield database
    finally:
        await database.aclose()


@pytest.mark.requirement("A8")
async def test_a_killed_memory_has_no_changed_page_whenever_it_was_killed(mind: Database, tmp_path: Path) -> None:
    for number in range(12):
        await put(mind, range(17 * number, 17 * number + 17))
        assert PageSums(killed(mind, tmp_path / f"k{number}")).changed() == []


@pytest.mark.requirement("A8")
async def test_every_flipped_bit_of_a_killed_memory_is_in_a_page_that_changed_or_that_the_log_replaces(
    mind: Database, tmp_path: Path
) -> None:
    await put(mind, range(170))
    whole = killed(mind, tmp_path / "k")
    in_log = read_pages_in_log(log_of(whole))
    assert in_log
    for seed in range(60):
        place = tmp_path / f"f{seed}"
        shutil.copytree(whole.parent, place)
        before = whole.read_bytes()
        flip(place / "memory.db", random.Random(seed))
        after = (place / "memory.db").read_bytes()
        [page] = {at // 4096 + 1 for at in range(len(before)) if before[at] != after[at]}
        assert PageSums(place / "memory.db").changed() == ([] if page in in_log else [page])


@pytest.mark.requirement("A8")
async def test_a_killed_memory_that_the_disk_changed_says_so_when_it_is_opened(mind: Database, tmp_path: Path) -> None:
    await put(mind, range(170))
    file = killed(mind, tmp_path / "k")
    in_log, chance = read_pages_in_log(log_of(file)), random.Random(5)
    before = file.read_bytes()
    while not PageSums(file).changed():
        file.write_bytes(before)
        shutil.copystat(mind.path, file)
        flip(file, chance)
    assert in_log
    with contextlib.suppress(StorageDamagedError):
        assert "The disk changed the memory since it was written" in await told_of(file)


@pytest.mark.requirement("A8")
async def test_what_somebody_else_wrote_is_no_damage(mind: Database, tmp_path: Path) -> None:
    await put(mind, range(60))
    file = killed(mind, tmp_path / "k")
    connection = dbapi.connect(str(file), isolation_level=None)
    connection.execute("UPDATE conversations SET title = 'mended by hand'")
    connection.close()
    assert PageSums(file).changed() == []
    assert await told_of(file) == ""
    # From then on they count again.
    times = file.stat()
    flip(file, random.Random(1))
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert len(PageSums(file).changed()) == 1


@pytest.mark.requirement("A8")
async def test_a_memory_without_checksums_gets_them_when_it_is_opened(mind: Database, tmp_path: Path) -> None:
    await put(mind, range(60))
    file = killed(mind, tmp_path / "k")
    file.with_name("memory.db.pages").unlink()
    await told_of(file)
    flip(file, random.Random(2))
    assert len(PageSums(file).changed()) == 1


@pytest.mark.requirement("A8")
async def test_a_log_that_is_damaged_in_its_middle_is_told_of_and_kept(mind: Database, tmp_path: Path) -> None:
    await put(mind, range(30))
    file = killed(mind, tmp_path / "k")
    log = log_of(file)
    raw = bytearray(log.read_bytes())
    raw[len(raw) // 2] ^= 8
    log.write_bytes(raw)
    assert "is damaged in its middle" in await told_of(file)
    [kept] = file.parent.glob("memory.db.replaced-*")
    assert kept.read_bytes() == raw


@pytest.mark.parametrize("beside", [b"", b"x" * 3, b"reveries pages 1", b"\xff" * 5000])
async def test_checksums_that_cannot_be_read_are_none(mind: Database, tmp_path: Path, beside: bytes) -> None:
    file = killed(mind, tmp_path / "k")
    file.with_name("memory.db.pages").write_bytes(beside)
    assert PageSums(file).changed() == []
    assert await told_of(file) == ""


@pytest.mark.requirement("A8")
async def test_a_memory_that_was_written_anew_has_checksums_of_its_new_pages(mind: Database, tmp_path: Path) -> None:
    await put(mind, range(170))
    await mind.scrub()
    await put(mind, range(200, 230))
    file = killed(mind, tmp_path / "k")
    assert PageSums(file).changed() == []
    in_log = read_pages_in_log(log_of(file))
    page = next(page for page in range(2, 40) if page not in in_log)
    times = file.stat()
    with file.open("r+b") as opened:
        opened.seek(4096 * (page - 1) + 5)
        opened.write(b"\x5a\xa5")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert PageSums(file).changed() == [page]


@pytest.mark.requirement("A8")
async def test_what_another_program_writes_while_it_is_awake_is_no_damage(mind: Database, tmp_path: Path) -> None:
    """In a separate process, like the SQLite shell: it writes and checkpoints the log."""
    await put(mind, range(80))  # with a fold: of pages that were never noted nobody can say that they changed
    deed = (
        "from reveries.db.driver import dbapi; c = dbapi.connect(%r, isolation_level=None); "
        "c.execute(\"UPDATE conversations SET title = 'by hand'\"); c.execute('PRAGMA wal_checkpoint'); c.close()"
    )
    await asyncio.to_thread(subprocess.run, [sys.executable, "-c", deed % str(mind.path)], check=True)
    await put(mind, range(100, 200))
    file = killed(mind, tmp_path / "k")
    assert PageSums(file).changed() == []
    assert await told_of(file) == ""


@pytest.mark.requirement("A8")
async def test_a_changed_page_is_told_of_once_and_puts_no_backup_in_the_place_of_a_killed_memory(
    mind: Database, tmp_path: Path
) -> None:
    await put(mind, range(170))
    (tmp_path / "backups").mkdir()
    await mind.backup_to(tmp_path / "backups" / "memory-1.db")
    file = killed(mind, tmp_path / "k")
    _harm(file)
    told = await open_database(file, tmp_path / "backups", with_vector_search=False)
    async with contextlib.aclosing(told):
        assert "The disk changed the memory" in told.notice
        told.clear_pending_notice()
        again = killed(told, tmp_path / "k2")
    assert await told_of(again, tmp_path / "backups") == ""


@pytest.mark.requirement("A8")
@pytest.mark.parametrize("at", [3, 17, 20, 28, 37, 41, 4096, 4100, 4200])
async def test_damage_of_the_checksums_is_no_damage_of_the_memory(mind: Database, tmp_path: Path, at: int) -> None:
    await put(mind, range(170))
    file = killed(mind, tmp_path / "k")
    beside = file.with_name("memory.db.pages")
    raw = bytearray(beside.read_bytes())
    raw[at] ^= 4
    beside.write_bytes(raw)
    assert PageSums(file).changed() == []
    assert await told_of(file) == ""


@pytest.mark.system
@pytest.mark.requirement("A6", "A8")
@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="only /proc tells which locks there are")
async def test_a_file_written_anew_while_somebody_reads_it_keeps_its_locks(mind: Database) -> None:
    await put(mind, range(60))
    async with mind.snapshot() as reader:
        await reader.rows("statistics.counts")
        await mind.scrub()
        assert str(mind.path.stat().st_ino) in _locked()
    await put(mind, range(60, 70))


def _locked() -> set[str]:
    """The files on which anybody has a lock, by their inodes."""
    return {line.split()[5].rpartition(":")[2] for line in Path("/proc/locks").read_text("ascii").splitlines()}


class HeldSums(PageSums):
    """Notes its pages when it is let."""

    def __init__(self, database: Path) -> None:
        super().__init__(database)
        self.is_noting, self.may_note = threading.Event(), threading.Event()
        self.may_note.set()

    def before_fold(self) -> None:
        self.is_noting.set()
        if not self.may_note.wait(30):
            raise TimeoutError
        super().before_fold()


@pytest.mark.requirement("A8")
async def test_two_cancellations_do_not_let_a_commit_go_beside_a_fold(tmp_path: Path) -> None:
    await told_of(tmp_path / "memory.db")
    sums = HeldSums(tmp_path / "memory.db")
    open_with_page_sums(tmp_path / "memory.db", sums)
    sums.is_noting.clear()
    sums.may_note.clear()
    connection = await open_connection(tmp_path / "memory.db", with_vector_search=False)
    mind = Database(connection, tmp_path / "memory.db", sums, has_vector_search=False)
    try:
        task = asyncio.get_running_loop().create_task(put(mind, range(60)), name="put")
        assert await asyncio.to_thread(sums.is_noting.wait, 30)
        for _ in range(2):
            task.cancel()
            await asyncio.sleep(0)
        before = mind.commits
        beside = asyncio.get_running_loop().create_task(put(mind, range(100, 101)), name="beside")
        for _ in range(30):
            await asyncio.to_thread(int)
        assert not task.done(), "nobody holds the lock for the fold"
        assert mind.commits == before
        sums.may_note.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        await beside
        assert mind.commits == before + 1
    finally:
        sums.may_note.set()
        await mind.aclose()


def _harm(file: Path) -> None:
    """Change the end of a page that the log does not replace and that has no text; keep the file's time."""
    in_log, times = read_pages_in_log(log_of(file)), file.stat()
    raw = bytearray(file.read_bytes())
    page = next(page for page in range(len(raw) // 4096, 2, -1) if page not in in_log)
    raw[page * 4096 - 3] ^= 1
    file.write_bytes(raw)
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


# --- the log itself --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Of thirty commits, of one or several frames each."""
    path = tmp_path_factory.mktemp("log") / "a.db"
    _make_empty(path)
    connection = dbapi.connect(str(path), isolation_level=None)
    for statement in ("PRAGMA wal_autocheckpoint=0", "CREATE TABLE t (x)"):
        connection.execute(statement)
    for number in range(30):
        connection.execute("INSERT INTO t VALUES (?)", ("x" * (number * 400),))
    raw = log_of(path).read_bytes()
    connection.close()
    return raw


@pytest.mark.requirement("A8")
@given(at=st.integers(0, 60_000), bit=st.integers(0, 7))
def test_a_log_that_was_changed_in_its_middle_is_broken_off(
    log: bytes, tmp_path_factory: pytest.TempPathFactory, at: int, bit: int
) -> None:
    """Within its first 60 kB: many commits follow."""
    raw = bytearray(log)
    raw[at] ^= 1 << bit
    path = tmp_path_factory.mktemp("log") / "log"
    path.write_bytes(raw)
    # A head that is harmed hides the whole log: then its magic, its pages or its salts are none.
    assert is_log_broken_off(path) or at < 32


@pytest.mark.requirement("A3")
@given(cut=st.integers(0, 400_000))
def test_a_log_that_a_cut_of_the_power_ended_anywhere_is_not_broken_off(
    log: bytes, tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    path = tmp_path_factory.mktemp("log") / "log"
    path.write_bytes(log[:cut])
    assert not is_log_broken_off(path)


@pytest.mark.requirement("A8")
@given(cut=st.integers(0, 400_000), harmed=st.none() | st.integers(0, 400_000))
def test_the_pages_in_a_log_are_those_that_sqlite_writes_to_the_file(
    log: bytes, tmp_path_factory: pytest.TempPathFactory, cut: int, harmed: int | None
) -> None:
    """Wherever the log ends, and wherever it is damaged."""
    raw = bytearray(log[:cut])
    if harmed is not None and harmed < len(raw):
        raw[harmed] ^= 1
    path = tmp_path_factory.mktemp("log") / "a.db"
    _make_empty(path)
    before = _page_crcs(path)
    log_of(path).write_bytes(raw)
    in_log = read_pages_in_log(log_of(path))
    with contextlib.closing(dbapi.connect(str(path), isolation_level=None)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    assert _page_crcs(path) == before | in_log


def test_a_log_that_restarted_has_only_the_pages_since_then(log: bytes, tmp_path: Path) -> None:
    _make_empty(tmp_path / "other.db")
    connection = dbapi.connect(str(tmp_path / "other.db"), isolation_level=None)
    connection.execute("CREATE TABLE other (x)")
    fresh = log_of(tmp_path / "other.db").read_bytes()
    connection.close()
    # As SQLite does it: over the beginning, with what stood there before behind it.
    (tmp_path / "log").write_bytes(fresh + log[len(fresh) :])
    assert 0 < len(read_pages_in_log(tmp_path / "log")) < 4
    assert not is_log_broken_off(tmp_path / "log")


def test_without_a_log_there_are_no_pages_in_it(tmp_path: Path) -> None:
    assert read_pages_in_log(tmp_path / "log") == {}
    assert not is_log_broken_off(tmp_path / "log")


def _make_empty(path: Path) -> None:
    """Create a file of one page in WAL mode; SQLite deletes the log next to an empty one."""
    with contextlib.closing(dbapi.connect(str(path), isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")


def _page_crcs(path: Path) -> dict[int, int]:
    raw = path.read_bytes()
    return {at // 4096 + 1: zlib.crc32(raw[at : at + 4096]) for at in range(0, len(raw), 4096)}


@pytest.mark.requirement("A8")
async def test_pages_that_a_reader_keeps_in_the_log_are_followed_until_they_are_in_the_file(
    mind: Database, tmp_path: Path
) -> None:
    await put(mind, range(1000, 1060), size=10)
    bytes_before = mind.path.stat().st_size
    async with mind.snapshot() as reader:
        await reader.rows("conversations.get", {"id": "c0"})
        await put(mind, range(170))
        assert mind.path.stat().st_size == bytes_before  # While somebody reads what is older, the log stays.
    await put(mind, range(170, 400), size=10)
    whole = killed(mind, tmp_path / "k")
    assert whole.stat().st_size > bytes_before + 170 * 2000
    assert PageSums(whole).changed() == []
    in_log = read_pages_in_log(log_of(whole))
    behind = range(bytes_before // 4096 + 1, whole.stat().st_size // 4096 + 1)
    followed = [page for page in behind if page not in in_log]
    assert len(followed) > 50
    for page in followed:
        times, raw = whole.stat(), bytearray(whole.read_bytes())
        raw[page * 4096 - 3] ^= 1
        whole.write_bytes(raw)
        os.utime(whole, ns=(times.st_atime_ns, times.st_mtime_ns))
        assert PageSums(whole).changed() == [page]
        raw[page * 4096 - 3] ^= 1
        whole.write_bytes(raw)
        os.utime(whole, ns=(times.st_atime_ns, times.st_mtime_ns))
