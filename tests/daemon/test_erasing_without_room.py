"""Erasing without disk space for another backup: the old ones are deleted anyway, and the receipt says so."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from reveries import protocol
from reveries.config import Home, Settings, load_settings
from reveries.daemon.forgetting import NO_BACKUP, forget, scrub_after_restore
from reveries.db.driver import dbapi
from reveries.errors import NotFoundError, StorageError
from reveries.memory.forgetting.tombstones import FILE_ONLY, read_marker, write_marker
from tests.daemon.mind_kit import NOON, Living, living
from tests.fakes.patient_clock import PatientClock
from tests.fakes.scripted import ScriptedModel

SETTINGS = load_settings(None)
WORD = "zqvorblax"
ERASE = protocol.Forget(1, matching=WORD, erase=True, dry_run=False)


def without_room() -> Settings:
    """More than any disk has, so that no backup is created."""
    return msgspec.structs.replace(
        SETTINGS, storage=msgspec.structs.replace(SETTINGS.storage, rest_below_free_megabytes=10**9)
    )


_READER = """
import sqlite3, sys
look = sqlite3.connect(sys.argv[1], isolation_level=None)
if len(sys.argv) > 2:
    look.execute("BEGIN")
look.execute("SELECT count(*) FROM turns").fetchall()
print("reads", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def somebody_reads(database: Path, *, on_and_on: bool = False) -> Iterator[None]:
    """Another process does. Then the file is written anew in its place, and no backup is made in passing; and where it
    reads `on_and_on`, what was in the file before stays in it for that one."""
    pipe, words = subprocess.PIPE, [str(database), *(["on"] if on_and_on else [])]
    with subprocess.Popen([sys.executable, "-c", _READER, *words], stdin=pipe, stdout=pipe) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == b"reads\n"
        try:
            yield
        finally:
            reader.communicate(timeout=300)


async def said_and_copied(life: Living, home: Home) -> None:
    await life.say(f"The lock opens with {WORD}.")
    await life.mind.sleep.light_sleep()
    await life.mind.backups.back_up()
    for name in ("memory.db.importing", "memory.db.importing-wal", "memory.db.restoring", "memory.db.replaced-1"):
        home.database_default.with_name(name).write_text(f"a copy with {WORD}")


def is_in(file: Path) -> bool:
    """Read in another process, because opening the file in this one would drop the locks of SQLite."""
    return subprocess.run(["grep", "-qaF", WORD, file], check=False).returncode == 0


def copies_with(home: Home) -> list[str]:
    found = [*home.backups.iterdir(), *(one for one in home.path.glob("memory.db*") if one.is_file())]
    return [file.name for file in found if WORD.encode() in file.read_bytes()]


@pytest.mark.requirement("F10", "A9")
async def test_without_room_for_a_backup_the_old_ones_go_and_the_receipt_says_that_there_is_none(home: Home) -> None:
    async with living(home, ScriptedModel(otherwise="I see."), PatientClock(NOON), SETTINGS) as life:
        await said_and_copied(life, home)
        life.mind.in_force.current = without_room()
        with somebody_reads(home.database_default):
            receipt = await forget(life.mind, ERASE, lambda what, done, total: None)
        assert receipt.receipt_id
        [note] = [note for note in receipt.notes if note.startswith(NO_BACKUP)]
        assert "No backup was made" in note
        assert not [note for note in receipt.notes if "replaced by one new backup" in note]
        assert list(home.backups.iterdir()) == []
        assert not life.mind.memory.forgetting.marker.exists()
        assert any("No backup was made" in problem for problem in life.mind.health.problems())
    assert copies_with(home) == []


@pytest.mark.requirement("F10", "A9")
async def test_where_the_old_backups_took_the_room_the_new_one_is_made_after_them(home: Home) -> None:
    async with living(home, ScriptedModel(otherwise="I see."), PatientClock(NOON), SETTINGS) as life:
        await said_and_copied(life, home)
        with somebody_reads(home.database_default):
            receipt = await forget(life.mind, ERASE, lambda what, done, total: None)
        assert [note for note in receipt.notes if "replaced by one new backup" in note]
        assert len([file for file in home.backups.iterdir() if file.suffix == ".db"]) == 1
    assert copies_with(home) == []


@pytest.mark.system
@pytest.mark.requirement("F10")
async def test_what_stays_in_the_file_because_somebody_reads_it_is_told_and_goes_with_the_next_wake(home: Home) -> None:
    async with living(home, ScriptedModel(otherwise="I see."), PatientClock(NOON), SETTINGS) as life:
        await said_and_copied(life, home)
        await life.mind.database.scrub()  # So that the words are in the file, not in its write-ahead log.
        marker = life.mind.memory.forgetting.marker
        with somebody_reads(home.database_default, on_and_on=True):
            receipt = await forget(life.mind, ERASE, lambda what, done, total: None)
            assert [note for note in receipt.notes if "another program is reading the file" in note]
            assert marker.exists()
            assert any("traces of it" in problem for problem in life.mind.health.problems())
            made = sorted(file.name for file in home.backups.iterdir())
            assert is_in(home.database_default)
    async with living(home, ScriptedModel(otherwise="I see."), PatientClock(NOON), SETTINGS) as life:
        await scrub_after_restore(life.mind)
        assert not marker.exists()
        assert not any("traces of it" in problem for problem in life.mind.health.problems())
        assert sorted(file.name for file in home.backups.iterdir()) == made, "backups without it go for nothing"
    assert copies_with(home) == []


@pytest.mark.requirement("F10", "A9")
async def test_where_the_file_alone_was_left_an_erasure_that_comes_to_nothing_takes_no_backup(home: Home) -> None:
    async with living(home, ScriptedModel(otherwise="I see."), PatientClock(NOON), SETTINGS) as life:
        await life.say("The pear tree is old.")
        await life.mind.backups.back_up()
        kept, marker = sorted(home.backups.iterdir()), life.mind.memory.forgetting.marker
        write_marker(marker, FILE_ONLY)
        with pytest.raises(NotFoundError):
            await forget(life.mind, protocol.Forget(2, id="ffff", erase=True, dry_run=False), lambda *_: None)
        assert read_marker(marker) == FILE_ONLY
        with contextlib.closing(dbapi.connect(home.database_default, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StorageError) as refused:
                await forget(life.mind, protocol.Forget(4, matching="pear", erase=True, dry_run=False), lambda *_: None)
            assert "It is erased" not in str(refused.value), "nothing is"
            other.execute("ROLLBACK")
        assert read_marker(marker) == FILE_ONLY
        nothing = protocol.Forget(3, matching="nothing is like that", erase=True, dry_run=False)
        await forget(life.mind, nothing, lambda *_: None)
        assert read_marker(marker) is None, "it wrote the file anew in passing"
        assert sorted(home.backups.iterdir()) == kept
        write_marker(marker, FILE_ONLY)
        await scrub_after_restore(life.mind)
        assert read_marker(marker) is None
        assert sorted(home.backups.iterdir()) == kept


@pytest.mark.requirement("F10")
@pytest.mark.parametrize("next_one", ["nothing is like that", "another", "no such id"])
async def test_what_an_erasure_left_that_was_broken_off_is_still_done_after_the_next_one(
    home: Home, next_one: str
) -> None:
    async with living(home, ScriptedModel(otherwise="I see."), PatientClock(NOON), SETTINGS) as life:
        await said_and_copied(life, home)
        await life.say("The pear tree is old.")
        await forget(life.mind, ERASE, lambda what, done, total: None)
        home.backups.joinpath("memory-1600000000.db").write_text(f"a copy with {WORD}")
        home.logs.joinpath("daemon.log").write_text(f"a line\nThe lock opens with {WORD}.\n")
        marker = life.mind.memory.forgetting.marker
        marker.touch()
        if next_one == "no such id":
            with pytest.raises(NotFoundError):
                await forget(life.mind, protocol.Forget(2, id="ffff", erase=True, dry_run=False), lambda *_: None)
            assert marker.exists()
            return
        words = "pear tree" if next_one == "another" else "plum tree"
        await forget(life.mind, protocol.Forget(2, matching=words, erase=True, dry_run=False), lambda *_: None)
        assert not marker.exists()
        assert home.logs.joinpath("daemon.log").read_text() == "a line\n"
    assert copies_with(home) == []


@pytest.mark.requirement("F10")
async def test_where_the_disk_fails_after_the_rows_are_gone_the_error_says_that_they_are(home: Home) -> None:
    async with living(home, ScriptedModel(otherwise="I see."), PatientClock(NOON), SETTINGS) as life:
        await said_and_copied(life, home)
        # A folder at the path of a copy, which cannot be removed like a file.
        home.database_default.with_name("memory.db.replaced-2").mkdir()
        with pytest.raises(StorageError, match="is erased from the memory, but") as failed:
            await forget(life.mind, ERASE, lambda what, done, total: None)
        assert "next wake" in failed.value.advice
        assert life.mind.memory.forgetting.marker.exists()
        home.database_default.with_name("memory.db.replaced-2").rmdir()
        await scrub_after_restore(life.mind)
        assert not life.mind.memory.forgetting.marker.exists()
    assert copies_with(home) == []


@pytest.mark.requirement("F10", "A9")
async def test_an_erasure_that_was_broken_off_is_ended_without_room_too(home: Home) -> None:
    async with living(home, ScriptedModel(otherwise="I see."), PatientClock(NOON), SETTINGS) as life:
        await said_and_copied(life, home)
        await forget(life.mind, ERASE, lambda what, done, total: None)
        home.backups.joinpath("memory-1600000000.db").write_text(f"a copy with {WORD}")
        life.mind.memory.forgetting.marker.touch()
        life.mind.in_force.current = without_room()
        await scrub_after_restore(life.mind)
        assert not life.mind.memory.forgetting.marker.exists()
    assert copies_with(home) == []
