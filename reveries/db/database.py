"""The one connection to the one file: opening, transactions, reading by name, backing up.

Acknowledging anything is allowed only after `transaction()` was left without an error: COMMIT has returned then, with
`synchronous=FULL`. No code but SQLite opens the database file (DESIGN, "Storage").
"""

import asyncio
import contextlib
import math
import os
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import aiosqlite

from reveries.db.backups import Looked, Tell, suspicion, tell_nobody
from reveries.db.connecting import connect, connected, connected_again
from reveries.db.copies import connect_beside, vacuum_into, verify_and_publish, watched
from reveries.db.damage import damaged, keep_broken_log, refuse_changed, refuse_damaged, refuse_missing
from reveries.db.driver import (
    MAY_READ_BESIDE,
    SQLITE_CORRUPT,
    SQLITE_FULL,
    SQLITE_INTERRUPT,
    SQLITE_IOERR,
    SQLITE_NOTADB,
    SQLITE_VERSION,
    dbapi,
)
from reveries.db.failpoints import Step, reached
from reveries.db.page_sums import PageSums
from reveries.db.queries import statements
from reveries.db.reading import Deadline, Moment, Parameters, Reader, Row, fetched, moment_of, rows_of
from reveries.db.room import Room
from reveries.db.schemas import migration, whole_schema
from reveries.db.scrubbing import Scrubbed, has_room, looked_and_copied, put_in_place, vacuumed
from reveries.db.seals import seal, unseal
from reveries.db.storage_errors import primary_code, storage_errors
from reveries.errors import DatabaseTooNewError, DiskFullError, StorageError, StorageLostError
from reveries.own_files import fault_of_memory, owner_of

__all__ = ["SCHEMA_VERSION", "Database", "Parameters", "Reader", "Row", "Transaction", "open_database"]

SCHEMA_VERSION: Final = 6

_TRIED_BYTES = 256 * 1024
"""What must fit before a full disk is believed to have room again."""
_COMMITS_BETWEEN_FOLDS = 50
_LOG_GROWTH_BYTES = 4 * 2**20
"""After so many commits, or when the log has grown by so much, it is folded into the file."""


_STEPS_BETWEEN_LOOKS = 10_000
"""Of SQLite's virtual machine, between two looks at the clock: well under a millisecond."""


class Transaction:
    """Statements that take effect together or not at all."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._connection = connection

    async def run(self, name: str, parameters: Parameters | None = None) -> int:
        """Run the statement called `name`; how many rows it changed."""
        cursor = await self._connection.execute(statements()[name], parameters or {})
        changed = cursor.rowcount
        await cursor.close()
        return changed

    async def run_many(self, name: str, rows: Iterable[Parameters]) -> None:
        """Run the statement called `name` once for each of `rows`."""
        await (await self._connection.executemany(statements()[name], rows)).close()

    async def rows(self, name: str, parameters: Parameters | None = None) -> list[Row]:
        """What the query called `name` finds, within this transaction."""
        return await rows_of(self._connection, name, parameters)

    async def run_text(self, statement: str) -> None:
        """Run a statement that has no name: for tables that are made while the mind lives (`vector_tables`)."""
        await (await self._connection.execute(statement)).close()

    async def run_text_many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """The same, once for each of `rows`."""
        await (await self._connection.executemany(statement, rows)).close()


class Database:
    """The open database. Made by `open_database`, closed by `aclose`."""

    def __init__(self, connection: aiosqlite.Connection, path: Path, pages: PageSums, has_vector_search: bool) -> None:
        self._connection = connection
        self._pages = pages
        self._lock = asyncio.Lock()
        self._writes = asyncio.Lock()
        """Held, before `_lock`, by whoever writes: while the file is written anew, reading goes on."""
        self._copying = asyncio.Lock()
        """Held while a copy is made: none is published that was begun before an erasure."""
        self._deadline = Deadline()
        self.path = path
        self.has_vector_search = has_vector_search
        """Whether sqlite-vec is loaded."""
        self.notice = ""
        """What the owner should know of the file as it was found."""
        self.room = Room()
        self._lost: StorageLostError | None = None
        self._is_closed = False
        self.commits = 0
        """How many transactions took effect: where it stands still, nothing was written."""
        self._folded_at_commits = 0
        self._folded_at_bytes = 0

    @property
    def sqlite_version(self) -> str:
        return SQLITE_VERSION

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """BEGIN IMMEDIATE … COMMIT; ROLLBACK when the body raises or is cancelled.

        Raises DiskFullError or StorageLostError: then nothing of the body is stored. Never await a model or a client
        inside: the lock is held. After the first StorageLostError there is no other end: a later sync may succeed
        without the data that an earlier one lost, so nothing is acknowledged any more (A4). After a DiskFullError
        nothing is tried until `try_room` finds some (A5).
        """
        self.room.require()
        async with self._transaction() as transaction:
            yield transaction

    @contextlib.asynccontextmanager
    async def look(self) -> AsyncIterator[Transaction]:
        """A transaction for looking, that may write down in passing what can be found out again: on a full disk
        nothing of that is kept, and there is still something to see. Raises StorageError."""
        if not self.room.is_full:
            async with self.transaction() as transaction:
                yield transaction
            return
        async with self._lock:
            with storage_errors():
                try:
                    await self._connection.execute("BEGIN")
                    yield Transaction(self._connection)
                finally:
                    ended = self._connection.rollback()
                    await asyncio.shield(ended)

    async def try_room(self) -> bool:
        """Whether something can be stored now; then `room` is open again. Raises StorageLostError."""
        try:
            async with self._transaction() as transaction:
                await transaction.run("room.fill", {"bytes": _TRIED_BYTES})
            async with self._transaction() as transaction:
                await transaction.run("room.clear")
        except DiskFullError:
            return False
        self.room.open()
        return True

    @contextlib.asynccontextmanager
    async def _transaction(self) -> AsyncIterator[Transaction]:
        async with self._writes, self._lock:
            if self._lost is not None:
                raise StorageLostError(self._lost.message, advice=self._lost.advice)
            with self._noticing_loss(), storage_errors():
                # The connection's thread works in order. So whichever step a cancellation hits, the rollback comes
                # after it, and does nothing where COMMIT has succeeded. Shielded, for no transaction may stay open
                # for the next one to fall into.
                try:
                    await self._connection.execute("BEGIN IMMEDIATE")
                    reached(Step.TRANSACTION_BEGUN)
                    yield Transaction(self._connection)
                    await asyncio.shield(self._commit())
                except BaseException:
                    await asyncio.shield(self._connection.rollback())
                    raise
                if self._is_log_long():
                    # What the body did is committed: a fold that finds no room takes nothing of that back.
                    with contextlib.suppress(DiskFullError), self._noticing_loss(), storage_errors():
                        await asyncio.shield(self._fold("PASSIVE"))

    async def rows(self, name: str, parameters: Parameters | None = None) -> list[Row]:
        """What the query called `name` finds in what is committed."""
        async with self._lock:
            with storage_errors():
                return await rows_of(self._connection, name, parameters)

    @contextlib.asynccontextmanager
    async def moment(self) -> AsyncIterator[Reader]:
        """What is committed now, to be read at leisure while others write; where a second connection may not read, what
        is committed whenever it is asked."""
        if not MAY_READ_BESIDE:
            yield self
            return
        with storage_errors():
            beside = await asyncio.to_thread(moment_of, self.path, self.has_vector_search)
        try:
            yield Moment(beside)
        finally:
            beside.close()

    async def rows_within(self, name: str, parameters: Parameters, seconds: float) -> list[Row]:
        """The same, in `seconds` at most, waiting included. Raises TimeoutError: the statement is broken off then, also
        for a caller that left, so that no write waits behind it."""
        return await asyncio.shield(self._rows_until(name, parameters, time.monotonic() + seconds))

    async def _rows_until(self, name: str, parameters: Parameters, until: float) -> list[Row]:
        async with self._lock:
            self._deadline.until = until
            await self._connection.set_progress_handler(self._deadline, _STEPS_BETWEEN_LOOKS)
            try:
                return await rows_of(self._connection, name, parameters)
            except dbapi.OperationalError as error:
                if getattr(error, "sqlite_errorcode", 0) == SQLITE_INTERRUPT:
                    raise TimeoutError from error
                with storage_errors():
                    raise
            finally:
                self._deadline.until = math.inf

    async def rows_of_text(self, statement: str, parameters: Sequence[object]) -> list[Row]:
        """What a query without a name finds: for tables that are made while the mind lives (`vector_tables`)."""
        async with self._lock:
            with storage_errors():
                return await fetched(await self._connection.execute(statement, parameters))

    async def backup_to(self, target: Path, tell: Tell = tell_nobody) -> Looked:
        """A verified copy of the database at `target`, seen only when it is whole. What a look at it found: texts that
        are not what was written are no reason to have no copy. `tell` is called from other threads too. Raises
        StorageError."""
        partial = target.with_suffix(".partial")
        try:
            async with self._copying:
                partial.unlink(missing_ok=True)
                try:
                    await self._copy_to(partial, tell)
                    return await asyncio.to_thread(verify_and_publish, partial, target, tell)
                except BaseException:
                    # A copy that nobody will finish would take the room that the memory needs.
                    partial.unlink(missing_ok=True)
                    raise
        except DiskFullError as error:
            raise StorageError(
                f"There is no room for the backup {target}.", advice="Free some room. The memory itself is in use."
            ) from error
        except OSError as error:
            raise StorageError(
                f"The backup {target} cannot be made: {error.strerror}.", advice="The memory itself is in use."
            ) from error

    async def _copy_to(self, partial: Path, tell: Tell) -> None:
        if not MAY_READ_BESIDE:
            async with self._lock:
                with storage_errors():
                    await self._connection.execute("VACUUM INTO ?", (str(partial),))
            return
        # On a connection of its own: a large memory takes a while to copy, and nobody waits for it.
        with storage_errors():
            beside = await asyncio.to_thread(connect_beside, self.path, self.has_vector_search)
            copying = asyncio.get_running_loop().run_in_executor(None, vacuum_into, beside, partial)
            try:
                await watched(copying, self.path, partial, tell)
            except asyncio.CancelledError:
                beside.interrupt()
                await asyncio.wait([copying])
                raise

    async def scrub(self, copy: Path | None = None) -> Scrubbed:
        """Leave nothing in the file of what was deleted: no page of it, no word of the index, no log. It is written
        anew for that and looked at, takes the old one's place, and `copy` too if one is named: a backup, as
        `backup_to` makes it. Where there is no room for that, only what SQLite overwrites by itself is gone. Whoever
        writes waits meanwhile; a caller that is cancelled leaves, and it is done all the same."""
        return await asyncio.shield(self._scrub(copy))

    async def _scrub(self, copy: Path | None) -> Scrubbed:
        async with self._copying, self._writes:
            if self._is_closed:
                return Scrubbed(is_whole=False)
            with storage_errors():
                async with self._lock:
                    await (await self._connection.execute(statements()["forget.merge_words"])).close()
                    await self._fold("TRUNCATE")
                scrubbed = await self._anew(copy) if MAY_READ_BESIDE else None
                return scrubbed or await self._vacuumed()

    async def _anew(self, copy: Path | None) -> Scrubbed | None:
        """None where it cannot be done so."""
        real = await asyncio.to_thread(self.path.resolve)
        anew, before = real.with_name(f"{real.name}.anew"), self.commits
        if not await asyncio.to_thread(has_room, real, 1):
            return None
        try:
            anew.unlink(missing_ok=True)
            await self._copy_to(anew, tell_nobody)
            looked, copied = await looked_and_copied(anew, copy)
            if looked.problems:
                return None
            async with self._lock:
                # Nothing may be lost of what was stored while the file was copied.
                is_whole = self.commits == before and await self._take_place(anew, real)
            return Scrubbed(True, looked if copied else None) if is_whole else None
        except DiskFullError:
            return None
        finally:
            anew.unlink(missing_ok=True)

    async def _take_place(self, anew: Path, real: Path) -> bool:
        """Let the file at `anew` be the memory. False where somebody else reads it: then it stays as it is."""
        await self._fold("TRUNCATE")
        await self._connection.close()
        try:
            self._pages.forget()
            is_done = await asyncio.to_thread(put_in_place, anew, real)
            await asyncio.to_thread(_follow_pages, self.path, self._pages)
            return is_done
        finally:
            with self._noticing_loss():
                self._connection = await connected_again(self.path, self.has_vector_search)

    async def _vacuumed(self) -> Scrubbed:
        async with self._lock:
            is_whole = await vacuumed(self._connection, self.path)
            await self._fold("TRUNCATE")
        return Scrubbed(is_whole)

    async def is_intact(self) -> bool:
        """SQLite's own integrity check."""
        async with self._lock:
            found = await fetched(await self._connection.execute("PRAGMA quick_check(1)"))
        return [row["quick_check"] for row in found] == ["ok"]

    @contextlib.contextmanager
    def _noticing_loss(self) -> Iterator[None]:
        try:
            yield
        except StorageLostError as error:
            self._lost = self._lost or error
            raise
        except DiskFullError:
            self.room.close()
            raise

    async def aclose(self) -> None:
        """Fold the write-ahead log into the file, and close. Raises StorageLostError when that fails: the log stays,
        and nothing of it is lost. On a full disk the log stays too, and that is no error. Idempotent."""
        async with self._writes, self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            try:
                if self._lost is None:
                    with contextlib.suppress(DiskFullError), self._noticing_loss(), storage_errors():
                        # A read that was cancelled holds its cursor, and the log, until the loop has turned once.
                        await self._connection.rollback()
                        await self._fold("TRUNCATE")
            finally:
                await self._connection.close()
            if self._lost is None and not self.path.with_name(f"{self.path.name}-wal").exists():
                await asyncio.to_thread(seal, self.path)
                suspicion(self.path).unlink(missing_ok=True)

    async def _commit(self) -> None:
        reached(Step.BEFORE_COMMIT)
        await self._connection.execute("COMMIT")
        reached(Step.AFTER_COMMIT)
        self.commits += 1

    def _is_log_long(self) -> bool:
        try:
            size = self.path.with_name(f"{self.path.name}-wal").stat().st_size
        except OSError:
            return False
        return (
            self.commits - self._folded_at_commits >= _COMMITS_BETWEEN_FOLDS
            or size > self._folded_at_bytes + _LOG_GROWTH_BYTES
        )

    async def _fold(self, how: str) -> None:
        await asyncio.to_thread(self._pages.before_fold)
        reached(Step.PAGES_NOTED)
        await (await self._connection.execute(f"PRAGMA wal_checkpoint({how})")).close()
        reached(Step.LOG_FOLDED)
        await asyncio.to_thread(self._pages.after_fold)
        self._folded_at_commits = self.commits
        with contextlib.suppress(OSError):
            self._folded_at_bytes = self.path.with_name(f"{self.path.name}-wal").stat().st_size


async def open_database(path: Path, backups: Path | None = None, *, with_vector_search: bool = True) -> Database:
    """Open the memory at `path`, making or migrating it as needed (a backup is made in `backups` before a migration).
    sqlite-vec is loaded where that can be done.

    Raises DatabaseTooNewError for a file that a newer Reveries wrote (it is left as it is), StorageDamagedError for one
    that is no whole memory, or that is missing or empty while there are backups of it: then nothing was changed.
    StorageError when it cannot be opened.
    """
    has_past = refuse_missing(path, backups)
    before = os.umask(0o077)
    try:
        # Tried first: where opening fails inside aiosqlite, its thread may outlive the loop and die of that, loudly.
        pages = PageSums(path)
        notice = await asyncio.to_thread(_try_to_open, path, backups, pages)
        connection = await connected(path, with_vector_search)
        has_vector_search = await _answers(connection, "SELECT vec_version()")
    except OSError as error:
        raise StorageLostError(
            f"The disk failed while the memory {path} was opened: {error.strerror}.",
            advice="Nothing was changed. Look at the disk, then: reveries wake",
        ) from error
    except (dbapi.Error, UnicodeDecodeError) as error:
        if isinstance(error, UnicodeDecodeError) or primary_code(error) in (SQLITE_CORRUPT, SQLITE_NOTADB):
            raise damaged(path, str(error)) from error
        raise StorageError(
            f"The memory {path} cannot be opened: {error}.",
            advice="It was not changed. A backup can take its place: reveries backup list, backup restore NAME.",
        ) from error
    finally:
        os.umask(before)
    database = Database(connection, path, pages, has_vector_search)
    database.notice = notice
    try:
        with storage_errors():
            await refuse_damaged(connection, path, has_past=has_past)
            await _bring_up_to_date(database, connection, backups)
        # Words leave the index with their text, not at the next merge. SQLite before 3.42 cannot: there they go then.
        await _answers(connection, "INSERT INTO deep_words (deep_words, rank) VALUES ('secure-delete', 1)")
    except BaseException:
        await connection.close()
        raise
    return database


def _try_to_open(path: Path, backups: Path | None, pages: PageSums) -> str:
    if fault := fault_of_memory(path, owner_of(path.parent)):
        raise StorageError(
            f"The memory is not safe to open. {fault}", advice="Nothing was written. Look at it, and move it away."
        )
    notice = f"{refuse_changed(path, backups)} {keep_broken_log(path)}".strip()
    _refuse_newer(path)
    unseal(path)
    _follow_pages(path, pages)
    return notice


def _follow_pages(path: Path, pages: PageSums) -> None:
    pages.begin()
    connect(path).close()
    pages.after_opening()


async def _answers(connection: aiosqlite.Connection, statement: str) -> bool:
    """Whether SQLite knows what `statement` asks of it. Raises StorageError when it knows and the disk does not."""
    try:
        await (await connection.execute(statement)).close()
    except dbapi.Error as error:
        if primary_code(error) in (SQLITE_FULL, SQLITE_IOERR):
            with storage_errors():
                raise
        return False
    return True


def _refuse_newer(path: Path) -> None:
    """Looked at read-only: opened for writing, a write-ahead log that a crash left would be folded into the file."""
    if not path.exists():
        return
    # Without such a log nothing but the file counts, and "immutable" keeps SQLite from laying new ones beside it.
    how = "mode=ro" if path.with_name(f"{path.name}-wal").exists() else "mode=ro&immutable=1"
    look = dbapi.connect(f"{path.absolute().as_uri()}?{how}", uri=True, timeout=5.0)
    try:
        found = look.execute("PRAGMA user_version").fetchone()[0]
    finally:
        look.close()
    if found > SCHEMA_VERSION:
        raise DatabaseTooNewError(
            f"The memory {path} has schema {found}; this Reveries knows {SCHEMA_VERSION}.",
            advice="It was not touched. Wake it with the newer Reveries that wrote it.",
        )


async def _bring_up_to_date(database: Database, connection: aiosqlite.Connection, backups: Path | None) -> None:
    cursor = await connection.execute("PRAGMA user_version")
    row = await cursor.fetchone()
    await cursor.close()
    version = int(row[0]) if row else 0
    if version == SCHEMA_VERSION:
        return
    if version and backups is not None:
        await database.backup_to(backups / f"before-migration-{version}-to-{SCHEMA_VERSION}.db")
        reached(Step.MIGRATION_BACKED_UP)
    while version < SCHEMA_VERSION:
        async with database.transaction():
            # A new file begins with the whole schema, an older one takes every step.
            for statement in migration(version + 1) if version else whole_schema():
                await connection.execute(statement)
            version = version + 1 if version else SCHEMA_VERSION
            await connection.execute(f"PRAGMA user_version={version}")
        reached(Step.MIGRATION_STEP)
