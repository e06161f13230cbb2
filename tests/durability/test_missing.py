"""A8: a memory that is gone or empty is never begun anew where anything beside it tells that it lived, backup or none.
A home that is really new, and one whose first wake was killed, wake."""

import asyncio
import os
import shutil
import struct
from pathlib import Path

import pytest

from reveries.config import Home, load_settings
from reveries.daemon.checkup.memory_file import check_file
from reveries.daemon.lifecycle.mind_transfer import import_from_file
from reveries.daemon.process.safe_mode import require_memory
from reveries.db.backups import restore_newest_whole
from reveries.db.connecting import connect_for_writing, open_with_page_sums
from reveries.db.integrity.page_sums import PageSums
from reveries.db.opening import open_database
from reveries.errors import StorageDamagedError, StorageError, UsageError
from tests.durability.damage import remember, wake
from tests.memory.kit import NOW, open_memory, talk

BESIDE = {
    "its log": "memory.db-wal",
    "its seal": "memory.db.seal",
    "the checksums of its pages": "memory.db.pages",
    "its snapshot": "memory.snapshot",
    "a memory that was set aside": "memory.db.replaced-1700000000",
    "a copy that was to take its place": "memory.db.restoring",
    "word of a restoring": "memory.db.restored.json",
    "what was erased from it": "memory.db.forgotten",
    "an erasure under way": "memory.db.erasing",
    "itself, written anew": "memory.db.anew",
}


@pytest.fixture(scope="module")
def remembered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory that was closed, then lived on and was killed: it has a log, and a backup."""
    folder = tmp_path_factory.mktemp("whole")
    asyncio.run(_killed(folder))
    return folder / "killed"


async def _killed(folder: Path) -> None:
    (folder / "closed").mkdir()
    await remember(folder / "closed", exchanges=4)
    async with open_memory(folder / "closed", first_id=600_000) as memory:
        await talk(memory, ("These are the newest words.", "I heard them."))
        # Another process copies it: this one may not open what SQLite holds.
        _copy(folder / "closed", folder / "killed")


def _copy(folder: Path, to: Path) -> None:
    os.system(f"cp -rp {folder} {to}; rm -f {to}/memory.db-shm")


@pytest.fixture
def place(remembered: Path, tmp_path: Path) -> Path:
    """A copy, to be harmed."""
    shutil.copytree(remembered, tmp_path / "m")
    return tmp_path / "m"


def all_of(folder: Path) -> dict[str, bytes]:
    """Every file in it."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


@pytest.mark.requirement("A8")
@pytest.mark.parametrize("is_empty", [False, True], ids=["gone", "empty"])
@pytest.mark.parametrize("beside", BESIDE.values(), ids=BESIDE)
async def test_without_a_backup_what_lies_beside_it_tells_that_it_lived(
    tmp_path: Path, beside: str, is_empty: bool
) -> None:
    memory = tmp_path / "memory.db"
    (tmp_path / beside).write_bytes(b"something")
    if is_empty:
        memory.touch()
    before = all_of(tmp_path)
    for backups in (tmp_path / "backups", None):
        with pytest.raises(StorageDamagedError, match=beside):
            await opened_and_closed(memory, backups)
        assert all_of(tmp_path) == before
    woken = await wake(tmp_path)
    assert woken.turns is None
    assert "no backup of it is intact" in woken.refused
    assert {name: content for name, content in all_of(tmp_path).items() if name != "memory.db.damaged"} == before


@pytest.mark.requirement("A8")
@pytest.mark.parametrize("is_empty", [False, True], ids=["gone", "empty"])
async def test_a_killed_memory_that_is_lost_costs_its_log_nothing(place: Path, is_empty: bool) -> None:
    """SQLite deletes a log that lies beside an empty file, even where it only looks."""
    log = (place / "memory.db-wal").read_bytes()
    assert b"newest words" in log
    (place / "memory.db").unlink()
    if is_empty:
        (place / "memory.db").touch()
    woken = await wake(place)
    assert woken.turns is not None
    assert woken.restored is not None
    [kept] = [content for name, content in all_of(place).items() if ".replaced-" in name and name.endswith("-wal")]
    assert kept == log


@pytest.mark.requirement("A8")
async def test_a_header_with_nothing_in_it_is_no_new_mind_where_one_lived(place: Path) -> None:
    for file in ("memory.db", "memory.db-wal", "memory.db.pages"):
        (place / file).unlink()
    shutil.rmtree(place / "backups")
    connect_for_writing(place / "memory.db").close()
    (place / "memory.db.seal").write_bytes(b"of what was there")
    with pytest.raises(StorageDamagedError, match="it is empty"):
        await opened_and_closed(place / "memory.db", place / "backups")


async def opened_and_closed(memory: Path, backups: Path | None) -> None:
    await (await open_database(memory, backups)).aclose()


@pytest.mark.requirement("A8")
async def test_the_safe_mode_the_doctor_and_an_import_do_not_take_it_for_a_new_home(home: Home, tmp_path: Path) -> None:
    home.create()
    settings, memory = load_settings(None), home.database_default
    memory.touch()
    with pytest.raises(StorageError, match="safe mode creates none"):
        require_memory(memory, home.backups)
    assert check_file(memory, home.backups) == []
    memory.with_name("memory.db-wal").write_bytes(b"the newest words")
    [finding] = check_file(memory, home.backups)
    assert finding.fault == "database-gone"
    memory.unlink()
    [finding] = check_file(memory, home.backups)
    assert finding.fault == "database-gone"
    with pytest.raises(UsageError, match="There is already a mind"):
        await asyncio.to_thread(import_from_file, settings, home, tmp_path / "mind.jsonl", lambda done, total: None)
    assert memory.with_name("memory.db-wal").read_bytes() == b"the newest words"


@pytest.mark.requirement("A8")
async def test_a_disk_that_is_not_mounted_is_no_damage(place: Path) -> None:
    """The memory is a link to another disk: no backup takes the place of the link."""
    (place / "memory.db").unlink()
    (place / "memory.db").symlink_to("/nowhere/memory.db")
    woken = await wake(place)
    assert woken.restored is None
    assert "broken link" in woken.refused
    assert _is_link(place / "memory.db")


def _is_link(file: Path) -> bool:
    return file.is_symlink()


# --- what is new -----------------------------------------------------------------------------------------------------


def _created(file: Path) -> None:
    file.touch()


def _first_page_begun(file: Path) -> None:
    file.touch()
    file.with_name("memory.db-journal").write_bytes(bytes(512))


def _first_page(file: Path) -> None:
    connect_for_writing(file).close()


def _followed(file: Path) -> None:
    open_with_page_sums(file, PageSums(file))


def _log_laid(file: Path) -> None:
    _followed(file)
    file.with_name("memory.db-wal").touch()


def _schema_begun(file: Path) -> None:
    """A transaction that was not committed, so long that some of it is in the log."""
    making = file.with_name("making")
    making.mkdir()
    _followed(making / "memory.db")
    connection = connect_for_writing(making / "memory.db")
    connection.execute("PRAGMA cache_size=1")
    connection.execute("BEGIN")
    connection.execute("CREATE TABLE half (made)")
    connection.executemany("INSERT INTO half VALUES (?)", [("x" * 4000,)] * 50)
    os.system(f"cp -p {making}/memory.db* {file.parent}; rm -f {file}-shm")
    connection.close()
    shutil.rmtree(making)


@pytest.mark.requirement("A2", "A8")
@pytest.mark.parametrize("killed", [_created, _first_page_begun, _first_page, _followed, _log_laid, _schema_begun])
async def test_a_first_wake_that_was_killed_is_done_again(tmp_path: Path, killed: object) -> None:
    assert callable(killed)
    (tmp_path / "backups").mkdir(mode=0o700)
    await asyncio.to_thread(killed, tmp_path / "memory.db")
    woken = await wake(tmp_path)
    assert (woken.refused, woken.turns) == ("", 0)


@pytest.mark.requirement("A8")
async def test_a_home_with_nothing_of_a_memory_in_it_is_new(tmp_path: Path) -> None:
    for file in ("config.toml", "daemon.lock", "daemon.log", "memory.txt", "wakes"):
        (tmp_path / file).write_text("", encoding="utf-8")
    woken = await wake(tmp_path)
    assert (woken.refused, woken.turns) == ("", 0)


@pytest.mark.requirement("A8")
def test_without_a_backup_it_is_said_what_to_move_to_begin_anew(tmp_path: Path) -> None:
    (tmp_path / "memory.db.seal").write_bytes(b"something")
    with pytest.raises(StorageDamagedError) as refused:
        restore_newest_whole(tmp_path / "memory.db", tmp_path / "backups", NOW, "it is not there")
    assert "memory.db.seal" in refused.value.advice


@pytest.mark.requirement("A3", "A8")
async def test_a_memory_whose_very_first_transaction_the_power_broke_off_begins_anew(tmp_path: Path) -> None:
    """Its page was not all written, and its journal says that there was nothing before it."""
    file = tmp_path / "memory.db"
    file.write_bytes(bytes(4096))
    magic, pages_before, sector_bytes, page_bytes = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 0, 512, 4096
    journal = magic + struct.pack(">IIIII", 0, 1, pages_before, sector_bytes, page_bytes)
    file.with_name("memory.db-journal").write_bytes(journal.ljust(sector_bytes, b"\0"))
    database = await open_database(file)
    assert (await database.rows("statistics.counts"))[0]["turns"] == 0
    assert database.notice == ""
    await database.aclose()
