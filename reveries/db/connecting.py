"""Connections to the memory file, with the settings that our guarantees need."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import aiosqlite

from reveries.db.driver import dbapi, load_vector_search
from reveries.db.integrity.page_sums import PageSums
from reveries.db.integrity.write_ahead_log import log_of
from reveries.db.storage_errors import is_disk_full
from reveries.errors import StorageError, StorageLostError

_BUSY_MS = 5000
_PRAGMAS = (
    # A new file gets WAL mode in a transaction with a rollback journal. That journal's name must be off the disk before
    # there is a log, or a power cut leaves both. FULL does not sync the folder for that.
    "synchronous=EXTRA",
    "journal_mode=WAL",
    "synchronous=FULL",
    "foreign_keys=ON",
    "secure_delete=ON",
    f"busy_timeout={_BUSY_MS}",
    "mmap_size=0",
    "temp_store=MEMORY",
    # SQLite reports no error when its automatic checkpoint fails, so `Database` checkpoints the log itself.
    "wal_autocheckpoint=0",
    "journal_size_limit=67108864",
)


async def open_connection(path: Path, with_vector_search: bool) -> aiosqlite.Connection:
    """Open the connection that writes. Raises the driver's errors."""
    connection = aiosqlite.Connection(lambda: connect_for_writing(path, with_vector_search), iter_chunk_size=256)
    return await connection


def connect_for_writing(path: Path, with_vector_search: bool = False) -> "dbapi.Connection":
    """Like `open_connection`, for a thread. Also raises StorageError where SQLite refuses synchronous=FULL."""
    connection = dbapi.connect(str(path), isolation_level=None, timeout=5.0)
    try:
        connection.row_factory = dbapi.Row
        for pragma in _PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")
        if connection.execute("PRAGMA synchronous").fetchone()[0] != 2:
            raise StorageError("SQLite did not accept synchronous=FULL.", advice="This build of SQLite cannot be used.")
        if with_vector_search:
            load_vector_search(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def connect_read_only(path: Path, busy_seconds: float = 5.0) -> "dbapi.Connection":
    """Open a connection that changes nothing and creates no file, for one thread at a time. Raises the driver's
    errors."""
    # Without a log only the file counts: "immutable" keeps SQLite from creating one.
    how = "mode=ro" if log_of(path).exists() else "mode=ro&immutable=1"
    place = f"{path.absolute().as_uri()}?{how}"
    return dbapi.connect(place, uri=True, timeout=busy_seconds, check_same_thread=False)


def finish_first_transaction(path: Path) -> None:
    """Let SQLite roll back a memory's very first transaction after a power cut: only that one has a journal.

    A read-only connection cannot. Not where there is a log: SQLite would delete a log next to an empty file.
    """
    if path.exists() and path.with_name(f"{path.name}-journal").exists() and not log_of(path).exists():
        with contextlib.closing(dbapi.connect(str(path))) as connection, contextlib.suppress(dbapi.DatabaseError):
            connection.execute("PRAGMA schema_version").fetchone()


@contextlib.asynccontextmanager
async def fail_if_locked(connection: aiosqlite.Connection) -> AsyncIterator[None]:
    """Within it, a lock held by another program is an error at once instead of a wait."""
    try:
        await _wait_at_most(connection, 0)
        yield
    finally:
        await asyncio.shield(_wait_at_most(connection, _BUSY_MS))


async def _wait_at_most(connection: aiosqlite.Connection, milliseconds: int) -> None:
    await (await connection.execute(f"PRAGMA busy_timeout={milliseconds}")).close()


async def reopen_connection(path: Path, with_vector_search: bool) -> aiosqlite.Connection:
    """Open the writing connection again for a running mind. Raises StorageLostError."""
    try:
        return await open_connection(path, with_vector_search)
    except (dbapi.Error, OSError, StorageError) as error:
        raise StorageLostError(
            f"The memory {path} cannot be opened again: {error}.",
            advice="It is intact. Check the disk, then: reveries wake",
        ) from error


def open_with_page_sums(path: Path, pages: PageSums) -> None:
    """Open and close the memory with page checksums tracked; its log is in the file afterwards.

    Raises the driver's errors.
    """
    pages.begin()
    with contextlib.closing(connect_for_writing(path)) as connection:
        # Explicit, because SQLite reports no error when the checkpoint on closing fails.
        try:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except dbapi.OperationalError as error:
            if not is_disk_full(error):
                raise
    pages.after_opening()
