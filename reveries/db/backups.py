"""Copies of the memory: which there are, whether one is whole, and putting one in the memory's place.

Nothing here deletes a memory: what is replaced is renamed, and stands beside the new one. Only copies grow old and go.
"""

import contextlib
import itertools
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from reveries.db.backup_retention import Backup, select_expired, select_over_limit
from reveries.db.busy_backoff import run_at_low_priority
from reveries.db.checksums import checksum
from reveries.db.connecting import connect_read_only
from reveries.db.driver import dbapi
from reveries.db.failpoints import Step, reach_step
from reveries.db.holdings import CHECKSUMMED
from reveries.db.integrity.seals import is_broken, unseal
from reveries.db.integrity.suspected_damage import damage_note_path
from reveries.db.integrity.write_ahead_log import log_of
from reveries.db.storage_errors import describe_driver_error
from reveries.errors import NotFoundError, StorageDamagedError, StorageError
from reveries.own_files import copy_private_file, sync_to_disk, write_private_file, write_private_file_synced

BackupProgress = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and of how much (0: not known). From whatever thread does it."""
MEGABYTE: Final = 10**6

_HOURLY = "memory-"
_MIGRATION = "before-migration-"
_ONE_ATTEMPT_SECONDS = 3600.0
_SHOWN_PROBLEMS = 5
_ROWS_BETWEEN = 5000
_STEPS_BETWEEN_LOOKS = 10_000
"""Of SQLite's virtual machine, between two looks at whether the result is still wanted."""


def discard_progress(what: str, done: int, total: int) -> None:
    """For work that nobody watches."""


@dataclass(frozen=True, slots=True)
class VerificationResult:
    """What a look at a copy found. It can take the memory's place when there are no `problems`."""

    problems: tuple[str, ...]
    """Of its structure."""
    rotten: tuple[str, ...] = ()
    """Texts that are not what was written."""
    turns: int = 0
    episodes: int = 0
    rows: int = 0
    """Of all tables together."""


class RestoreRecord(msgspec.Struct, frozen=True):
    """A copy took the memory's place. Times in unix seconds."""

    at: float
    why: str
    backup: str
    missing_from: float
    """When the copy was made: what happened from then on ..."""
    missing_until: float
    """... to the last change of what it replaces is not in it. Earlier than `missing_from` where the clock was set back
    after the copy was made."""
    kept: str
    """Where the replaced file is now; empty when there was none."""


def find_backups(folder: Path) -> list[Backup]:
    """The copies in `folder`, the newest first."""
    found = []
    for path in folder.glob("*.db"):
        made = path.stem.removeprefix(_HOURLY)
        if path.name.startswith(_MIGRATION):
            found.append(Backup(path, _read_date_file(path) or path.stat().st_mtime, is_before_migration=True))
        elif path.name.startswith(_HOURLY) and made.isdigit():
            found.append(Backup(path, _read_date_file(path) or float(made), is_before_migration=False))
    return sorted(found, key=lambda one: one.made_at, reverse=True)


def correct_future_dates(folder: Path, now: float) -> None:
    """Copies that by their names are made later than `now` were made by a clock that was set back since. They count as
    made just before now, in their order: else none that is made from now on would be the newest, and none of them would
    ever grow old. Where that cannot be written down they stay what they are."""
    ahead = [one for one in find_backups(folder) if one.made_at > now]
    with contextlib.suppress(OSError):
        for place, one in enumerate(ahead, start=1):
            write_private_file(_date_file(one.path), f"{now - place:.0f}".encode("ascii"))
            sync_to_disk(_date_file(one.path))
        if ahead:
            sync_to_disk(folder)


def remove_corrected_date(backup: Path) -> None:
    """A new copy takes that name: its own time counts."""
    _date_file(backup).unlink(missing_ok=True)


def _date_file(backup: Path) -> Path:
    return backup.with_name(f"{backup.name}.made")


def _read_date_file(backup: Path) -> float:
    """When it counts as made, where that is not what its name says; else 0."""
    try:
        return float(_date_file(backup).read_text("ascii"))
    except (OSError, ValueError):
        return 0.0


def find_backup(folder: Path, name: str) -> Backup:
    """The one called `name`; "" means the newest. Raises NotFoundError."""
    found = find_backups(folder)
    for one in found:
        if name in ("", one.name, one.path.stem):
            return one
    raise NotFoundError(
        f"There is no backup {name}." if name else "There is no backup yet.", advice="See them: reveries backup list"
    )


def verify_backup(
    path: Path,
    tell: BackupProgress = discard_progress,
    *,
    is_low_priority: bool = False,
    given_up: threading.Event | None = None,
) -> VerificationResult:
    """Check the seal, structure, references and checksums of the copy at `path`, which no one may have open.

    Slow: call it in a thread. `is_low_priority`: run slower, so that other work is not held up. Stops soon after
    `given_up` is set.
    """
    try:
        if is_broken(path):
            return VerificationResult(("It is not what it was when it was made, and nobody has written to it.",))
    except OSError as error:
        return VerificationResult((f"It cannot be read: {error}.",))
    return verify_database(path, tell, is_low_priority=is_low_priority, given_up=given_up)


def verify_database(
    path: Path,
    tell: BackupProgress = discard_progress,
    *,
    is_low_priority: bool = False,
    given_up: threading.Event | None = None,
) -> VerificationResult:
    """The same without its seal: its structure, its references, and the checksum of every text. A log that lies beside
    it belongs to it."""
    try:
        with contextlib.closing(connect_read_only(path)) as connection:
            # What is no text any more is to be found wrong, not to end the look.
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            if given_up is not None:
                connection.set_progress_handler(given_up.is_set, _STEPS_BETWEEN_LOOKS)
            tell("checking its structure", 0, 0)
            problems = run_at_low_priority(lambda: find_structure_problems(connection), is_low_priority=is_low_priority)
            if problems:
                return VerificationResult(tuple(problems[:_SHOWN_PROBLEMS]))
            rotten = tuple(itertools.islice(_find_damaged_rows(connection, tell), _SHOWN_PROBLEMS))
            [turns] = connection.execute("SELECT count(*) FROM turns").fetchone()
            [episodes] = connection.execute("SELECT count(*) FROM episodes").fetchone()
            rows = _count_rows(connection)
    except (dbapi.Error, UnicodeDecodeError) as error:  # SQLite's own message may be made of what is broken.
        return VerificationResult((f"It cannot be read: {describe_driver_error(error)}.",))
    return VerificationResult((), rotten, turns, episodes, rows)


def restore_backup_copy(
    database: Path, backup: Backup, now: float, why: str, tell: BackupProgress = discard_progress
) -> RestoreRecord:
    """Put a copy of `backup` where the memory is, which is renamed. Only while the daemon's lock is held and nobody has
    it open. Killed at any moment, the next wake finds one or the other, or none, and then does this again; and whoever
    finds the copy in use finds the word of it too. Raises StorageError."""
    coming = _incoming_copy(database)
    try:
        changed_at = max((file.stat().st_mtime for file in _database_files(database)), default=now)
        total = backup.path.stat().st_size // MEGABYTE
        copy_private_file(backup.path, coming, lambda copied: tell("copying, MB", copied // MEGABYTE, total))
        if problems := verify_backup(coming, tell).problems:
            raise StorageError(f"The backup {backup.name} is not whole: {problems[0]}", advice="Nothing was changed.")
        missing_until = _missing_until(backup, changed_at, now)
        restored = RestoreRecord(
            now, why, backup.name, backup.made_at, missing_until, str(_set_aside_path(database, now) or "")
        )
        write_private_file_synced(_incoming_note(database), msgspec.json.encode(restored))
        reach_step(Step.RESTORE_NOTED)
        _set_aside(database, now)
        # A log whose new name is lost would be taken for that of the copy.
        sync_to_disk(database.parent)
        reach_step(Step.RESTORE_SET_ASIDE)
        coming.replace(database)
        sync_to_disk(database.parent)
        reach_step(Step.RESTORE_PLACED)
        finish_restore(database)
        damage_note_path(database).unlink(missing_ok=True)
        unseal(database)
    except OSError as error:
        _undo_set_aside(database, now)
        raise StorageError(
            f"The backup {backup.name} cannot be put back: {error.strerror}.", advice="Nothing was deleted."
        ) from error
    finally:
        _remove_unused_copy(database)
    return restored


def _undo_set_aside(database: Path, now: float) -> None:
    """Where nothing took the memory's place, what was set aside for it comes back, its log first."""
    aside = database.with_name(f"{database.name}.replaced-{int(now)}")
    if database.exists() or not aside.exists():
        return
    with contextlib.suppress(OSError):
        if log_of(aside).exists():
            log_of(aside).rename(log_of(database))
        aside.rename(database)


def resume_restore(database: Path) -> None:
    """Where the memory was set aside for a copy that is whole and noted, and a kill came between, let the copy take its
    place. Only while nobody has the memory open. Raises OSError."""
    if database.exists() or not (_incoming_copy(database).exists() and _incoming_note(database).exists()):
        return
    _set_aside(database, _incoming_note(database).stat().st_mtime)
    sync_to_disk(database.parent)
    _incoming_copy(database).replace(database)
    sync_to_disk(database.parent)


def finish_restore(database: Path) -> None:
    """Let the word of a restoring count where the copy has taken the memory's place, and remove what is left of one
    that did not come so far. Only while nobody has the memory open. Raises OSError."""
    if not _incoming_copy(database).exists() and _incoming_note(database).exists():
        _incoming_note(database).replace(restore_note_path(database))
        sync_to_disk(database.parent)
    _remove_unused_copy(database)


def _remove_unused_copy(database: Path) -> None:
    """Remove a copy that did not take the memory's place: on a full disk it takes the room. Its note first: without the
    copy that would count."""
    if _incoming_copy(database).exists():
        with contextlib.suppress(OSError):
            _incoming_note(database).unlink(missing_ok=True)
            _incoming_copy(database).unlink()


def _incoming_copy(database: Path) -> Path:
    return database.with_name(f"{database.name}.restoring")


def _incoming_note(database: Path) -> Path:
    """What will be known of the restoring once `_incoming_copy` has the memory's name."""
    return database.with_name(f"{database.name}.restoring.json")


def _missing_until(backup: Backup, changed_at: float, now: float) -> float:
    """What changed last may have changed by a clock that was set back after the copy was made."""
    return changed_at if backup.made_at > now else max(backup.made_at, changed_at)


def restore_newest_whole(database: Path, folder: Path, now: float, why: str) -> RestoreRecord:
    """Put back the newest copy that is whole. Raises StorageDamagedError when there is none, or when that was done
    within the last hour already: then nothing is changed."""
    # One that is not there was set aside by an attempt that was broken off: that is done again.
    if database.exists() and any(0 <= now - at < _ONE_ATTEMPT_SECONDS for at in _set_aside_times(database)):
        raise StorageDamagedError(
            f"The memory is damaged ({why}), and was put back within the last hour already.",
            advice=f"Look at the disk. Nothing was changed; the copies are in {folder}.",
        )
    if (newest := find_newest_whole(folder)) is not None:
        return restore_backup_copy(database, newest[0], now, why)
    others = " ".join(str(file) for file in (database, *find_memory_traces(database)) if file.exists())
    raise StorageDamagedError(
        f"The memory {database} is damaged ({why}), and no backup of it is whole.",
        advice="Nothing was changed. Move a good copy to its place; or, to begin anew, move out of the way: "
        f"{others or database} {folder}",
    )


def find_newest_whole(folder: Path) -> tuple[Backup, VerificationResult] | None:
    """The newest copy that can take the memory's place, and what is in it."""
    for backup in find_backups(folder):
        if not (looked := verify_backup(backup.path)).problems:
            return backup, looked
    return None


def choose_copy_path(folder: Path, name: str, held: tuple[int, int]) -> Path:
    """Where a copy of a memory of so many turns and episodes can be put: under `name`, or that with a number where a
    copy stands that holds other ones. So a memory that an older backup replaced costs no copy when it is brought up to
    date again, and one whose migration is broken off again and again fills no disk. Slow."""
    copy = folder / f"{name}.db"
    for number in itertools.count(2):
        if not copy.exists() or ((there := verify_backup(copy)).turns, there.episodes) == held:
            break
        copy = folder / f"{name}-{number}.db"
    return copy


def restore_note_path(database: Path) -> Path:
    """Where the last restoring is written down."""
    return database.with_name(f"{database.name}.restored.json")


def read_last_restore(database: Path) -> RestoreRecord | None:
    """The last restoring, if there was one that can be read."""
    try:
        return msgspec.json.decode(restore_note_path(database).read_bytes(), type=RestoreRecord)
    except (OSError, msgspec.MsgspecError):
        return None


def find_memory_traces(database: Path) -> list[Path]:
    """What lies beside a memory that is gone or empty and tells that it lived. Opening one for the first time leaves
    none of it beside an empty file, however it is broken off: the first page is on the disk before there is a log or
    checksums of pages."""
    ends = (".seal", ".pages", ".restoring", ".restored.json", ".forgotten", ".erasing", ".anew")
    beside = [database.with_name(f"{database.name}{end}") for end in ends]
    if log_of(database).exists() and log_of(database).stat().st_size:
        beside.insert(0, log_of(database))
    beside += [
        database.with_name(f"{database.stem}.snapshot"),
        *sorted(database.parent.glob(f"{database.name}.replaced-*")),
    ]
    return [file for file in beside if file.is_file()]


def remove_expired(folder: Path, now: float, most_share: float = 1.0, coming_bytes: int = 0) -> None:
    """Let go of the copies that have grown old; and of so many more that they, and one of `coming_bytes`, take at most
    `most_share` of what they take now and what is free on their disk."""
    found = find_backups(folder)
    _remove_backups(select_expired(found, now))
    found = find_backups(folder)
    sizes = {one.name: one.path.stat().st_size for one in found}
    room = most_share * (sum(sizes.values()) + shutil.disk_usage(folder).free)
    _remove_backups(select_over_limit(found, sizes, room - coming_bytes))


def require_room(folder: Path, coming_bytes: int, kept_free_bytes: int) -> None:
    """Raises StorageError where a copy of that size would leave less than `kept_free_bytes` on the disk."""
    free = shutil.disk_usage(folder).free
    if free - coming_bytes < kept_free_bytes:
        raise StorageError(
            f"No backup is made: it needs {coming_bytes // 10**6} MB, and {free // 10**6} MB are free.",
            advice=f"Free some room on the disk of {folder}.",
        )


def _remove_backups(backups: Iterable[Backup]) -> None:
    for one in backups:
        one.path.unlink(missing_ok=True)
        unseal(one.path)
        remove_corrected_date(one.path)


def describe_restore(restored: RestoreRecord) -> str:
    """One sentence for the owner."""
    since, until = (
        time.strftime("%d %b %H:%M", time.localtime(at)) for at in (restored.missing_from, restored.missing_until)
    )
    kept = f" The file that it replaced is kept: {restored.kept}." if restored.kept else ""
    missing = f"What happened between {since} and {until} is missing."
    if restored.missing_until < restored.missing_from:
        missing = (
            f"The clock was set back after that was made, at {since}: what happened since, to {until}, is missing."
        )
    return f"The memory was put back from the backup {restored.backup}. {restored.why} {missing}{kept}"


def _table_names(connection: "dbapi.Connection") -> set[str]:
    return {str(row[0]) for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _count_rows(connection: "dbapi.Connection") -> int:
    """Of all tables but those that an extension keeps, which may not be here: what they are made of is counted."""
    plain = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"
    names = [str(row[0]) for row in connection.execute(plain)]
    return sum(connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in names)  # noqa: S608


def find_structure_problems(connection: "dbapi.Connection") -> list[str]:
    """What is wrong with an open memory itself, and with what its rows refer to. Reads all of it."""
    problems = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(5)") if row[0] != "ok"]
    if missing := {"turns", "episodes"} - _table_names(connection):
        return [*problems, f"It is no memory: there is no table {sorted(missing)[0]}."]
    astray = connection.execute("PRAGMA foreign_key_check").fetchmany(_SHOWN_PROBLEMS)
    return [*problems, *(f"A row of {row[0]} refers to nothing." for row in astray)]


def _find_damaged_rows(connection: "dbapi.Connection", tell: BackupProgress) -> Iterator[str]:
    there = _table_names(connection)
    tables = [(table, columns) for table, columns in CHECKSUMMED.items() if table in there]
    counts = [connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table, _ in tables]  # noqa: S608
    total, done = sum(counts), 0
    for table, columns in tables:
        for row in connection.execute(f"SELECT rowid, checksum, {', '.join(columns)} FROM {table}"):  # noqa: S608
            if checksum(*map(str, row[2:])) != row[1]:
                yield f"Row {row[0]} of {table} is not what was written."
            done += 1
            if done % _ROWS_BETWEEN == 0 or done == total:
                tell("checking texts", done, total)


def _set_aside_times(database: Path) -> Iterator[float]:
    for file in database.parent.glob(f"{database.name}.replaced-*"):
        made = file.name.rpartition("-")[2]
        if made.isdigit():
            yield float(made)


def _database_files(database: Path) -> list[Path]:
    return [file for file in (database, log_of(database)) if file.exists()]


def _set_aside_path(database: Path, now: float) -> Path | None:
    """Where the memory will be; one that is not there was set aside last. None where there never was one."""
    if database.exists():
        return database.with_name(f"{database.name}.replaced-{int(now)}")
    return max(database.parent.glob(f"{database.name}.replaced-*[0-9]"), default=None)


def _set_aside(database: Path, now: float) -> None:
    """Rename the memory, and then its log: a log without its memory belongs to the one that was set aside last."""
    aside = _set_aside_path(database, now) or database.with_name(f"{database.name}.replaced-{int(now)}")
    if database.exists():
        database.rename(aside)
    log = log_of(database)
    if log.exists():
        log.rename(aside.with_name(f"{aside.name}-wal"))
    database.with_name(f"{database.name}-shm").unlink(missing_ok=True)
