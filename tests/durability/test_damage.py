"""A8: a damaged memory is never an empty mind. It is renamed, a backup takes its place, and what is missing is said."""

import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from reveries.config import load_settings
from reveries.daemon.lifecycle.backup_keeper import write_backup
from reveries.daemon.lifecycle.recovery import live_with_recovery
from reveries.db.backups import describe_restore, find_backups, restore_newest_whole
from reveries.db.failpoints import Step
from reveries.db.integrity.suspected_damage import damage_note_path, note_damage
from reveries.db.opening import open_database
from reveries.errors import StorageDamagedError
from tests.durability.damage import HARMLESS, HARMS, Harm, flip, try_flips, wake
from tests.durability.mind import ROOT
from tests.fakes.clock import HandClock
from tests.memory.kit import NOW, open_memory, talk


@pytest.mark.requirement("A8")
@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
async def test_whatever_happened_to_the_file_it_wakes_with_its_backup(place: Path, harm: Harm) -> None:
    harm(place / "memory.db", random.Random(1))
    woken = await wake(place)
    assert woken.turns == 40
    assert woken.restored is not None
    assert woken.restored.missing_from == NOW
    kept = [name for name in woken.files if ".replaced-" in name]
    assert bool(kept) == bool(woken.restored.kept)
    assert (await wake(place)).turns == 40


@pytest.mark.requirement("A8")
@pytest.mark.parametrize(
    ("harm", "why"),
    [("gone", "it is missing"), ("nothing in it", "it is empty"), ("another program's", "there is no table")],
)
async def test_it_is_refused_for_what_it_is_and_nothing_is_made_in_its_place(place: Path, harm: str, why: str) -> None:
    HARMS[harm](place / "memory.db", random.Random(1))
    was_there = _is_there(place / "memory.db")
    with pytest.raises(StorageDamagedError, match=why):
        await open_database(place / "memory.db", place / "backups")
    assert _is_there(place / "memory.db") is was_there


def _is_there(file: Path) -> bool:
    return file.exists()


@pytest.mark.requirement("A8")
@pytest.mark.parametrize("harm", HARMLESS.values(), ids=HARMLESS)
async def test_what_is_no_damage_restores_nothing(place: Path, harm: Harm) -> None:
    harm(place / "memory.db", random.Random(1))
    woken = await wake(place)
    assert (woken.turns, woken.restored) == (42, None)


@pytest.mark.requirement("A8")
async def test_without_a_backup_that_is_whole_it_refuses_to_wake_and_changes_nothing(place: Path) -> None:
    for backup in (place / "backups").glob("*.db"):
        backup.write_bytes(backup.read_bytes()[:50_000])
    (place / "memory.db").write_bytes(b"Dear Ana, " * 500)
    woken = await wake(place)
    assert woken.turns is None
    assert "no backup of it is intact" in woken.refused
    assert (place / "memory.db").read_bytes() == b"Dear Ana, " * 500


@pytest.mark.requirement("A8")
async def test_it_is_not_put_back_twice_within_an_hour(place: Path) -> None:
    (place / "memory.db").write_bytes(b"Dear Ana, " * 500)
    assert (await wake(place)).turns == 40
    (place / "memory.db").write_bytes(b"Dear Ana, " * 500)
    again = await wake(place)
    assert again.turns is None
    assert "within the last hour" in again.refused


@pytest.mark.requirement("A8", "E1")
async def test_an_attempt_by_a_clock_that_was_set_back_since_is_not_of_the_last_hour(place: Path) -> None:
    (place / "memory.db").write_bytes(b"Dear Ana, " * 500)
    restore_newest_whole(place / "memory.db", place / "backups", NOW + 400 * 86_400, "it is no memory")
    (place / "memory.db").write_bytes(b"Dear Ana, " * 500)
    assert (await wake(place)).turns == 40


@pytest.mark.requirement("A8", "E1")
async def test_a_copy_made_after_the_clock_was_set_back_is_newer_than_those_before(place: Path) -> None:
    """The copy that `place` has is of NOW; then the clock is set back by a day, and one is made that has all."""
    clock = HandClock(NOW - 86_400)
    database = await open_database(place / "memory.db", place / "backups")
    name, _ = await write_backup(database, place / "backups", place / "originals", load_settings(None).storage, clock)
    await database.aclose()
    newest, before = find_backups(place / "backups")
    assert newest.name == name
    assert newest.made_at - before.made_at == 1
    (place / "memory.db").unlink()
    restored = restore_newest_whole(place / "memory.db", place / "backups", clock.now() + 60, "it is gone")
    assert (restored.backup, restored.missing_from) == (name, clock.now())
    assert (await wake(place)).turns == 42


@pytest.mark.requirement("A8", "E1")
async def test_where_the_clock_was_set_back_and_no_copy_made_since_it_says_so(place: Path) -> None:
    yesterday = NOW - 86_400
    for name in ("memory.db", "memory.db.seal"):
        os.utime(place / name, (yesterday + 60, yesterday + 60))
    restored = restore_newest_whole(place / "memory.db", place / "backups", yesterday + 120, "It is damaged.")
    assert (restored.missing_from, restored.missing_until) == (NOW, yesterday + 60)
    assert "The clock was set back after that backup was made" in describe_restore(restored)


@pytest.mark.requirement("A9", "E1")
async def test_a_copy_whose_name_comes_again_has_its_own_time(place: Path) -> None:
    settings, clock = load_settings(None).storage, HandClock(NOW - 3600)
    database = await open_database(place / "memory.db", place / "backups")
    await write_backup(database, place / "backups", place / "originals", settings, clock)
    clock.step_wall(3600)
    name, _ = await write_backup(database, place / "backups", place / "originals", settings, clock)
    await database.aclose()
    newest = find_backups(place / "backups")[0]
    assert (newest.name, newest.made_at) == (name, NOW)


@pytest.mark.requirement("A8")
async def test_a_memory_that_is_in_use_by_another_or_cannot_be_read_is_not_replaced(place: Path) -> None:
    """Only damage is damage: a folder in its place, say, is an error that is told."""
    (place / "memory.db").unlink()
    (place / "memory.db").mkdir()
    woken = await wake(place)
    assert woken.turns is None
    assert woken.restored is None


@pytest.mark.requirement("A8")
@pytest.mark.parametrize("seed", range(3))
async def test_every_bit_that_a_disk_changes_while_it_sleeps_is_noticed(
    remembered: Path, tmp_path: Path, seed: int
) -> None:
    """`make soak PART=damage` has a thousand."""
    seen = await try_flips(remembered, tmp_path, 40, seed, is_sealed=True)
    assert seen.put_back + seen.told == seen.changed > 0
    assert seen.empty == 0


@pytest.mark.requirement("A8")
async def test_words_that_no_backup_has_are_not_given_up_for_one_bit(place: Path) -> None:
    """The newest exchange is in no backup: the memory is used as it is, and the owner is told."""
    flipped = (place / "memory.db").read_bytes().index(b"the old piano in Lisbon")
    _set_bit(place / "memory.db", flipped)
    database = await open_database(place / "memory.db", place / "backups")
    await database.aclose()
    assert "The disk changed the memory" in database.notice
    assert "does not match its checksum" in database.notice
    woken = await wake(place)
    assert (woken.turns, woken.restored) == (42, None)


@pytest.mark.requirement("A8")
async def test_a_bit_costs_nothing_where_a_backup_has_all_that_was_said(place: Path) -> None:
    database = await open_database(place / "memory.db", place / "backups")
    await database.backup_to(place / "backups" / f"memory-{int(NOW) + 60}.db")
    await database.aclose()
    _set_bit(place / "memory.db", (place / "memory.db").read_bytes().index(b"the old piano in Lisbon"))
    woken = await wake(place)
    assert woken.turns == 42
    assert woken.restored is not None


@pytest.mark.requirement("A8")
async def test_damage_that_was_seen_and_is_none_is_forgotten_at_the_next_wake(place: Path) -> None:
    note_damage(place / "memory.db", "a page could not be read")
    async with open_memory(place, first_id=700_000) as memory:
        await talk(memory, ("It is all there.", "Good."))
    note_damage(place / "memory.db", "a page could not be read")
    woken = await wake(place)
    assert (woken.turns, woken.restored) == (44, None)
    assert not damage_note_path(place / "memory.db").exists()


@pytest.mark.requirement("A8")
def test_a_restoring_that_is_broken_off_is_done_again(place: Path) -> None:
    """The memory was set aside and the copy had not taken its place: there is none, and still nothing begins anew."""
    (place / "memory.db").rename(place / f"memory.db.replaced-{int(NOW)}")
    (place / "memory.db-wal").write_bytes(b"the log of what was set aside")
    restored = restore_newest_whole(place / "memory.db", place / "backups", NOW + 60, "it is gone")
    assert restored.kept.endswith(f"replaced-{int(NOW)}")
    assert (place / f"memory.db.replaced-{int(NOW)}-wal").exists()


@pytest.mark.requirement("A9")
async def test_a_backup_that_the_disk_changed_is_no_backup(place: Path) -> None:
    [backup] = (place / "backups").glob("*.db")
    flip(backup, random.Random(3))
    (place / "memory.db").unlink()
    with pytest.raises(StorageDamagedError, match="no backup of it is intact"):
        restore_newest_whole(place / "memory.db", place / "backups", NOW, "it is gone")


def _set_bit(file: Path, place: int) -> None:
    times = file.stat()
    with file.open("r+b") as opened:
        opened.seek(place)
        opened.write(b"T")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


@pytest.mark.requirement("A8")
async def test_a_fault_of_the_program_puts_no_memory_away(place: Path) -> None:
    async def life(_: asyncio.Event) -> int:
        raise LookupError("a mistake of ours")

    with pytest.raises(LookupError):
        await live_with_recovery(life, place / "memory.db", place / "backups", HandClock(NOW))
    assert _put_away(place) == []


@pytest.mark.requirement("A8")
async def test_damage_that_is_met_while_awake_ends_the_life_and_nothing_is_put_back_under_it(place: Path) -> None:
    async def life(awake: asyncio.Event) -> int:
        awake.set()
        raise StorageDamagedError("a page could not be read")

    with pytest.raises(StorageDamagedError):
        await live_with_recovery(life, place / "memory.db", place / "backups", HandClock(NOW))
    assert damage_note_path(place / "memory.db").exists()
    assert _put_away(place) == []


@pytest.mark.requirement("A3", "A8")
async def test_a_seal_is_gone_before_anything_is_written(place: Path) -> None:
    """A power cut may keep what was written and lose the time at which it was: the seal would cry wolf."""
    assert _is_sealed(place)
    database = await open_database(place / "memory.db", place / "backups")
    was_sealed_while_open = _is_sealed(place)
    await database.aclose()
    assert not was_sealed_while_open
    assert _is_sealed(place)


def _put_away(place: Path) -> list[Path]:
    return list(place.glob("memory.db.replaced-*"))


def _is_sealed(place: Path) -> bool:
    return (place / "memory.db.seal").exists()


STEPS_OF_RESTORING = (Step.RESTORE_NOTED, Step.RESTORE_SET_ASIDE, Step.RESTORE_PLACED)


def _in_a_process(program: str, place: Path, failpoint: str = "") -> "subprocess.CompletedProcess[str]":
    """`program`, with the memory as `memory` and the folder of backups as `backups`."""
    begin = f"""
        from pathlib import Path
        from reveries.db.backups import find_backups, restore_backup_copy, restore_newest_whole
        from tests.fakes.failpoints import arm_from_environment
        arm_from_environment()
        memory, backups = Path({str(place / "memory.db")!r}), Path({str(place / "backups")!r})
    """
    command = [sys.executable, "-c", textwrap.dedent(begin) + textwrap.dedent(program)]
    environment = {**os.environ, "REVERIES_FAILPOINT": failpoint, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.requirement("A2", "A8")
@pytest.mark.parametrize("step", STEPS_OF_RESTORING)
async def test_a_restoring_that_is_killed_is_done_in_the_end_and_is_told(place: Path, step: Step) -> None:
    (place / "memory.db").write_bytes(b"Dear Ana, " * 500)
    killed = _in_a_process(f'restore_newest_whole(memory, backups, {NOW}, "A page is gone.")', place, f"{step.value}:1")
    assert killed.returncode == -signal.SIGKILL
    woken = await wake(place)
    assert woken.turns == 40
    assert woken.restored is not None
    assert woken.restored.missing_from == NOW
    assert woken.restored.kept.endswith(tuple(name for name in woken.files if ".replaced-" in name))
    assert not [name for name in woken.files if ".restoring" in name]


@pytest.mark.requirement("A2")
@pytest.mark.parametrize("step", STEPS_OF_RESTORING)
async def test_nobody_is_told_of_a_restoring_that_did_not_take_place(place: Path, step: Step) -> None:
    """Asked for by the owner, of a memory that is whole, and killed."""
    program = f'restore_backup_copy(memory, find_backups(backups)[0], {NOW}, "You asked for it.")'
    assert _in_a_process(program, place, f"{step.value}:1").returncode == -signal.SIGKILL
    woken = await wake(place)
    assert woken.turns == (42 if step is Step.RESTORE_NOTED else 40)
    assert (woken.restored is None) is (step is Step.RESTORE_NOTED)
    assert not [name for name in woken.files if ".restoring" in name]


@pytest.mark.requirement("A2")
async def test_a_restoring_of_a_named_backup_that_is_killed_ends_with_that_backup(place: Path) -> None:
    newest = place / "backups" / f"memory-{int(NOW) + 60}.db"
    shutil.copy(place / "memory.db", newest)
    program = (
        f"restore_backup_copy(memory, "
        f'[b for b in find_backups(backups) if b.made_at == {NOW}][0], {NOW + 90}, "You asked.")'
    )
    step = f"{Step.RESTORE_SET_ASIDE.value}:1"
    assert _in_a_process(program, place, step).returncode == -signal.SIGKILL
    woken = await wake(place)
    assert woken.turns == 40, "the newest has 42"
    assert woken.restored is not None
    assert woken.restored.missing_from == NOW


@pytest.mark.requirement("A4", "A8")
async def test_a_restoring_that_the_disk_refuses_leaves_the_memory_where_it_was(place: Path) -> None:
    """When the memory is set aside already."""
    program = f"""
        import sys
        refused = []
        def refuse(event, arguments):
            if event == "os.rename" and str(arguments[0]).endswith(".restoring") and not refused:
                refused.append(event)
                raise OSError(5, "Input/output error")
        sys.addaudithook(refuse)
        restore_backup_copy(memory, find_backups(backups)[0], {NOW}, "You asked for it.")
    """
    done = _in_a_process(program, place, "")
    assert "Nothing was deleted" in done.stderr
    woken = await wake(place)
    assert woken.turns == 42
    assert woken.restored is None


@pytest.mark.requirement("A3", "A8")
def test_what_is_set_aside_is_on_the_disk_before_the_copy_takes_its_place(place: Path) -> None:
    """A power cut that kept the new file and lost the new name of the old one's log would mix the two."""
    (place / "memory.db-wal").write_bytes(b"the log of a memory that was killed")
    done = _in_a_process(
        """
        import os, sys
        sys.path.insert(0, "")
        seen = []

        def look(event, arguments):
            if event == "os.rename" and str(memory) in map(str, arguments[:2]):
                seen.append("renamed" if str(arguments[0]) == str(memory) else "placed")
            elif event == "os.rename":
                seen.append("log renamed" if "-wal" in str(arguments[0]) else "told")
            elif event == "open" and str(arguments[0]) == str(memory.parent):
                seen.append("synced")
            elif event == "open" and str(arguments[0]).endswith(".restoring.json"):
                seen.append("noted")

        sys.addaudithook(look)
        restore_backup_copy(memory, find_backups(backups)[0], 1.0, "You asked for it.")
        print(",".join(seen))
        """,
        place,
    )
    assert done.stdout.strip() == ("noted,noted,synced,renamed,log renamed,synced,placed,synced,told,synced,synced"), (
        done.stderr
    )


@pytest.mark.requirement("A5")
def test_a_restoring_that_finds_no_room_leaves_nothing_behind(place: Path) -> None:
    before = sorted(file.name for file in place.iterdir())
    done = _in_a_process(
        """
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
        try:
            restore_backup_copy(memory, find_backups(backups)[0], 1.0, "You asked for it.")
        except Exception as error:
            print(type(error).__name__)
        """,
        place,
    )
    assert done.stdout.strip() == "StorageError"
    assert sorted(file.name for file in place.iterdir()) == before
