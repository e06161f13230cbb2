"""The single writing connection to the memory file: transactions, named queries, backups.

Acknowledge a write only after `transaction()` has exited without an error: COMMIT has returned then, with
`synchronous=FULL`. Only SQLite opens the database file (DESIGN, "Storage").
"""

import asyncio
import contextlib
import math
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import aiosqlite

from reveries.db.backups import BackupProgress, VerificationResult, discard_progress
from reveries.db.connecting import fail_if_locked, open_with_page_sums, reopen_connection
from reveries.db.copies import connect_reader, is_on_another_disk, vacuum_into, verify_copy, watch_copying
from reveries.db.driver import CAN_READ_CONCURRENTLY, SQLITE_INTERRUPT, SQLITE_VERSION, dbapi
from reveries.db.failpoints import HangPlace, Step, may_hang, reach_step
from reveries.db.integrity.page_sums import PageSums
from reveries.db.integrity.scrubbing import (
    ScrubResult,
    has_space_for_copies,
    replace_memory_file,
    vacuum_in_place,
    verify_and_copy,
)
from reveries.db.integrity.seals import seal
from reveries.db.integrity.suspected_damage import clear_damage_note, clear_pending_notice, note_damage
from reveries.db.integrity.write_ahead_log import log_bytes, log_of
from reveries.db.queries import statements
from reveries.db.reading import (
    DatabaseSnapshot,
    Parameters,
    Reader,
    Row,
    StatementDeadline,
    fetch_rows,
    fetch_rows_of_text,
    open_snapshot_connection,
)
from reveries.db.reserve import is_out_of_space
from reveries.db.room import DiskSpace, disk_full_error
from reveries.db.storage_errors import damaged_in_use_error, is_failed_write, primary_error_code, storage_errors
from reveries.db.transactions import ReadOnlyTransaction, Transaction
from reveries.errors import DiskFullError, StorageDamagedError, StorageError, StorageLostError
from reveries.heartbeat import Pulse, WatchedLock

__all__ = ["Database", "Parameters", "Reader", "Row", "Transaction"]

_PROBE_BYTES = 256 * 1024
"""Bytes that must fit before a full disk counts as having space again."""
_COMMITS_BETWEEN_FOLDS = 50
_LOG_GROWTH_BYTES = 4 * 2**20
"""The log is checkpointed after so many commits, or when it has grown by so many bytes."""
_MOST_FOLD_SPACING = 32
"""While a reading program keeps a part of the log back, each checkpoint waits twice as long as the one before, up to
this factor: each reads all of the log for the page checksums."""
_STEPS_BETWEEN_LOOKS = 10_000
"""SQLite virtual machine steps between two deadline checks: well under a millisecond."""


class Database:
    """The open database. Create it with `opening.open_database`, close it with `aclose`."""

    def __init__(self, connection: aiosqlite.Connection, path: Path, pages: PageSums, has_vector_search: bool) -> None:
        self._connection = connection
        self._pages = pages
        self._lock = asyncio.Lock()
        self._writes = asyncio.Lock()
        """Taken before `_lock` by every writer: reads go on while the file is rewritten."""
        self.pulse, self.copy_pulse = Pulse(), Pulse()
        self._copying = WatchedLock(self.copy_pulse)
        """Held while a copy is made, so that no copy begun before an erasure is published."""
        self._deadline = StatementDeadline()
        self.path = path
        self.has_vector_search = has_vector_search
        """Whether sqlite-vec is loaded."""
        self.has_conversation = False
        """Whether a client may be talking: copies then run at low priority."""
        self.notice = ""
        """What the owner should know about the state in which the file was found."""
        self.room = DiskSpace()
        self._lost: StorageLostError | None = None
        self._is_suspect = False
        self._is_closed = False
        self.commits = 0
        """Number of committed transactions; unchanged means nothing was written."""
        self._folded_at_commits = 0
        self._folded_at_bytes = 0
        self._fold_spacing = 1

    @property
    def sqlite_version(self) -> str:
        return SQLITE_VERSION

    @property
    def is_lost(self) -> bool:
        """Whether a write or sync has failed, so that nothing is stored any more."""
        return self._lost is not None

    def require_storage(self) -> None:
        """Raise StorageLostError if a write or sync has failed, even if the caller that saw the failure is gone."""
        if self._lost is not None:
            raise StorageLostError(self._lost.message, advice=self._lost.advice)

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """BEGIN IMMEDIATE … COMMIT; ROLLBACK when the body raises or is cancelled.

        Raises DiskFullError or StorageLostError: then nothing of the body is stored. Never await a model or a client
        inside: the lock is held. After the first StorageLostError every transaction fails: a later sync may succeed
        without the data that an earlier one lost, so nothing is acknowledged any more (A4). After a DiskFullError
        nothing is tried until `probe_disk_space` succeeds (A5).
        """
        self.room.require()
        with self.pulse.at_work():
            async with self._transaction() as transaction:
                yield transaction

    @contextlib.asynccontextmanager
    async def reading_transaction(self) -> AsyncIterator[Transaction]:
        """Open a transaction for reading that may also store values which can be recomputed.

        On a full disk these writes are discarded and reading still works. Raises StorageError.
        """
        if not self.room.is_full and not self.room.refusal:
            async with self.transaction() as transaction:
                yield transaction
            return
        async with self._lock, fail_if_locked(self._connection):
            with self.record_loss(), storage_errors():
                try:
                    await self._connection.execute("BEGIN")
                    yield ReadOnlyTransaction(self._connection)
                finally:
                    ended = self._connection.rollback()
                    await asyncio.shield(ended)

    async def probe_disk_space(self) -> bool:
        """Whether something can be stored now; if so, open `room` again. Does not wait for other programs.

        Raises StorageError where the disk is not the reason, StorageLostError where the disk fails.
        """
        with self.pulse.at_work():
            try:
                async with self._transaction(waits=False) as transaction:
                    await transaction.run("room.fill", {"bytes": _PROBE_BYTES})
                async with self._transaction(waits=False) as transaction:
                    await transaction.run("room.clear")
            except DiskFullError:
                return False
        self.room.open()
        return True

    async def retry_write(self) -> None:
        """Retry a small write after a refused one. Does not wait for other programs.

        Raises StorageError where it is refused again, StorageLostError where the disk fails.
        """
        with self.pulse.at_work(), contextlib.suppress(DiskFullError):
            async with self._transaction(waits=False) as transaction:
                await transaction.run("room.fill", {"bytes": 2})
                await transaction.run("room.clear")

    @contextlib.asynccontextmanager
    async def _transaction(self, *, waits: bool = True) -> AsyncIterator[Transaction]:
        """`waits`: wait a while for another program that writes."""
        async with (
            self._writes,
            self._lock,
            contextlib.nullcontext() if waits else fail_if_locked(self._connection),
        ):
            self.require_storage()
            with self.record_loss(), self._record_refusal(), storage_errors():
                # The connection's thread runs statements in order, so the rollback runs after whichever step was
                # cancelled, and does nothing after a successful COMMIT. It is shielded because no transaction may stay
                # open for the next one to run into.
                try:
                    await self._connection.execute("BEGIN IMMEDIATE")
                    reach_step(Step.TRANSACTION_BEGUN)
                    await may_hang(HangPlace.TRANSACTION)
                    yield Transaction(self._connection)
                    await asyncio.shield(self._commit())
                except BaseException:
                    await asyncio.shield(self._connection.rollback())
                    raise
                if self._is_log_long():
                    await self._fold_uninterrupted()

    async def rows(self, name: str, parameters: Parameters | None = None) -> list[Row]:
        """Return the committed rows of the query `name`."""
        async with self._lock:
            with self.record_loss(), storage_errors():
                return await fetch_rows(self._connection, name, parameters)

    @contextlib.asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Reader]:
        """Open a consistent snapshot of the committed data, to read while others write.

        Where a second connection may not read, each query sees what is committed when it runs.
        """
        if not CAN_READ_CONCURRENTLY:
            yield self
            return
        with self.record_loss():
            # Not while the file is rewritten: the snapshot would read the old file.
            async with self._lock:
                with storage_errors():
                    beside = await asyncio.to_thread(open_snapshot_connection, self.path, self.has_vector_search)
            try:
                yield DatabaseSnapshot(beside)
            finally:
                beside.close()

    async def rows_within(self, name: str, parameters: Parameters, seconds: float) -> list[Row]:
        """Like `rows`, within `seconds` including the wait for the lock. Raises TimeoutError.

        The statement is interrupted then, even if the caller has gone, so that no write waits behind it.
        """
        return await asyncio.shield(self._rows_until(name, parameters, time.monotonic() + seconds))

    async def _rows_until(self, name: str, parameters: Parameters, until: float) -> list[Row]:
        async with self._lock:
            self._deadline.until = until
            await self._connection.set_progress_handler(self._deadline, _STEPS_BETWEEN_LOOKS)
            with self.record_loss(), storage_errors():
                try:
                    return await fetch_rows(self._connection, name, parameters)
                except dbapi.OperationalError as error:
                    if primary_error_code(error) == SQLITE_INTERRUPT:
                        raise TimeoutError from error
                    raise
                finally:
                    self._deadline.until = math.inf

    async def rows_of_text(self, statement: str, parameters: Sequence[object]) -> list[Row]:
        """Run a query without a name: for tables that are created at run time (`vector_tables`)."""
        async with self._lock:
            with self.record_loss(), storage_errors():
                return await fetch_rows_of_text(self._connection, statement, parameters)

    async def backup_to(self, target: Path, tell: BackupProgress = discard_progress) -> VerificationResult:
        """Write a verified copy of the database to `target`, visible only once complete. Return what verification
        found.

        Texts whose checksum fails do not prevent the copy. `tell` is also called from other threads. Raises
        StorageError.
        """
        partial, tell = target.with_suffix(".partial"), self.copy_pulse.beat_on_call(tell)
        try:
            async with self._copying:
                await may_hang(HangPlace.COPY)
                partial.unlink(missing_ok=True)
                try:
                    await self._copy_to(partial, tell, is_low_priority=self.has_conversation)
                    return await verify_copy(partial, target, tell, is_low_priority=self.has_conversation)
                except BaseException:
                    # An unfinished copy would take the space that the memory needs.
                    with contextlib.suppress(OSError):
                        partial.unlink(missing_ok=True)
                    raise
        except DiskFullError as error:
            raise StorageError(
                f"There is no space for the backup {target}.", advice="Free some space. The memory itself stays in use."
            ) from error
        except OSError as error:
            raise StorageError(
                f"The backup {target} cannot be made: {error.strerror}.", advice="The memory itself is in use."
            ) from error

    async def _copy_to(self, partial: Path, tell: BackupProgress, *, is_low_priority: bool) -> None:
        if not CAN_READ_CONCURRENTLY:
            async with self._lock:
                with self._record_copy_loss(partial), storage_errors():
                    await self._connection.execute("VACUUM INTO ?", (str(partial),))
            return
        # A second connection: copying a large memory takes a while and must not block the writer.
        with self._record_copy_loss(partial), storage_errors():
            beside = await asyncio.to_thread(connect_reader, self.path, self.has_vector_search)
            copying = asyncio.get_running_loop().run_in_executor(None, vacuum_into, beside, partial, is_low_priority)
            try:
                await watch_copying(copying, self.path, partial, tell)
            except asyncio.CancelledError:
                beside.interrupt()
                await asyncio.wait([copying])
                raise

    async def scrub(self, copy: Path | None = None) -> ScrubResult:
        """Rewrite the file so that no deleted page, index word or log entry is left in it.

        The rewritten file is verified and replaces the old one; with `copy` it also becomes a backup there, as
        `backup_to` makes it. Without enough disk space only what SQLite overwrites itself is gone. Writers wait
        meanwhile. A cancelled caller returns at once; the work continues.
        """
        return await asyncio.shield(self._scrub(copy))

    async def _scrub(self, copy: Path | None) -> ScrubResult:
        async with self._copying, self._writes:
            if self._is_closed:
                return ScrubResult(is_whole=False)
            with self.record_loss(), storage_errors():
                async with self._lock:
                    await (await self._connection.execute(statements()["forget.merge_words"])).close()
                    await self._fold("TRUNCATE")
                scrubbed = await self._rewrite_file(copy) if CAN_READ_CONCURRENTLY else None
                return scrubbed or await self._vacuum()

    async def _rewrite_file(self, copy: Path | None) -> ScrubResult | None:
        """Rewrite the file through a copy; None where that is not possible."""
        real = await asyncio.to_thread(self.path.resolve)
        anew, before = real.with_name(f"{real.name}.anew"), self.commits
        if not await asyncio.to_thread(has_space_for_copies, real, 1):
            return None
        try:
            anew.unlink(missing_ok=True)
            # Writers wait for it, so it runs at normal priority.
            await self._copy_to(anew, discard_progress, is_low_priority=False)
            looked, copied = await verify_and_copy(anew, copy)
            if looked.problems:
                return None
            async with self._lock:
                # A commit since the copy began would be lost.
                is_whole = self.commits == before and await self._replace_file(anew, real)
            return ScrubResult(True, looked if copied else None) if is_whole else None
        except DiskFullError:
            return None
        finally:
            anew.unlink(missing_ok=True)

    async def _replace_file(self, anew: Path, real: Path) -> bool:
        """Put the file at `anew` in the place of the memory. False where another program reads it: then nothing
        changes."""
        await self._fold("TRUNCATE")
        await self._connection.close()
        try:
            if not await asyncio.to_thread(replace_memory_file, anew, real):
                return False  # Another program reads it: opening it here would drop its locks and ours.
            self._pages.forget()
            await asyncio.to_thread(open_with_page_sums, self.path, self._pages)
            return True
        finally:
            with self.record_loss():
                self._connection = await reopen_connection(self.path, self.has_vector_search)

    async def _vacuum(self) -> ScrubResult:
        async with self._lock:
            is_whole = await vacuum_in_place(self._connection, self.path)
            return ScrubResult(await self._fold("TRUNCATE") and is_whole)

    async def is_intact(self) -> bool:
        """Run SQLite's quick check. After a failed one nothing is stored; the next wake repairs it. Raises
        StorageError."""
        rows = await self.rows_of_text("PRAGMA quick_check(1)", ())
        verdict = " ".join(str(row["quick_check"]) for row in rows)
        if verdict != "ok":
            with contextlib.suppress(StorageDamagedError), self.record_loss():
                raise damaged_in_use_error(verdict)
        return verdict == "ok"

    def suspect(self, why: str) -> None:
        """Record that damage was seen: the file is not sealed, and the next wake checks all of it."""
        self._is_suspect = True
        note_damage(self.path, why)

    def clear_pending_notice(self) -> None:
        """The owner has been shown the notice: later starts need not show it."""
        clear_pending_notice(self.path)

    @contextlib.contextmanager
    def record_loss(self) -> Iterator[None]:
        """Record an error that says the storage is lost or full, and raise it again."""
        try:
            yield
        except StorageLostError as error:
            if is_failed_write(error.__cause__) and is_out_of_space(self.path):
                self.room.close()
                raise disk_full_error() from error
            self._lost = self._lost or error
            if isinstance(error, StorageDamagedError):
                self.suspect(error.message)
            raise
        except DiskFullError:
            self.room.close()
            raise

    @contextlib.contextmanager
    def _record_refusal(self) -> Iterator[None]:
        """Record any other reason that kept a write from being stored; it is shown until a commit succeeds (H3)."""
        try:
            yield
        except StorageError as error:
            if isinstance(error.__cause__, dbapi.OperationalError) and type(error) is StorageError:
                self.room.record_refusal(f"What is new is not stored. {error}")
            raise

    @contextlib.contextmanager
    def _record_copy_loss(self, copy: Path) -> Iterator[None]:
        """Like `record_loss` while a copy is made.

        A full disk there may not concern the memory; a failing disk concerns it only if it is the same disk.
        """
        try:
            yield
        except StorageLostError as error:
            if not isinstance(error, StorageDamagedError) and is_on_another_disk(copy, self.path):
                raise StorageError(
                    f"The disk of {copy.parent} failed: {error.message}", advice="The memory itself is in use."
                ) from error
            with self.record_loss():
                raise

    async def aclose(self) -> None:
        """Checkpoint the log into the file, and close. Idempotent.

        Raises StorageLostError when that fails: the log stays, and nothing in it is lost. On a full disk the log stays
        too, without an error.
        """
        async with self._writes, self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            try:
                if self._lost is None:
                    with contextlib.suppress(DiskFullError), storage_errors():
                        # A cancelled read holds its cursor, and the log, until the event loop has run once.
                        await self._connection.rollback()
                        await self._fold("TRUNCATE")
            finally:
                await self._connection.close()
            is_well = self._lost is None and not self._is_suspect
            if is_well and not log_of(self.path).exists():
                await asyncio.to_thread(seal, self.path)
                clear_damage_note(self.path)

    async def _commit(self) -> None:
        # Recorded here and not by the waiting caller, which may be cancelled when the disk refuses.
        self.require_storage()
        with self.record_loss(), storage_errors():
            reach_step(Step.BEFORE_COMMIT)
            await self._connection.execute("COMMIT")
            reach_step(Step.AFTER_COMMIT)
            self.commits += 1
        self.room.record_write()

    def _is_log_long(self) -> bool:
        commits, spacing = self.commits - self._folded_at_commits, self._fold_spacing
        growth_bytes = log_bytes(self.path) - self._folded_at_bytes
        return commits >= _COMMITS_BETWEEN_FOLDS * spacing or growth_bytes > _LOG_GROWTH_BYTES * spacing

    async def _fold_uninterrupted(self) -> None:
        """Checkpoint the log. A cancelled caller waits for the end: nothing may commit while page checksums are
        written."""
        ended = asyncio.Event()

        async def fold() -> None:
            try:
                # The transaction is committed already: a failed checkpoint does not undo it.
                with contextlib.suppress(StorageError):
                    await self._fold("PASSIVE")
            finally:
                ended.set()

        folding, is_cancelled = asyncio.shield(fold()), False
        while not ended.is_set():
            try:
                await (ended.wait() if is_cancelled else folding)
            except asyncio.CancelledError:
                is_cancelled = True
        if is_cancelled:
            raise asyncio.CancelledError
        self.require_storage()

    async def _fold(self, how: str) -> bool:
        """Checkpoint the log. Whether all of it is in the file; a reading program may keep a part back."""
        with self.record_loss(), storage_errors():
            await asyncio.to_thread(self._pages.before_fold)
            reach_step(Step.PAGES_NOTED)
            [folded] = await fetch_rows_of_text(self._connection, f"PRAGMA wal_checkpoint({how})", ())
            reach_step(Step.LOG_FOLDED)
            await asyncio.to_thread(self._pages.after_fold)
        self._folded_at_commits = self.commits
        self._folded_at_bytes = log_bytes(self.path)
        is_kept_back = folded["checkpointed"] < folded["log"]
        self._fold_spacing = min(2 * self._fold_spacing, _MOST_FOLD_SPACING) if is_kept_back else 1
        return not folded["busy"]
