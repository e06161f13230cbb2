"""Checks the memory's file while no daemon runs.

Only SQLite opens the file, under the daemon's lock and read-only at first; only an intact file with the current schema
is then opened as at a start, so that a check never migrates.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from reveries.db.backups import find_memory_traces
from reveries.db.connecting import connect_read_only
from reveries.db.driver import SQLITE_BUSY, SQLITE_LOCKED, dbapi
from reveries.db.schemas import SCHEMA_VERSION
from reveries.db.storage_errors import describe_driver_error, primary_error_code
from reveries.protocol import Fault, Finding

_BACKUP = (
    "Choose a backup: reveries backup list, then reveries backup restore NAME. The next wake takes the newest whole one"
)

GONE = Fault("database-gone", "wrong", "The memory is missing or empty, but it existed.", f"{_BACKUP}.")
DAMAGED = Fault("database-damaged", "wrong", "The memory is damaged.", f"{_BACKUP}; the damaged file is kept.")
NEWER = Fault("database-newer", "wrong", "A newer Reveries wrote the memory.", "Wake it with that one.")
LOCKED = Fault("database-locked", "wrong", "Another program holds the memory's file.", "End that program.")


def check_file(path: Path, backups: Path) -> list[Finding]:
    """Check the file while no daemon runs; empty if there never was one. Slow: reads all pages, so call it in a
    thread."""
    copies = sorted(backups.glob("*.db")) if backups.is_dir() else []
    if not path.exists() or path.stat().st_size == 0:
        is_expected = copies or find_memory_traces(path)
        return [GONE.found(where=path)] if is_expected else []
    return list(_check_pages(path, has_backup=bool(copies)))


def _check_pages(path: Path, *, has_backup: bool) -> Iterator[Finding]:
    advice = "" if has_backup else "Keep the file. There is no backup to restore."
    try:
        with contextlib.closing(connect_read_only(path, busy_seconds=1.0)) as look:
            version = int(look.execute("PRAGMA user_version").fetchone()[0])
            verdict = str(look.execute("PRAGMA quick_check(1)").fetchone()[0])
    except dbapi.Error as error:
        if primary_error_code(error) in (SQLITE_BUSY, SQLITE_LOCKED):
            yield LOCKED.found(where=path)
        else:
            yield DAMAGED.found(f"The memory {path} cannot be read: {describe_driver_error(error)}.", advice, path)
        return
    if verdict != "ok":
        yield DAMAGED.found(f"The memory {path} is damaged: {verdict}.", advice, path)
    if version > SCHEMA_VERSION:
        yield NEWER.found(f"The memory {path} has schema {version}; this Reveries knows {SCHEMA_VERSION}.", where=path)
