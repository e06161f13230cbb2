"""Checks the memory for `reveries doctor`: its file while no daemon runs, or the open database.

Only SQLite opens the file. Offline it is checked under the daemon's lock, read-only at first; only an intact file with
the current schema is then opened as at a start, so that a check never migrates.
"""

import asyncio
import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from reveries.clock import Clock
from reveries.config import Home
from reveries.db.backups import find_memory_traces
from reveries.db.connecting import connect_read_only
from reveries.db.database import Database
from reveries.db.driver import SQLITE_BUSY, SQLITE_LOCKED, SQLITE_VERSION, dbapi
from reveries.db.schemas import SCHEMA_VERSION
from reveries.db.storage_errors import damaged_in_use_error, describe_driver_error, primary_error_code
from reveries.errors import StorageError
from reveries.memory.snapshot_file import is_intact
from reveries.protocol import Finding, make_finding

SAFE_SQLITE = (3, 51, 3)
"""The first version without the WAL-reset bug."""
_LOOK_SECONDS = 5.0
_CLOCK_SECONDS = 120.0
_FIRST_BACKUP_SECONDS = 2 * 3600.0
_OLD_BACKUP_SECONDS = 2 * 86400.0
_BUSY = (SQLITE_BUSY, SQLITE_LOCKED)
_RUNS = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "secure_delete": 1, "busy_timeout": 5000}


def check_file(path: Path, backups: Path) -> list[Finding]:
    """Check the file while no daemon runs; empty if there never was one. Slow: reads all pages, so call it in a
    thread."""
    where = str(path)
    is_there = path.exists() or path.is_symlink()
    if is_there and not path.is_file():
        return [make_finding("database-not-file", f"{path} is not a file.", where=where)]
    copies = sorted(backups.glob("*.db")) if backups.is_dir() else []
    if not is_there or path.stat().st_size == 0:
        traces = find_memory_traces(path)
        if not copies and not traces:
            return []
        evidence = f"there are {len(copies)} backups" if copies else f"{traces[0].name} is next to it"
        message = f"The memory {path} is {'empty' if is_there else 'gone'}, but {evidence}."
        return [make_finding("database-gone", message, where=where)]
    return [*_check_pages(path, copies), *_check_snapshot(path)]


def _check_pages(path: Path, copies: list[Path]) -> Iterator[Finding]:
    where = str(path)
    advice = "" if copies else "Keep the file. There is no backup to restore."
    try:
        version, verdict = _read_pages(path)
    except dbapi.Error as error:
        if primary_error_code(error) in _BUSY:
            yield make_finding("database-locked", f"The memory {path} is locked by another program.", where=where)
        else:
            yield make_finding(
                "database-damaged", f"The memory {path} cannot be read: {describe_driver_error(error)}.", advice, where
            )
        return
    if verdict != "ok":
        yield make_finding("database-damaged", f"The memory {path} is damaged: {verdict}.", advice, where)
    if version > SCHEMA_VERSION:
        message = f"The memory {path} has schema {version}; this Reveries knows {SCHEMA_VERSION}."
        yield make_finding("database-newer", message, where=where)
    elif version < SCHEMA_VERSION:
        yield make_finding(
            "database-older", f"The memory {path} has schema {version} of {SCHEMA_VERSION}.", where=where
        )


def _read_pages(path: Path) -> tuple[int, str]:
    """Return the schema version, and SQLite's verdict on the pages."""
    with contextlib.closing(connect_read_only(path, busy_seconds=1.0)) as look:
        version = int(look.execute("PRAGMA user_version").fetchone()[0])
        return version, str(look.execute("PRAGMA quick_check(1)").fetchone()[0])


def _check_snapshot(path: Path) -> Iterator[Finding]:
    snapshot = path.with_suffix(".snapshot")
    if snapshot.exists() and not is_intact(snapshot):
        yield make_finding("snapshot-damaged", f"The snapshot {snapshot} cannot be read.", where=str(snapshot))


async def check_open(database: Database, home: Home, clock: Clock) -> tuple[list[Finding], list[str]]:
    """Check the open database: its settings, pages, times and backups. Return the findings, and what was left out.
    Damaged pages stop all storing, as after any read that finds damage. Raises StorageError."""
    where = str(database.path)
    [runs] = await database.rows("statistics.how_it_runs")
    [span] = await database.rows("statistics.span")
    findings = [*sqlite_findings(SQLITE_VERSION), *pragma_findings(runs, where)]
    if not database.has_vector_search:
        findings.append(make_finding("vectors-slow"))
    if database.room.refusal:
        findings.append(make_finding("not-storing", database.room.refusal, where=where))
    left_out = []
    try:
        rows = await database.rows_within("statistics.look_through", {}, _LOOK_SECONDS)
        if rows and rows[0]["verdict"] != "ok":
            with database.record_loss():
                raise damaged_in_use_error(str(rows[0]["verdict"]))
    except TimeoutError:
        left_out.append(
            f"every page of the memory: that takes more than {_LOOK_SECONDS:g} s (it is checked while the mind sleeps)"
        )
    except StorageError as error:
        findings.append(make_finding("database-damaged", error.message, where=where))
    findings += clock_findings(float(span["last_at"]), clock.now())
    newest = await asyncio.to_thread(_newest_copy, home.backups)
    findings += backup_findings(newest, float(span["first_at"]), float(span["last_at"]), str(home.backups))
    return findings, left_out


def sqlite_findings(version: str) -> list[Finding]:
    """Return a finding if this SQLite has the bug by which two connections can damage a file."""
    if tuple(int(part) for part in version.split(".")) >= SAFE_SQLITE:
        return []
    return [
        make_finding(
            "sqlite-unsafe", f"SQLite is {version}; {'.'.join(map(str, SAFE_SQLITE))} is the first without it."
        )
    ]


def pragma_findings(runs: Mapping[str, object], where: str) -> list[Finding]:
    """Return a finding if SQLite does not run with the required pragmas."""
    wrong = [f"{name} is {runs[name]}, not {wanted}" for name, wanted in _RUNS.items() if runs[name] != wanted]
    return (
        [make_finding("database-pragma", f"SQLite does not run as it must: {'; '.join(wrong)}.", where=where)]
        if wrong
        else []
    )


def clock_findings(last_at: float, now: float) -> list[Finding]:
    """Return a finding if the clock is behind the latest memory. Times are unix seconds."""
    hours = (last_at - now) / 3600
    if last_at - now <= _CLOCK_SECONDS:
        return []
    return [make_finding("clock-behind", f"The clock is {hours:.1f} hours behind the last thing that was remembered.")]


def backup_findings(newest: float | None, first_at: float, last_at: float, where: str) -> list[Finding]:
    """Return a finding if the newest backup is missing or too old. Times are unix seconds; `newest` None is no
    backup."""
    if newest is None:
        is_young = last_at - first_at < _FIRST_BACKUP_SECONDS
        return [] if is_young else [make_finding("backup-none", where=where)]
    if last_at - newest <= _OLD_BACKUP_SECONDS:
        return []
    days = int((last_at - newest) / 86400)
    return [make_finding("backup-old", f"The newest backup is {days} days older than the last memory.", where=where)]


def _newest_copy(backups: Path) -> float | None:
    return max((copy.stat().st_mtime for copy in backups.glob("*.db")), default=None)
