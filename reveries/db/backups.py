"""Backups: list them, verify one, and restore one in the memory's place.

Nothing here deletes a memory: a replaced one is renamed and kept next to the new one. Only backups expire.
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
"""Called with the current action, how much is done, and the total (0: unknown). May be called from any thread."""
MEGABYTE: Final = 10**6

_HOURLY = "memory-"
_MIGRATION = "before-migration-"
_ONE_ATTEMPT_SECONDS = 3600.0
_SHOWN_PROBLEMS = 5
_ROWS_BETWEEN = 5000
_STEPS_BETWEEN_LOOKS = 10_000
"""SQLite virtual machine steps between two checks whether the result is still wanted."""


def discard_progress(what: str, done: int, total: int) -> None:
    """For work whose progress is not shown."""


@dataclass(frozen=True, slots=True)
class VerificationResult:
    """What verifying a copy found. It can replace the memory when there are no `problems`."""

    problems: tuple[str, ...]
    """Structural problems."""
    rotten: tuple[str, ...] = ()
    """Texts whose checksum does not match."""
    turns: int = 0
    episodes: int = 0
    rows: int = 0
    """Of all tables together."""


class RestoreRecord(msgspec.Struct, frozen=True):
    """A restore that took place. Times in unix seconds."""

    at: float
    why: str
    backup: str
    missing_from: float
    """When the copy was made: what happened from then on ..."""
    missing_until: float
    """... to the last change of the replaced file is missing. Earlier than `missing_from` where the clock was set back
    after the copy was made."""
    kept: str
    """Where the replaced file is now; empty when there was none."""


def find_backups(folder: Path) -> list[Backup]:
    """Return the backups in `folder`, newest first."""
    backups = []
    for path in folder.glob("*.db"):
        made = path.stem.removeprefix(_HOURLY)
        if path.name.startswith(_MIGRATION):
            backups.append(Backup(path, _read_date_file(path) or path.stat().st_mtime, is_before_migration=True))
        elif path.name.startswith(_HOURLY) and made.isdigit():
            backups.append(Backup(path, _read_date_file(path) or float(made), is_before_migration=False))
    return sorted(backups, key=lambda backup: backup.made_at, reverse=True)


def correct_future_dates(folder: Path, now: float) -> None:
    """Give backups dated later than `now` a date just before now, in their order.

    They were made before the clock was set back. Without this no new backup would be the newest, and these would never
    expire. Where the date cannot be written they keep theirs.
    """
    ahead = [backup for backup in find_backups(folder) if backup.made_at > now]
    with contextlib.suppress(OSError):
        for place, future_backup in enumerate(ahead, start=1):
            write_private_file(_date_file(future_backup.path), f"{now - place:.0f}".encode("ascii"))
            sync_to_disk(_date_file(future_backup.path))
        if ahead:
            sync_to_disk(folder)


def remove_corrected_date(backup: Path) -> None:
    """Remove the corrected date of `backup`: a new copy takes that name, and its own time counts."""
    _date_file(backup).unlink(missing_ok=True)


def _date_file(backup: Path) -> Path:
    return backup.with_name(f"{backup.name}.made")


def _read_date_file(backup: Path) -> float:
    """Return the corrected date of a backup; 0 if it has none."""
    try:
        return float(_date_file(backup).read_text("ascii"))
    except (OSError, ValueError):
        return 0.0


def find_backup(folder: Path, name: str) -> Backup:
    """Return the backup called `name`; "" means the newest. Raises NotFoundError."""
    backups = find_backups(folder)
    for backup in backups:
        if name in ("", backup.name, backup.path.stem):
            return backup
    raise NotFoundError(
        f"There is no backup {name}." if name else "There is no backup yet.", advice="List them: reveries backup list"
    )


def read_originals(path: Path) -> set[str]:
    """Return the names of the kept files that the documents of the copy at `path` have; none in an earlier schema.
    Raises dbapi.Error."""
    with contextlib.closing(connect_read_only(path)) as connection:
        columns = {str(row[1]) for row in connection.execute("PRAGMA table_info(documents)")}
        if "original" not in columns:
            return set()
        rows = connection.execute("SELECT DISTINCT original FROM documents WHERE original <> ''").fetchall()
        return {str(row[0]) for row in rows}


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
            return VerificationResult(("Its content changed since it was made, although no program wrote to it.",))
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
    """Like `verify_backup` without the seal. A log next to the file is read as part of it."""
    try:
        with contextlib.closing(connect_read_only(path)) as connection:
            # Broken text is to be reported, not to end the verification.
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
    except (dbapi.Error, UnicodeDecodeError) as error:  # SQLite's message may contain the broken text.
        return VerificationResult((f"It cannot be read: {describe_driver_error(error)}.",))
    return VerificationResult((), rotten, turns, episodes, rows)


def restore_backup_copy(
    database: Path, backup: Backup, now: float, why: str, tell: BackupProgress = discard_progress
) -> RestoreRecord:
    """Rename the memory and put a copy of `backup` in its place. Raises StorageError.

    Only while the daemon's lock is held and no one has the memory open. After a kill at any moment the next wake finds
    the old file, the new one or none, and then repeats this. A restored copy always comes with its record.
    """
    coming = _incoming_copy(database)
    try:
        changed_at = max((file.stat().st_mtime for file in _memory_and_log(database)), default=now)
        total = backup.path.stat().st_size // MEGABYTE
        copy_private_file(backup.path, coming, lambda copied: tell("copying, MB", copied // MEGABYTE, total))
        if problems := verify_backup(coming, tell).problems:
            raise StorageError(f"The backup {backup.name} is damaged: {problems[0]}", advice="Nothing was changed.")
        missing_until = _missing_until(backup, changed_at, now)
        restored = RestoreRecord(
            now, why, backup.name, backup.made_at, missing_until, str(_set_aside_path(database, now) or "")
        )
        write_private_file_synced(_incoming_note(database), msgspec.json.encode(restored))
        reach_step(Step.RESTORE_NOTED)
        _set_aside(database, now)
        # A log whose rename is lost would be read as the copy's log.
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
            f"The backup {backup.name} cannot be restored: {error.strerror}.", advice="Nothing was deleted."
        ) from error
    finally:
        _remove_unused_copy(database)
    return restored


def _undo_set_aside(database: Path, now: float) -> None:
    """Rename the memory back, log first, where nothing took its place."""
    aside = database.with_name(f"{database.name}.replaced-{int(now)}")
    if database.exists() or not aside.exists():
        return
    with contextlib.suppress(OSError):
        if log_of(aside).exists():
            log_of(aside).rename(log_of(database))
        aside.rename(database)


def resume_restore(database: Path) -> None:
    """Finish a restore that a kill interrupted after the memory was set aside and the copy was verified and recorded.

    Only while no one has the memory open. Raises OSError.
    """
    if database.exists() or not (_incoming_copy(database).exists() and _incoming_note(database).exists()):
        return
    _set_aside(database, _incoming_note(database).stat().st_mtime)
    sync_to_disk(database.parent)
    _incoming_copy(database).replace(database)
    sync_to_disk(database.parent)


def finish_restore(database: Path) -> None:
    """Publish the record of a restore whose copy is in place, and remove what an unfinished one left.

    Only while no one has the memory open. Raises OSError.
    """
    if not _incoming_copy(database).exists() and _incoming_note(database).exists():
        _incoming_note(database).replace(restore_note_path(database))
        sync_to_disk(database.parent)
    _remove_unused_copy(database)


def _remove_unused_copy(database: Path) -> None:
    """Remove a copy that did not take the memory's place, record first: without the copy the record would count."""
    if _incoming_copy(database).exists():
        with contextlib.suppress(OSError):
            _incoming_note(database).unlink(missing_ok=True)
            _incoming_copy(database).unlink()


def _incoming_copy(database: Path) -> Path:
    return database.with_name(f"{database.name}.restoring")


def _incoming_note(database: Path) -> Path:
    """The record that becomes valid once `_incoming_copy` has the memory's name."""
    return database.with_name(f"{database.name}.restoring.json")


def _missing_until(backup: Backup, changed_at: float, now: float) -> float:
    """Return when the missing period ends; after a clock change that may be before the copy was made."""
    return changed_at if backup.made_at > now else max(backup.made_at, changed_at)


def restore_newest_whole(database: Path, folder: Path, now: float, why: str) -> RestoreRecord:
    """Restore the newest backup that verifies.

    Raises StorageDamagedError when there is none, or when a restore took place within the last hour: then nothing is
    changed.
    """
    # A missing memory was set aside by an interrupted restore, which is repeated.
    if database.exists() and any(0 <= now - at < _ONE_ATTEMPT_SECONDS for at in _set_aside_times(database)):
        raise StorageDamagedError(
            f"The memory is damaged ({why}), and a backup was restored within the last hour already.",
            advice=f"Check the disk. Nothing was changed; the backups are in {folder}.",
        )
    if (newest := find_newest_whole(folder)) is not None:
        return restore_backup_copy(database, newest[0], now, why)
    others = " ".join(str(file) for file in (database, *find_memory_traces(database)) if file.exists())
    raise StorageDamagedError(
        f"The memory {database} is damaged ({why}), and no backup of it is intact.",
        advice="Nothing was changed. Put an intact copy in its place; or, to start with an empty memory, move these "
        f"away: {others or database} {folder}",
    )


def find_newest_whole(folder: Path) -> tuple[Backup, VerificationResult] | None:
    """Return the newest backup that verifies, and what verifying found."""
    for backup in find_backups(folder):
        if not (looked := verify_backup(backup.path)).problems:
            return backup, looked
    return None


def choose_copy_path(folder: Path, name: str, counts: tuple[int, int]) -> Path:
    """Return where to put a copy of a memory with `counts` turns and episodes: `name`, or `name` with a number.

    An existing copy with the same counts is reused, so that a migration that is repeated does not fill the disk. Slow.
    """
    copy = folder / f"{name}.db"
    for number in itertools.count(2):
        if not copy.exists() or ((verified := verify_backup(copy)).turns, verified.episodes) == counts:
            break
        copy = folder / f"{name}-{number}.db"
    return copy


def restore_note_path(database: Path) -> Path:
    """Return the path of the record of the last restore."""
    return database.with_name(f"{database.name}.restored.json")


def read_last_restore(database: Path) -> RestoreRecord | None:
    """Return the last restore; None if there was none or its record cannot be read."""
    try:
        return msgspec.json.decode(restore_note_path(database).read_bytes(), type=RestoreRecord)
    except (OSError, msgspec.MsgspecError):
        return None


def find_memory_traces(database: Path) -> list[Path]:
    """Return the files next to a missing or empty memory that show it once existed.

    Opening a memory for the first time leaves none of them next to an empty file, however it is interrupted: the first
    page is on the disk before a log or page checksums.
    """
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
    """Delete expired backups, and more until the rest, plus one of `coming_bytes`, fit the limit.

    The limit is `most_share` of the space that backups use now plus the free space of their disk.
    """
    backups = find_backups(folder)
    _remove_backups(select_expired(backups, now))
    backups = find_backups(folder)
    sizes = {backup.name: backup.path.stat().st_size for backup in backups}
    room = most_share * (sum(sizes.values()) + shutil.disk_usage(folder).free)
    _remove_backups(select_over_limit(backups, sizes, room - coming_bytes))


def require_room(folder: Path, coming_bytes: int, kept_free_bytes: int) -> None:
    """Raise StorageError if a copy of `coming_bytes` would leave less than `kept_free_bytes` free."""
    free = shutil.disk_usage(folder).free
    if free - coming_bytes < kept_free_bytes:
        raise StorageError(
            f"No backup was made: it needs {coming_bytes // 10**6} MB, and {free // 10**6} MB are free.",
            advice=f"Free some space on the disk of {folder}.",
        )


def _remove_backups(backups: Iterable[Backup]) -> None:
    for backup in backups:
        backup.path.unlink(missing_ok=True)
        unseal(backup.path)
        remove_corrected_date(backup.path)


def describe_restore(restored: RestoreRecord) -> str:
    """Return one sentence for the owner."""
    since, until = (
        time.strftime("%d %b %H:%M", time.localtime(at)) for at in (restored.missing_from, restored.missing_until)
    )
    kept = f" The replaced file is kept: {restored.kept}." if restored.kept else ""
    missing = f"What happened between {since} and {until} is missing."
    if restored.missing_until < restored.missing_from:
        missing = (
            f"The clock was set back after that backup was made, at {since}: what happened since, up to {until}, is "
            "missing."
        )
    return f"The memory was restored from the backup {restored.backup}. {restored.why} {missing}{kept}"


def _table_names(connection: "dbapi.Connection") -> set[str]:
    return {str(row[0]) for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _count_rows(connection: "dbapi.Connection") -> int:
    """Count the rows of all tables but virtual ones, whose extension may be missing; their source tables are
    counted."""
    plain = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"
    names = [str(row[0]) for row in connection.execute(plain)]
    return sum(connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in names)  # noqa: S608


def find_structure_problems(connection: "dbapi.Connection") -> list[str]:
    """Return what is wrong with the structure and references of an open memory. Reads all of it."""
    problems = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(5)") if row[0] != "ok"]
    if missing := {"turns", "episodes"} - _table_names(connection):
        return [*problems, f"It is not a memory: there is no table {sorted(missing)[0]}."]
    astray = connection.execute("PRAGMA foreign_key_check").fetchmany(_SHOWN_PROBLEMS)
    return [*problems, *(f"A row of {row[0]} refers to a row that does not exist." for row in astray)]


def _find_damaged_rows(connection: "dbapi.Connection", tell: BackupProgress) -> Iterator[str]:
    present_tables = _table_names(connection)
    tables = [(table, columns) for table, columns in CHECKSUMMED.items() if table in present_tables]
    counts = [connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table, _ in tables]  # noqa: S608
    total, done = sum(counts), 0
    for table, columns in tables:
        for row in connection.execute(f"SELECT rowid, checksum, {', '.join(columns)} FROM {table}"):  # noqa: S608
            if checksum(*map(str, row[2:])) != row[1]:
                yield f"Row {row[0]} of {table} does not match its checksum."
            done += 1
            if done % _ROWS_BETWEEN == 0 or done == total:
                tell("checking texts", done, total)


def _set_aside_times(database: Path) -> Iterator[float]:
    for file in database.parent.glob(f"{database.name}.replaced-*"):
        made = file.name.rpartition("-")[2]
        if made.isdigit():
            yield float(made)


def _memory_and_log(database: Path) -> list[Path]:
    return [file for file in (database, log_of(database)) if file.exists()]


def _set_aside_path(database: Path, now: float) -> Path | None:
    """Return where the memory will be renamed to; for a missing one, where it was last. None where there never was
    one."""
    if database.exists():
        return database.with_name(f"{database.name}.replaced-{int(now)}")
    return max(database.parent.glob(f"{database.name}.replaced-*[0-9]"), default=None)


def _set_aside(database: Path, now: float) -> None:
    """Rename the memory, then its log: a log without its memory belongs to the one set aside last."""
    aside = _set_aside_path(database, now) or database.with_name(f"{database.name}.replaced-{int(now)}")
    if database.exists():
        database.rename(aside)
    log = log_of(database)
    if log.exists():
        log.rename(aside.with_name(f"{aside.name}-wal"))
    database.with_name(f"{database.name}-shm").unlink(missing_ok=True)
