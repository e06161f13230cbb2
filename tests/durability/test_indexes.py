"""A8: a damaged index costs nothing that was said, and what only an index still knows of is not given up for it."""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from reveries.db.driver import dbapi
from reveries.db.integrity.index_repair import are_only_indexes_damaged
from reveries.db.integrity.seals import unseal
from reveries.db.integrity.suspected_damage import (
    add_pending_notice,
    clear_pending_notice,
    damage_note_path,
    note_damage,
    read_pending_notice,
    remove_pending_notice,
)
from reveries.db.opening import _run_to_completion, open_database
from reveries.errors import StorageError
from tests.durability.damage import content, wake
from tests.memory.kit import open_memory, talk

PAGE_BYTES = 4096
MENDED = "An index in the memory was damaged, and was rebuilt"


def page_of(file: Path, index: str) -> int:
    """The first page of it: all of it, where few rows are in it."""
    with contextlib.closing(dbapi.connect(f"{file.as_uri()}?immutable=1", uri=True)) as connection:
        return int(connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (index,)).fetchone()[0])


def put(file: Path, page: int, raw: bytes, at: int = 0) -> None:
    """As a disk does it: no time of the file changes."""
    times = file.stat()
    with file.open("r+b") as opened:
        opened.seek((page - 1) * PAGE_BYTES + at)
        opened.write(raw)
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


def lose_entry(file: Path, index: str) -> None:
    """A disk changes a byte: the page of the index has one entry less."""
    page = page_of(file, index)
    count = int.from_bytes(pages(file)[page - 1][3:5], "big")
    put(file, page, (count - 1).to_bytes(2, "big"), 3)


def pages(file: Path) -> list[bytes]:
    raw = file.read_bytes()
    return [raw[at : at + PAGE_BYTES] for at in range(0, len(raw), PAGE_BYTES)]


def kept_in(place: Path) -> list[Path]:
    return list(place.glob("memory.db.replaced-*"))


def is_right(file: Path) -> bool:
    with contextlib.closing(dbapi.connect(str(file))) as connection:
        astray = connection.execute("PRAGMA foreign_key_check").fetchall()
        return not astray and connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def page_of_last_turn(file: Path, written: bytes) -> int:
    """Of the table: the index has its id as well."""
    leaves = [number for number, raw in enumerate(pages(file), 1) if raw[0] == 13 and b"I see." in raw]
    [found] = [page for page in leaves if written in pages(file)[page - 1]]
    return found


def lose_power(file: Path) -> None:
    """Nothing that tells what the pages should be counts after it; a read met damage since."""
    unseal(file)
    file.with_name("memory.db.pages").unlink()
    note_damage(file, "a page could not be read")


@pytest.mark.requirement("A8")
async def test_an_index_that_a_disk_harmed_is_made_anew_and_nothing_that_was_said_is_lost(place: Path) -> None:
    file = place / "memory.db"
    before = content(file)
    lose_entry(file, "sqlite_autoindex_turns_1")
    lose_power(file)
    harmed = file.read_bytes()
    woken = await wake(place)
    assert (woken.turns, woken.restored) == (42, None)
    assert woken.told.startswith(MENDED)
    assert content(file) == before
    assert is_right(file)
    [kept] = kept_in(place)
    assert kept.read_bytes() == harmed
    assert str(kept) in woken.told


@pytest.mark.requirement("A8")
@pytest.mark.parametrize("is_sealed", [True, False], ids=["sealed", "checksums of pages alone"])
async def test_where_a_disk_changed_more_than_an_index_the_backup_that_has_all_takes_the_place(
    place: Path, is_sealed: bool
) -> None:
    """An index made anew over it would bless the rest."""
    file = place / "memory.db"
    [backup] = (place / "backups").glob("*.db")
    shutil.copyfile(file, backup)
    unseal(backup)
    before = content(file)
    lose_entry(file, "sqlite_autoindex_turns_1")
    at = file.read_bytes().index(b"the old piano in Lisbon")
    put(file, at // PAGE_BYTES + 1, b"T", at % PAGE_BYTES)
    if not is_sealed:
        unseal(file)
    woken = await wake(place)
    assert woken.restored is not None
    assert content(file) == before


@pytest.mark.requirement("A8")
async def test_whichever_page_a_power_cut_loses_no_row_is_lost_without_a_word(place: Path, tmp_path: Path) -> None:
    """Each page that the last exchange changed is put back as it was before it, one at a time."""
    file = place / "memory.db"
    before = pages(file)
    async with open_memory(place, first_id=700_000) as memory:
        await talk(memory, ("This is said last of all.", "I heard it."))
    whole, after = content(file), pages(file)
    seen = dict[int, bool]()
    for page in (page for page in range(1, len(before) + 1) if before[page - 1] != after[page - 1]):
        harmed = tmp_path / f"p{page}"
        shutil.copytree(place, harmed)
        put(harmed / "memory.db", page, before[page - 1])
        is_changed = content(harmed / "memory.db") != whole
        lose_power(harmed / "memory.db")
        woken = await wake(harmed)
        seen[page] = woken.restored is not None
        assert seen[page] or not is_changed or woken.told, page
        assert is_right(harmed / "memory.db"), page
    [[turn]] = rows(file, "SELECT id FROM turns WHERE text = 'This is said last of all.'")
    [leaf] = [page for page in seen if after[page - 1][0] == 13 and f"{turn}".encode() in after[page - 1]]
    assert seen[leaf]
    assert False in seen.values()


@pytest.mark.requirement("A8")
async def test_a_bit_in_what_an_index_is_made_of_does_not_win_over_the_index(place: Path) -> None:
    """Which of the two is right nobody can say: the index is the last that knows another value."""
    file = place / "memory.db"
    [[of_turn]] = rows(file, "SELECT id FROM turns ORDER BY rowid DESC LIMIT 1")
    written = str(of_turn).encode()
    [page] = [
        number for number, raw in enumerate(pages(file), 1) if raw[0] == 13 and b"I see." in raw and written in raw
    ]
    at = pages(file)[page - 1].index(written)
    put(file, page, bytes([written[-1] ^ 1]), at + len(written) - 1)
    lose_power(file)
    woken = await wake(place)
    assert woken.restored is not None
    assert woken.turns == 40


@pytest.mark.requirement("A8")
@pytest.mark.parametrize("is_in_index", [True, False], ids=["in the index", "in the table"])
async def test_a_bit_that_only_one_of_the_two_has_is_a_case_for_the_backup(place: Path, is_in_index: bool) -> None:
    """The same bit of a turn's id: which of the two a disk changed nobody can say."""
    file = place / "memory.db"
    [[of_turn]] = rows(file, "SELECT id FROM turns ORDER BY rowid DESC LIMIT 1")
    written = str(of_turn).encode()
    index = page_of(file, "sqlite_autoindex_turns_1")
    page = index if is_in_index else page_of_last_turn(file, written)
    at = pages(file)[page - 1].index(written)
    put(file, page, bytes([written[-1] ^ 1]), at + len(written) - 1)
    woken = await wake(place)
    assert woken.turns == 40
    assert woken.restored is not None


@pytest.mark.requirement("A8")
async def test_what_only_an_index_knows_is_not_given_up_where_there_is_nothing_to_go_back_to(place: Path) -> None:
    """Nothing is changed: whoever can read it may still find it."""
    file = place / "memory.db"
    shutil.rmtree(place / "backups")
    behind(file, "vectors_by_model", _ANOTHER_MODEL)
    lose_power(file)
    harmed = file.read_bytes()
    for _ in range(2):
        assert "no backup of it is intact" in (await wake(place)).refused
    assert file.read_bytes() == harmed


@pytest.mark.requirement("A8")
async def test_of_many_harms_one_copy_is_kept_and_of_one_that_is_not_mended_none(place: Path) -> None:
    file = place / "memory.db"
    earlier = [file.with_name(f"memory.db.replaced-{time}.harmed{end}") for time in (1, 2) for end in ("", "-wal")]
    for one in earlier:
        one.write_text("of an earlier day")
    put(file, page_of(file, "sqlite_autoindex_turns_1"), bytes(PAGE_BYTES))
    lose_power(file)
    assert (await wake(place)).restored is not None
    assert all(one.exists() for one in earlier)
    assert not [one for one in kept_in(place) if ".harmed" in one.name and one not in earlier]
    lose_entry(file, "sqlite_autoindex_turns_1")
    lose_power(file)
    assert (await wake(place)).told.startswith(MENDED)
    assert not [one for one in earlier if one.exists()]
    assert len([one for one in kept_in(place) if ".harmed" in one.name]) == 1


@pytest.mark.requirement("A8")
async def test_what_a_disk_changed_is_not_forgotten_where_it_cannot_be_noted(place: Path) -> None:
    file = place / "memory.db"
    at = file.read_bytes().index(b"the old piano in Lisbon")
    put(file, at // PAGE_BYTES + 1, b"T", at % PAGE_BYTES)
    note = file.with_name("memory.db.damaged.partial")
    note.mkdir()
    with pytest.raises(StorageError):
        await open_database(file, place / "backups")
    note.rmdir()
    assert (await wake(place)).told.startswith("The disk changed the memory")


@pytest.mark.requirement("A8", "B1")
async def test_who_is_told_to_end_while_the_file_is_looked_at_lets_nobody_in_before_that_ends() -> None:
    is_looking, may_go_on = threading.Event(), threading.Event()

    def look() -> str:
        is_looking.set()
        may_go_on.wait(30)
        return ""

    async with asyncio.TaskGroup() as tasks:
        opening = tasks.create_task(_run_to_completion(look), name="opening")
        assert await asyncio.to_thread(is_looking.wait, 30)
        for _ in range(2):
            opening.cancel()
            await asyncio.wait([opening], timeout=0.1)
        assert not opening.done()
        may_go_on.set()
        await asyncio.wait([opening])
    assert opening.cancelled()


def rows(file: Path, statement: str) -> list[tuple[object, ...]]:
    with contextlib.closing(dbapi.connect(f"{file.as_uri()}?immutable=1", uri=True)) as connection:
        return connection.execute(statement).fetchall()


def behind(file: Path, index: str, *deeds: str) -> None:
    """What is done while SQLite does not know of the index."""
    row = f"SELECT * FROM sqlite_schema WHERE name = '{index}'"
    for statements in (
        (f"CREATE TABLE kept AS {row}", f"DELETE FROM sqlite_schema WHERE name = '{index}'"),
        deeds,
        ("INSERT INTO sqlite_schema SELECT * FROM kept", "DROP TABLE kept"),
    ):
        with contextlib.closing(dbapi.connect(str(file), isolation_level=None)) as connection:  # Each reads it anew.
            connection.execute("PRAGMA writable_schema=ON")
            for statement in statements:
                connection.execute(statement)


ROWS = {
    "of a table": ("raw_experiences_by_conversation", "raw_experiences", "conversation_id = NULL"),
    "of a table without row numbers": ("vectors_by_model", "vectors", "model_id = 'another'"),
    "of a part": ("usage_ledger_open", "usage_ledger", "outcome = 'settled'"),
}
_ANOTHER_MODEL = "UPDATE vectors SET model_id = 'another' WHERE owner_id = (SELECT min(owner_id) FROM vectors)"
_CALL = (
    "INSERT INTO usage_ledger (reserved_at, role, model, reserved_tokens, reserved_microdollars, price_version) "
    "VALUES (1.0, 'thought', 'm', 1, 1, 'p')"
)


@pytest.mark.requirement("A8")
@pytest.mark.parametrize(("index", "table", "change"), ROWS.values(), ids=ROWS)
def test_what_only_an_index_has_is_seen(place: Path, index: str, table: str, change: str) -> None:
    file = place / "memory.db"
    behind(file, "nothing", _CALL)
    assert are_only_indexes_damaged(file)
    [[key]] = rows(file, f"SELECT min({'owner_id' if table == 'vectors' else 'rowid'}) FROM {table}")
    where = f"{'owner_id' if table == 'vectors' else 'rowid'} = '{key}'"
    behind(file, index, f"UPDATE {table} SET {change} WHERE {where}")
    assert not are_only_indexes_damaged(file)


@pytest.mark.requirement("A8")
async def test_a_row_that_an_index_lacks_is_the_damage_of_the_index(place: Path) -> None:
    file = place / "memory.db"
    behind(file, "usage_ledger_by_time", _CALL)
    note_damage(file, "a page could not be read")
    woken = await wake(place)
    assert (woken.turns, woken.restored) == (42, None)
    assert woken.told.startswith(MENDED)
    assert is_right(file)


@pytest.mark.requirement("A8")
@pytest.mark.parametrize("was_seen", [True, False])
async def test_where_damage_was_seen_while_awake_the_next_wake_looks_deeper(place: Path, was_seen: bool) -> None:
    """At what the quick look of every wake passes over: an index that tells of a row as it is not."""
    file = place / "memory.db"
    behind(file, "vectors_by_model", _ANOTHER_MODEL)
    if was_seen:
        note_damage(file, "a page could not be read")
    woken = await wake(place)
    assert (woken.restored is not None) is was_seen
    assert woken.turns == (40 if was_seen else 42)


@pytest.mark.requirement("A8")
async def test_an_index_that_cannot_be_cleared_is_a_case_for_the_backup_and_no_second_copy_is_kept(place: Path) -> None:
    file = place / "memory.db"
    put(file, page_of(file, "sqlite_autoindex_turns_1"), bytes(PAGE_BYTES))
    lose_power(file)
    woken = await wake(place)
    assert woken.turns == 40
    assert woken.restored is not None
    assert [str(one) for one in kept_in(place)] == [woken.restored.kept]


@pytest.mark.requirement("A8")
async def test_a_text_that_was_told_as_changed_before_is_no_reason_against_an_index_made_anew(place: Path) -> None:
    """It is in use for want of better: a backup in its place would cost words and cure nothing."""
    file = place / "memory.db"
    behind(file, "usage_ledger_by_time", _CALL, "UPDATE turns SET text = 'Never said.' WHERE rowid = 3")
    note_damage(file, "a page could not be read")
    woken = await wake(place)
    assert (woken.turns, woken.restored) == (42, None)
    assert woken.told.startswith(MENDED)


@pytest.mark.requirement("A8")
async def test_an_index_is_not_made_anew_where_a_row_refers_to_what_is_not_there(place: Path) -> None:
    file = place / "memory.db"
    behind(file, "usage_ledger_by_time", _CALL, "DELETE FROM conversations")
    note_damage(file, "a page could not be read")
    woken = await wake(place)
    assert woken.restored is not None
    assert not [name for name in woken.files if name.endswith(".harmed")]


@pytest.mark.requirement("A8")
@pytest.mark.parametrize("is_an_index", [True, False], ids=["an index made anew", "a text that changed"])
async def test_what_a_killed_wake_found_is_told_by_the_next_that_comes_so_far(place: Path, is_an_index: bool) -> None:
    """It is killed where it has seen to what it found: nothing on the disk would say it again."""
    file = place / "memory.db"
    if is_an_index:
        lose_entry(file, "sqlite_autoindex_turns_1")
        lose_power(file)
    else:
        at = file.read_bytes().index(b"the old piano in Lisbon")
        put(file, at // PAGE_BYTES + 1, b"T", at % PAGE_BYTES)
    expected = MENDED if is_an_index else "The disk changed the memory"
    assert _opened_and_killed(place) == -signal.SIGKILL
    assert not file.with_name("memory.db.seal").exists()
    for _ in range(2):  # One that is opened and closed, and tells nobody, leaves it to the next as well.
        database = await open_database(file, place / "backups")
        await database.aclose()
        assert database.notice.startswith(expected)
        assert database.notice.count(expected) == 1
    database = await open_database(file, place / "backups")
    database.clear_pending_notice()
    await database.aclose()
    assert not damage_note_path(file).exists()
    assert (await wake(place)).told == ""


def _opened_and_killed(place: Path) -> int:
    """How a process ended that was killed when its memory was open, and before anybody was told."""
    program = f"""
import asyncio, os, signal
from pathlib import Path
from reveries.db.opening import _run_to_completion, open_database
async def life():
    await open_database(Path({str(place / "memory.db")!r}), Path({str(place / "backups")!r}))
    os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(life())
"""
    return subprocess.run([sys.executable, "-c", program], timeout=300, check=False).returncode


@pytest.mark.requirement("A8")
def test_what_is_untold_stays_when_more_is_seen(tmp_path: Path) -> None:
    (tmp_path / "memory.db.damaged").write_text("what an earlier version wrote")
    file = tmp_path / "memory.db"
    assert read_pending_notice(file) == ""
    add_pending_notice(file, "A page is gone.")
    add_pending_notice(file, "A page is gone.")
    note_damage(file, "a read met it")
    add_pending_notice(file, "So is another.")
    assert read_pending_notice(file) == "A page is gone. So is another."
    add_pending_notice(file, "It was mended.")
    remove_pending_notice(file, "It was mended.")
    assert read_pending_notice(file) == "A page is gone. So is another."
    clear_pending_notice(file)
    assert damage_note_path(file).exists()
    assert read_pending_notice(file) == ""
