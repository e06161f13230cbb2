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

from reveries.db.backup_retention import Backup, outlived, too_many
from reveries.db.busy_backoff import calmly
from reveries.db.checksums import checksum
from reveries.db.connecting import connect_to_look
from reveries.db.driver import dbapi
from reveries.db.failpoints import Step, reached
from reveries.db.holdings import CHECKSUMMED
from reveries.db.integrity.seals import is_broken, unseal
from reveries.db.integrity.suspected_damage import suspicion
from reveries.db.integrity.write_ahead_log import log_of
from reveries.db.storage_errors import said_of
from reveries.errors import NotFoundError, StorageDamagedError, StorageError
from reveries.own_files import copy_new, sync_to_disk, write_new, write_to_disk

Tell = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and of how much (0: not known). From whatever thread does it."""
MEGABYTE: Final = 10**6

_HOURLY = "memory-"
_MIGRATION = "before-migration-"
_ONE_ATTEMPT_SECONDS = 3600.0
_SHOWN_PROBLEMS = 5
_ROWS_BETWEEN = 5000
_STEPS_BETWEEN_LOOKS = 10_000
"""Of SQLite's virtual machine, between two looks at whether the result is still wanted."""


def ignore_event(what: str, done: int, total: int) -> None:
    """For work that nobody watches."""


@dataclass(frozen=True, slots=True)
class Looked:
    """What a look at a copy found. It can take the memory's place when there are no `problems`."""

    problems: tuple[str, ...]
    """Of its structure."""
    rotten: tuple[str, ...] = ()
    """Texts that are not what was written."""
    turns: int = 0
    episodes: int = 0
    rows: int = 0
    """Of all tables together."""


class Restored(msgspec.Struct, frozen=True):
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


def backups_in(folder: Path) -> list[Backup]:
    """The copies in `folder`, the newest first."""
    found = []
    for path in folder.glob("*.db"):
        made = path.stem.removeprefix(_HOURLY)
        if path.name.startswith(_MIGRATION):
            found.append(Backup(path, _date_kept(path) or path.stat().st_mtime, is_before_migration=True))
        elif path.name.startswith(_HOURLY) and made.isdigit():
            found.append(Backup(path, _date_kept(path) or float(made), is_before_migration=False))
    return sorted(found, key=lambda one: one.made_at, reverse=True)


def date_back(folder: Path, now: float) -> None:
    """Copies that by their names are made later than `now` were made by a clock that was set back since. They count as
    made just before now, in their order: else none that is made from now on would be the newest, and none of them would
    ever grow old. Where that cannot be written down they stay what they are."""
    ahead = [one for one in backups_in(folder) if one.made_at > now]
    with contextlib.suppress(OSError):
        for place, one in enumerate(ahead, start=1):
            write_new(_date_of(one.path), f"{now - place:.0f}".encode("ascii"))
            sync_to_disk(_date_of(one.path))
        if ahead:
            sync_to_disk(folder)


def undate(backup: Path) -> None:
    """A new copy takes that name: its own time counts."""
    _date_of(backup).unlink(missing_ok=True)


def _date_of(backup: Path) -> Path:
    return backup.with_name(f"{backup.name}.made")


def _date_kept(backup: Path) -> float:
    """When it counts as made, where that is not what its name says; else 0."""
    try:
        return float(_date_of(backup).read_text("ascii"))
    except (OSError, ValueError):
        return 0.0


def find_backup(folder: Path, name: str) -> Backup:
    """The one called `name`; "" means the newest. Raises NotFoundError."""
    found = backups_in(folder)
    for one in found:
        if name in ("", one.name, one.path.stem):
            return one
    raise NotFoundError(
        f"There is no backup {name}." if name else "There is no backup yet.", advice="See them: reveries backup list"
    )


def look_at(
    path: Path, tell: Tell = ignore_event, *, is_calm: bool = False, given_up: threading.Event | None = None
) -> Looked:
    """Whether the copy at `path` is a whole memory, and what it was when it was made. Nobody may have it open. Slow:
    call it in a thread. `is_calm`: it may take longer, so that others are kept from nothing. It ends soon once it is
    `given_up`."""
    try:
        if is_broken(path):
            return Looked(("It is not what it was when it was made, and nobody has written to it.",))
    except OSError as error:
        return Looked((f"It cannot be read: {error}.",))
    return look_into(path, tell, is_calm=is_calm, given_up=given_up)


def look_into(
    path: Path, tell: Tell = ignore_event, *, is_calm: bool = False, given_up: threading.Event | None = None
) -> Looked:
    """The same without its seal: its structure, its references, and the checksum of every text. A log that lies beside
    it belongs to it."""
    try:
        with contextlib.closing(connect_to_look(path)) as connection:
            # What is no text any more is to be found wrong, not to end the look.
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            if given_up is not None:
                connection.set_progress_handler(given_up.is_set, _STEPS_BETWEEN_LOOKS)
            tell("checking its structure", 0, 0)
            problems = calmly(lambda: wrong_structure(connection), is_calm=is_calm)
            if problems:
                return Looked(tuple(problems[:_SHOWN_PROBLEMS]))
            rotten = tuple(itertools.islice(_rotten_rows(connection, tell), _SHOWN_PROBLEMS))
            [turns] = connection.execute("SELECT count(*) FROM turns").fetchone()
            [episodes] = connection.execute("SELECT count(*) FROM episodes").fetchone()
            rows = _count_rows(connection)
    except (dbapi.Error, UnicodeDecodeError) as error:  # SQLite's own message may be made of what is broken.
        return Looked((f"It cannot be read: {said_of(error)}.",))
    return Looked((), rotten, turns, episodes, rows)


def put_back(database: Path, backup: Backup, now: float, why: str, tell: Tell = ignore_event) -> Restored:
    """Put a copy of `backup` where the memory is, which is renamed. Only while the daemon's lock is held and nobody has
    it open. Killed at any moment, the next wake finds one or the other, or none, and then does this again; and whoever
    finds the copy in use finds the word of it too. Raises StorageError."""
    coming = _copy_to_come(database)
    try:
        changed_at = max((file.stat().st_mtime for file in _files_of(database)), default=now)
        total = backup.path.stat().st_size // MEGABYTE
        copy_new(backup.path, coming, lambda copied: tell("copying, MB", copied // MEGABYTE, total))
        if problems := look_at(coming, tell).problems:
            raise StorageError(f"The backup {backup.name} is not whole: {problems[0]}", advice="Nothing was changed.")
        missing_until = _missing_until(backup, changed_at, now)
        restored = Restored(now, why, backup.name, backup.made_at, missing_until, str(_aside(database, now) or ""))
        write_to_disk(_coming_note(database), msgspec.json.encode(restored))
        reached(Step.RESTORE_NOTED)
        _set_aside(database, now)
        # A log whose new name is lost would be taken for that of the copy.
        sync_to_disk(database.parent)
        reached(Step.RESTORE_SET_ASIDE)
        coming.replace(database)
        sync_to_disk(database.parent)
        reached(Step.RESTORE_PLACED)
        finish_restoring(database)
        suspicion(database).unlink(missing_ok=True)
        unseal(database)
    except OSError as error:
        _take_aside_back(database, now)
        raise StorageError(
            f"The backup {backup.name} cannot be put back: {error.strerror}.", advice="Nothing was deleted."
        ) from error
    finally:
        _give_up(database)
    return restored


def _take_aside_back(database: Path, now: float) -> None:
    """Where nothing took the memory's place, what was set aside for it comes back, its log first."""
    aside = database.with_name(f"{database.name}.replaced-{int(now)}")
    if database.exists() or not aside.exists():
        return
    with contextlib.suppress(OSError):
        if log_of(aside).exists():
            log_of(aside).rename(log_of(database))
        aside.rename(database)


def go_on_restoring(database: Path) -> None:
    """Where the memory was set aside for a copy that is whole and noted, and a kill came between, let the copy take its
    place. Only while nobody has the memory open. Raises OSError."""
    if database.exists() or not (_copy_to_come(database).exists() and _coming_note(database).exists()):
        return
    _set_aside(database, _coming_note(database).stat().st_mtime)
    sync_to_disk(database.parent)
    _copy_to_come(database).replace(database)
    sync_to_disk(database.parent)


def finish_restoring(database: Path) -> None:
    """Let the word of a restoring count where the copy has taken the memory's place, and remove what is left of one
    that did not come so far. Only while nobody has the memory open. Raises OSError."""
    if not _copy_to_come(database).exists() and _coming_note(database).exists():
        _coming_note(database).replace(restored_note(database))
        sync_to_disk(database.parent)
    _give_up(database)


def _give_up(database: Path) -> None:
    """Remove a copy that did not take the memory's place: on a full disk it takes the room. Its note first: without the
    copy that would count."""
    if _copy_to_come(database).exists():
        with contextlib.suppress(OSError):
            _coming_note(database).unlink(missing_ok=True)
            _copy_to_come(database).unlink()


def _copy_to_come(database: Path) -> Path:
    return database.with_name(f"{database.name}.restoring")


def _coming_note(database: Path) -> Path:
    """What will be known of the restoring once `_copy_to_come` has the memory's name."""
    return database.with_name(f"{database.name}.restoring.json")


def _missing_until(backup: Backup, changed_at: float, now: float) -> float:
    """What changed last may have changed by a clock that was set back after the copy was made."""
    return changed_at if backup.made_at > now else max(backup.made_at, changed_at)


def recover(database: Path, folder: Path, now: float, why: str) -> Restored:
    """Put back the newest copy that is whole. Raises StorageDamagedError when there is none, or when that was done
    within the last hour already: then nothing is changed."""
    # One that is not there was set aside by an attempt that was broken off: that is done again.
    if database.exists() and any(0 <= now - at < _ONE_ATTEMPT_SECONDS for at in _set_aside_at(database)):
        raise StorageDamagedError(
            f"The memory is damaged ({why}), and was put back within the last hour already.",
            advice=f"Look at the disk. Nothing was changed; the copies are in {folder}.",
        )
    if (newest := newest_whole(folder)) is not None:
        return put_back(database, newest[0], now, why)
    others = " ".join(str(file) for file in (database, *traces_of(database)) if file.exists())
    raise StorageDamagedError(
        f"The memory {database} is damaged ({why}), and no backup of it is whole.",
        advice="Nothing was changed. Move a good copy to its place; or, to begin anew, move out of the way: "
        f"{others or database} {folder}",
    )


def newest_whole(folder: Path) -> tuple[Backup, Looked] | None:
    """The newest copy that can take the memory's place, and what is in it."""
    for backup in backups_in(folder):
        if not (looked := look_at(backup.path)).problems:
            return backup, looked
    return None


def free_copy(folder: Path, name: str, held: tuple[int, int]) -> Path:
    """Where a copy of a memory of so many turns and episodes can be put: under `name`, or that with a number where a
    copy stands that holds other ones. So a memory that an older backup replaced costs no copy when it is brought up to
    date again, and one whose migration is broken off again and again fills no disk. Slow."""
    copy = folder / f"{name}.db"
    for number in itertools.count(2):
        if not copy.exists() or ((there := look_at(copy)).turns, there.episodes) == held:
            break
        copy = folder / f"{name}-{number}.db"
    return copy


def restored_note(database: Path) -> Path:
    """Where the last restoring is written down."""
    return database.with_name(f"{database.name}.restored.json")


def last_restored(database: Path) -> Restored | None:
    """The last restoring, if there was one that can be read."""
    try:
        return msgspec.json.decode(restored_note(database).read_bytes(), type=Restored)
    except (OSError, msgspec.MsgspecError):
        return None


def traces_of(database: Path) -> list[Path]:
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


def remove_outlived(folder: Path, now: float, most_share: float = 1.0, coming_bytes: int = 0) -> None:
    """Let go of the copies that have grown old; and of so many more that they, and one of `coming_bytes`, take at most
    `most_share` of what they take now and what is free on their disk."""
    found = backups_in(folder)
    _remove(outlived(found, now))
    found = backups_in(folder)
    sizes = {one.name: one.path.stat().st_size for one in found}
    room = most_share * (sum(sizes.values()) + shutil.disk_usage(folder).free)
    _remove(too_many(found, sizes, room - coming_bytes))


def require_room(folder: Path, coming_bytes: int, kept_free_bytes: int) -> None:
    """Raises StorageError where a copy of that size would leave less than `kept_free_bytes` on the disk."""
    free = shutil.disk_usage(folder).free
    if free - coming_bytes < kept_free_bytes:
        raise StorageError(
            f"No backup is made: it needs {coming_bytes // 10**6} MB, and {free // 10**6} MB are free.",
            advice=f"Free some room on the disk of {folder}.",
        )


def _remove(backups: Iterable[Backup]) -> None:
    for one in backups:
        one.path.unlink(missing_ok=True)
        unseal(one.path)
        undate(one.path)


def described(restored: Restored) -> str:
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


def wrong_structure(connection: "dbapi.Connection") -> list[str]:
    """What is wrong with an open memory itself, and with what its rows refer to. Reads all of it."""
    problems = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(5)") if row[0] != "ok"]
    if missing := {"turns", "episodes"} - _table_names(connection):
        return [*problems, f"It is no memory: there is no table {sorted(missing)[0]}."]
    astray = connection.execute("PRAGMA foreign_key_check").fetchmany(_SHOWN_PROBLEMS)
    return [*problems, *(f"A row of {row[0]} refers to nothing." for row in astray)]


def _rotten_rows(connection: "dbapi.Connection", tell: Tell) -> Iterator[str]:
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


def _set_aside_at(database: Path) -> Iterator[float]:
    for file in database.parent.glob(f"{database.name}.replaced-*"):
        made = file.name.rpartition("-")[2]
        if made.isdigit():
            yield float(made)


def _files_of(database: Path) -> list[Path]:
    return [file for file in (database, log_of(database)) if file.exists()]


def _aside(database: Path, now: float) -> Path | None:
    """Where the memory will be; one that is not there was set aside last. None where there never was one."""
    if database.exists():
        return database.with_name(f"{database.name}.replaced-{int(now)}")
    return max(database.parent.glob(f"{database.name}.replaced-*[0-9]"), default=None)


def _set_aside(database: Path, now: float) -> None:
    """Rename the memory, and then its log: a log without its memory belongs to the one that was set aside last."""
    aside = _aside(database, now) or database.with_name(f"{database.name}.replaced-{int(now)}")
    if database.exists():
        database.rename(aside)
    log = log_of(database)
    if log.exists():
        log.rename(aside.with_name(f"{aside.name}-wal"))
    database.with_name(f"{database.name}-shm").unlink(missing_ok=True)
