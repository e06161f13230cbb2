"""Opening the memory: the file is checked, then refused, created or migrated, before it is used."""

import asyncio
import contextlib
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import aiosqlite

from reveries.db.backups import choose_copy_path, finish_restore, resume_restore
from reveries.db.connecting import connect_read_only, finish_first_transaction, open_connection, open_with_page_sums
from reveries.db.database import Database
from reveries.db.driver import SQLITE_CORRUPT, SQLITE_FULL, SQLITE_IOERR, SQLITE_NOTADB, dbapi
from reveries.db.failpoints import Step, reach_step
from reveries.db.integrity.damage import (
    check_for_disk_changes,
    damaged_file_error,
    keep_broken_log,
    refuse_damaged,
    refuse_missing,
)
from reveries.db.integrity.page_sums import PageSums
from reveries.db.integrity.seals import unseal
from reveries.db.integrity.suspected_damage import read_pending_notice
from reveries.db.reserve import is_out_of_space, release_reserve
from reveries.db.room import disk_full_error
from reveries.db.schemas import SCHEMA_VERSION, migration_statements, schema_statements
from reveries.db.storage_errors import describe_driver_error, is_disk_full, primary_error_code, storage_errors
from reveries.errors import DatabaseTooNewError, DiskFullError, StorageError, StorageLostError
from reveries.own_files import expected_owner, find_memory_fault, find_open_memory_folder


async def open_database(path: Path, backups: Path | None = None, *, with_vector_search: bool = True) -> Database:
    """Open the memory at `path`, creating or migrating it as needed; before a migration a backup is made in `backups`.

    Raises DatabaseTooNewError for a file of a newer Reveries, StorageDamagedError for one that is damaged, or missing
    or empty although it existed before: then nothing was changed. Raises StorageError when it cannot be opened. On a
    full disk it cannot be created or migrated; an existing memory opens with the help of the disk reserve.
    """
    try:
        return await _open_checked(path, backups, with_vector_search=with_vector_search)
    except DiskFullError:
        if not release_reserve(path):
            raise
    return await _open_checked(path, backups, with_vector_search=with_vector_search)


async def _open_checked(path: Path, backups: Path | None, *, with_vector_search: bool) -> Database:
    before = os.umask(0o077)
    try:
        # Checked first: where opening fails inside aiosqlite, its thread may outlive the loop and end with a traceback.
        pages = PageSums(path)
        notice = await _run_to_completion(partial(_check_and_repair, path, backups, pages))
        connection = await open_connection(path, with_vector_search)
        try:
            has_vector_search = await _can_execute(connection, "SELECT vec_version()")
        except BaseException:  # A cancellation here would leave its thread, which keeps the process alive.
            await connection.close()
            raise
    except OSError as error:
        if is_disk_full(error):
            raise disk_full_error() from error
        raise StorageLostError(
            f"The disk failed while the memory {path} was opened: {error.strerror}.",
            advice="Nothing was changed. Check the disk, then: reveries wake",
        ) from error
    except (dbapi.Error, UnicodeDecodeError) as error:
        if isinstance(error, UnicodeDecodeError) or primary_error_code(error) in (SQLITE_CORRUPT, SQLITE_NOTADB):
            raise damaged_file_error(path, describe_driver_error(error)) from error
        if is_disk_full(error) or (primary_error_code(error) == SQLITE_IOERR and is_out_of_space(path)):
            raise disk_full_error() from error
        raise StorageError(
            f"The memory {path} cannot be opened: {describe_driver_error(error)}.",
            advice="It was not changed. A backup can take its place: reveries backup list, backup restore NAME.",
        ) from error
    finally:
        os.umask(before)
    database = Database(connection, path, pages, has_vector_search)
    try:
        database.notice = notice
        with storage_errors():
            await _migrate(database, connection, backups)
        # Words leave the index with their text, not at the next merge. SQLite before 3.42 cannot do that.
        with contextlib.suppress(DiskFullError), database.record_loss():
            for index in ("deep_words", "chunk_words"):
                await _can_execute(connection, f"INSERT INTO {index} ({index}, rank) VALUES ('secure-delete', 1)")  # noqa: S608
    except BaseException:
        await connection.close()
        raise
    return database


async def _run_to_completion(work: Callable[[], str]) -> str:
    """Run `work` in a thread. A cancelled caller waits for its end, because releasing the lock would let other
    processes in."""
    working = asyncio.get_running_loop().run_in_executor(None, work)
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        while not working.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait((working,))
        raise


def _check_and_repair(path: Path, backups: Path | None, pages: PageSums) -> str:
    """Check and repair the file; return what to show the owner, including what an earlier wake found but never showed.

    A wake may be ended or killed at any moment of this.
    """
    whose = expected_owner(path.parent)
    if around := find_open_memory_folder(path, whose):
        raise StorageError(
            f"The memory is not safe to open. {around.fault}",
            advice=around.advice("set storage.db_path, or REVERIES_HOME. Nothing was written."),
        )
    if fault := find_memory_fault(path, whose):
        raise StorageError(
            f"The memory is not safe to open. {fault}",
            advice="Nothing was written. Check what it is, and move it away.",
        )
    resume_restore(path)
    finish_first_transaction(path)
    has_past = refuse_missing(path, backups)
    finish_restore(path)
    notices = [check_for_disk_changes(path, backups), keep_broken_log(path)]
    _refuse_newer(path)
    unseal(path)
    open_with_page_sums(path, pages)
    if mended := refuse_damaged(path, has_past=has_past):
        open_with_page_sums(path, pages)
    return _join_notices(read_pending_notice(path), *notices, mended)


def _join_notices(*sentences: str) -> str:
    """Join the notices, each once. Those that could not be stored are included too."""
    joined = ""
    for sentence in sentences:
        if sentence not in joined:
            joined = f"{joined} {sentence}".strip()
    return joined


async def _can_execute(connection: aiosqlite.Connection, statement: str) -> bool:
    """Whether SQLite accepts `statement`. Raises StorageError when the disk is the reason."""
    try:
        await connection.execute_fetchall(statement)
    except dbapi.Error as error:
        if primary_error_code(error) in (SQLITE_FULL, SQLITE_IOERR):
            with storage_errors():
                raise
        return False
    return True


def _refuse_newer(path: Path) -> None:
    """Refuse a newer schema. Read-only, because opening for writing would checkpoint a log that a crash left."""
    if not path.exists():
        return
    with contextlib.closing(connect_read_only(path)) as look:
        version = look.execute("PRAGMA user_version").fetchone()[0]
    if version > SCHEMA_VERSION:
        raise DatabaseTooNewError(
            f"The memory {path} has schema {version}; this Reveries knows {SCHEMA_VERSION}.",
            advice="It was not changed. Wake it with the newer Reveries that wrote it.",
        )


async def _migrate(database: Database, connection: aiosqlite.Connection, backups: Path | None) -> None:
    [row] = await connection.execute_fetchall("PRAGMA user_version")
    version = int(row[0])
    if version == SCHEMA_VERSION:
        return
    if version and backups is not None:
        [counted] = await database.rows_of_text(
            "SELECT (SELECT count(*) FROM turns) AS turns, (SELECT count(*) FROM episodes) AS episodes", ()
        )
        counts = (int(counted["turns"]), int(counted["episodes"]))
        name = f"before-migration-{version}-to-{SCHEMA_VERSION}"
        await database.backup_to(await asyncio.to_thread(choose_copy_path, backups, name, counts))
        reach_step(Step.MIGRATION_BACKED_UP)
    while version < SCHEMA_VERSION:
        async with database.transaction():
            # A new file gets the whole schema, an older one each migration step.
            for statement in migration_statements(version + 1) if version else schema_statements():
                await connection.execute(statement)
            version = version + 1 if version else SCHEMA_VERSION
            await connection.execute(f"PRAGMA user_version={version}")
        reach_step(Step.MIGRATION_STEP)
