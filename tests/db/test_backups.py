"""Retention of backups (A9): all of 24 hours, one per day of 7 days, and those before a migration."""

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.db.backup_retention import Backup, select_expired, select_over_limit
from reveries.db.backups import (
    correct_future_dates,
    find_backup,
    find_backups,
    remove_expired,
    require_room,
    resume_restore,
)
from reveries.db.integrity.suspected_damage import add_pending_notice, read_pending_notice, remove_pending_notice
from reveries.errors import NotFoundError, StorageError

NOW = 1_790_000_000.0
HOUR, DAY = 3600.0, 86_400.0


def made(*ages: float) -> list[Backup]:
    return [Backup(Path(f"memory-{int(NOW - age)}.db"), NOW - age, is_before_migration=False) for age in ages]


@pytest.mark.requirement("A9")
def test_after_a_month_of_hours_a_day_of_hours_and_a_week_of_days_are_kept() -> None:
    backups: list[Backup] = []
    for hour in range(30 * 24):
        now = NOW + hour * HOUR
        backups.append(Backup(Path(f"memory-{int(now)}.db"), now, is_before_migration=False))
        gone = select_expired(backups, now)
        backups = [one for one in backups if one not in gone]
    ages = [(now - one.made_at) / HOUR for one in backups]
    assert sum(age < 24 for age in ages) == 24
    assert 7 <= sum(age >= 24 for age in ages) <= 8
    assert max(ages) < 24 * 8
    older = sorted(age for age in ages if age >= 24)
    assert all(after - before <= 25 for before, after in itertools.pairwise(older))


@pytest.mark.requirement("A9")
@given(st.lists(st.floats(0, 60 * DAY), unique_by=int, min_size=1, max_size=60))
def test_the_newest_and_all_of_the_last_day_always_stay(ages: list[float]) -> None:
    backups = made(*ages)
    kept = [one for one in backups if one not in select_expired(backups, NOW)]
    assert max(backups, key=lambda one: one.made_at) in kept
    assert all(one in kept for one in backups if NOW - one.made_at < DAY)
    days = {int(one.made_at // DAY) for one in backups if NOW - one.made_at < 8 * DAY}
    assert days <= {int(one.made_at // DAY) for one in kept}


def test_what_was_made_before_a_migration_stays_and_other_files_are_not_touched(tmp_path: Path) -> None:
    names = [
        "memory-1.db",
        "memory-2.db",
        f"memory-{int(NOW)}.db",
        "before-migration-3-to-4.db",
        "holiday.db",
        "x.partial",
    ]
    for name in names:
        (tmp_path / name).write_bytes(b"")
    assert {one.name for one in find_backups(tmp_path)} == set(names[:4])
    remove_expired(tmp_path, NOW)
    assert {file.name for file in tmp_path.iterdir()} == set(names) - {"memory-1.db", "memory-2.db"}


def test_a_backup_is_found_by_its_name_with_and_without_its_ending(tmp_path: Path) -> None:
    for name in ("memory-10.db", "memory-20.db"):
        (tmp_path / name).write_bytes(b"")
    assert find_backup(tmp_path, "").name == "memory-20.db"
    assert find_backup(tmp_path, "memory-10").name == find_backup(tmp_path, "memory-10.db").name == "memory-10.db"
    with pytest.raises(NotFoundError):
        find_backup(tmp_path, "memory-30")


@pytest.mark.requirement("A9")
@given(st.lists(st.integers(0, 8 * int(DAY)), unique=True, min_size=1, max_size=40), st.integers(0, 60))
def test_where_the_disk_is_short_the_two_newest_stay_and_a_day_is_worth_more_than_an_hour(
    ages: list[int], room: int
) -> None:
    backups = made(*ages)
    gone = select_over_limit(backups, {one.name: 1 for one in backups}, room)
    newest = sorted(backups, key=lambda one: one.made_at, reverse=True)
    kept = [one for one in newest if one not in gone]
    assert kept[:2] == newest[:2]
    assert len(kept) == max(min(2, len(backups)), min(room, len(backups)))
    if any(one in kept and _is_not_the_newest_of_its_day(one, newest) for one in newest[2:]):
        assert {int(one.made_at // DAY) for one in newest} == {int(one.made_at // DAY) for one in kept}


def _is_not_the_newest_of_its_day(one: Backup, newest_first: list[Backup]) -> bool:
    return next(other for other in newest_first if int(other.made_at // DAY) == int(one.made_at // DAY)) is not one


@pytest.mark.requirement("A9")
def test_what_was_made_before_a_migration_stays_and_counts() -> None:
    old = Backup(Path("before-migration-3-to-4.db"), NOW - 90 * DAY, is_before_migration=True)
    backups = [old, *made(0, HOUR, 2 * HOUR, 3 * HOUR)]
    gone = select_over_limit(backups, {one.name: 10 for one in backups}, 40)
    assert [one.name for one in gone] == [f"memory-{int(NOW - 3 * HOUR)}.db"]


@pytest.mark.requirement("A9")
def test_the_oldest_copies_make_room_for_one_that_is_coming_and_the_two_newest_stay(tmp_path: Path) -> None:
    names = [f"memory-{int(NOW - hours * HOUR)}.db" for hours in range(5)]
    for name in names:
        (tmp_path / name).write_bytes(b"x" * 1000)
    remove_expired(tmp_path, NOW)
    assert {file.name for file in tmp_path.iterdir()} == set(names), "all are of the last day, and there is room"
    remove_expired(tmp_path, NOW, coming_bytes=10**18)
    assert {file.name for file in tmp_path.iterdir()} == set(names[:2])


@pytest.mark.requirement("A9", "A5")
def test_a_copy_that_would_fill_the_disk_is_not_made(tmp_path: Path) -> None:
    require_room(tmp_path, 1000, 0)
    with pytest.raises(StorageError, match="No backup was made"):
        require_room(tmp_path, 10**18, 0)


def test_a_copy_from_a_clock_that_was_set_back_since_counts_as_made_just_before_now(tmp_path: Path) -> None:
    for made in (900, 1500, 2000):
        (tmp_path / f"memory-{made}.db").write_bytes(b"x")
    correct_future_dates(tmp_path, 1000.0)
    assert [one.made_at for one in find_backups(tmp_path)] == [999.0, 998.0, 900.0]
    assert find_backups(tmp_path)[0].name.endswith("2000.db")


def test_a_restoration_goes_on_only_where_the_copy_and_its_note_are_both_there(tmp_path: Path) -> None:
    database = tmp_path / "memory.db"
    for lone in ("memory.db.restoring", "memory.db.restoring.json"):
        (tmp_path / lone).write_bytes(b"{}")
        resume_restore(database)
        assert not database.exists()
        (tmp_path / lone).unlink()


def test_what_turned_out_not_to_be_so_is_told_by_no_later_life(tmp_path: Path) -> None:
    database = tmp_path / "memory.db"
    add_pending_notice(database, "A page changed.")
    add_pending_notice(database, "The log is short.")
    remove_pending_notice(database, "A page changed.")
    assert read_pending_notice(database) == "The log is short."
