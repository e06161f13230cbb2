"""The one connection to the one file: transactions, reading by name, backing up.

Acknowledging anything is allowed only after `transaction()` was left without an error: COMMIT has returned then, with
`synchronous=FULL`. No code but SQLite opens the database file (DESIGN, "Storage").
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
"""What must fit before a full disk is believed to have room again."""
_COMMITS_BETWEEN_FOLDS = 50
_LOG_GROWTH_BYTES = 4 * 2**20
"""After so many commits, or when the log has grown by so much, it is folded into the file."""
_STEPS_BETWEEN_LOOKS = 10_000
"""Of SQLite's virtual machine, between two looks at the clock: well under a millisecond."""


class Database:
    """The open database. Made by `opening.open_database`, closed by `aclose`."""

    def __init__(self, connection: aiosqlite.Connection, path: Path, pages: PageSums, has_vector_search: bool) -> None:
        self._connection = connection
        self._pages = pages
        self._lock = asyncio.Lock()
        self._writes = asyncio.Lock()
        """Held, before `_lock`, by whoever writes: while the file is written anew, reading goes on."""
        self.pulse, self.copy_pulse = Pulse(), Pulse()
        self._copying = WatchedLock(self.copy_pulse)
        """Held while a copy is made: none is published that was begun before an erasure."""
        self._deadline = StatementDeadline()
        self.path = path
        self.has_vector_search = has_vector_search
        """Whether sqlite-vec is loaded."""
        self.is_talked_to = False
        """Whether somebody may talk while a copy is made: then that stands back."""
        self.notice = ""
        """What the owner should know of the file as it was found."""
        self.room = DiskSpace()
        self._lost: StorageLostError | None = None
        self._is_suspect = False
        self._is_closed = False
        self.commits = 0
        """How many transactions took effect: where it stands still, nothing was written."""
        self._folded_at_commits = 0
        self._folded_at_bytes = 0

    @property
    def sqlite_version(self) -> str:
        return SQLITE_VERSION

    @property
    def is_lost(self) -> bool:
        """Whether nothing is stored any more, for a write or a sync has failed."""
        return self._lost is not None

    def require_storage(self) -> None:
        """Raises StorageLostError where a write or a sync has failed, though whoever met that may have left."""
        if self._lost is not None:
            raise StorageLostError(self._lost.message, advice=self._lost.advice)

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """BEGIN IMMEDIATE … COMMIT; ROLLBACK when the body raises or is cancelled.

        Raises DiskFullError or StorageLostError: then nothing of the body is stored. Never await a model or a client
        inside: the lock is held. After the first StorageLostError there is no other end: a later sync may succeed
        without the data that an earlier one lost, so nothing is acknowledged any more (A4). After a DiskFullError
        nothing is tried until `probe_disk_space` finds some (A5).
        """
        self.room.require()
        with self.pulse.at_work():
            async with self._transaction() as transaction:
                yield transaction

    @contextlib.asynccontextmanager
    async def look(self) -> AsyncIterator[Transaction]:
        """A transaction for looking, that may write down in passing what can be found out again: on a full disk
        nothing of that is kept, and there is still something to see. Raises StorageError."""
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
        """Whether something can be stored now; then `room` is open again. Who is in the way is not waited for. Raises
        StorageError where the disk is not what refuses it, StorageLostError where it fails."""
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

    async def try_again(self) -> None:
        """After a refusal: whether something is taken now. Who is in the way is not waited for. Raises StorageError
        where something refuses it, StorageLostError where the disk fails."""
        with self.pulse.at_work(), contextlib.suppress(DiskFullError):
            async with self._transaction(waits=False) as transaction:
                await transaction.run("room.fill", {"bytes": 2})
                await transaction.run("room.clear")

    @contextlib.asynccontextmanager
    async def _transaction(self, *, waits: bool = True) -> AsyncIterator[Transaction]:
        """`waits`: a while for another program that writes."""
        async with (
            self._writes,
            self._lock,
            contextlib.nullcontext() if waits else fail_if_locked(self._connection),
        ):
            self.require_storage()
            with self.record_loss(), self._record_refusal(), storage_errors():
                # The connection's thread works in order. So whichever step a cancellation hits, the rollback comes
                # after it, and does nothing where COMMIT has succeeded. Shielded, for no transaction may stay open
                # for the next one to fall into.
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
        """What the query called `name` finds in what is committed."""
        async with self._lock:
            with self.record_loss(), storage_errors():
                return await fetch_rows(self._connection, name, parameters)

    @contextlib.asynccontextmanager
    async def moment(self) -> AsyncIterator[Reader]:
        """What is committed now, to be read at leisure while others write; where a second connection may not read, what
        is committed whenever it is asked."""
        if not CAN_READ_CONCURRENTLY:
            yield self
            return
        with self.record_loss():
            # Not while the file is written anew: it would read one that nobody else has.
            async with self._lock:
                with storage_errors():
                    beside = await asyncio.to_thread(open_snapshot_connection, self.path, self.has_vector_search)
            try:
                yield DatabaseSnapshot(beside)
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
        """What a query without a name finds: for tables that are made while the mind lives (`vector_tables`)."""
        async with self._lock:
            with self.record_loss(), storage_errors():
                return await fetch_rows_of_text(self._connection, statement, parameters)

    async def backup_to(self, target: Path, tell: BackupProgress = discard_progress) -> VerificationResult:
        """A verified copy of the database at `target`, seen only when it is whole. What a look at it found: texts that
        are not what was written are no reason to have no copy. `tell` is called from other threads too. Raises
        StorageError."""
        partial, tell = target.with_suffix(".partial"), self.copy_pulse.beat_on_call(tell)
        try:
            async with self._copying:
                await may_hang(HangPlace.COPY)
                partial.unlink(missing_ok=True)
                try:
                    await self._copy_to(partial, tell, is_low_priority=self.is_talked_to)
                    return await verify_copy(partial, target, tell, is_low_priority=self.is_talked_to)
                except BaseException:
                    # A copy that nobody will finish would take the room that the memory needs.
                    with contextlib.suppress(OSError):
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

    async def _copy_to(self, partial: Path, tell: BackupProgress, *, is_low_priority: bool) -> None:
        if not CAN_READ_CONCURRENTLY:
            async with self._lock:
                with self._record_copy_loss(partial), storage_errors():
                    await self._connection.execute("VACUUM INTO ?", (str(partial),))
            return
        # On a connection of its own: a large memory takes a while to copy, and nobody waits for it.
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
        """Leave nothing in the file of what was deleted: no page of it, no word of the index, no log. It is written
        anew for that and looked at, takes the old one's place, and `copy` too if one is named: a backup, as
        `backup_to` makes it. Where there is no room for that, only what SQLite overwrites by itself is gone. Whoever
        writes waits meanwhile; a caller that is cancelled leaves, and it is done all the same."""
        return await asyncio.shield(self._scrub(copy))

    async def _scrub(self, copy: Path | None) -> ScrubResult:
        async with self._copying, self._writes:
            if self._is_closed:
                return ScrubResult(is_whole=False)
            with self.record_loss(), storage_errors():
                async with self._lock:
                    await (await self._connection.execute(statements()["forget.merge_words"])).close()
                    await self._fold("TRUNCATE")
                scrubbed = await self._anew(copy) if CAN_READ_CONCURRENTLY else None
                return scrubbed or await self._vacuum()

    async def _anew(self, copy: Path | None) -> ScrubResult | None:
        """None where it cannot be done so."""
        real = await asyncio.to_thread(self.path.resolve)
        anew, before = real.with_name(f"{real.name}.anew"), self.commits
        if not await asyncio.to_thread(has_space_for_copies, real, 1):
            return None
        try:
            anew.unlink(missing_ok=True)
            # Whoever writes waits for it: it stands back behind nobody.
            await self._copy_to(anew, discard_progress, is_low_priority=False)
            looked, copied = await verify_and_copy(anew, copy)
            if looked.problems:
                return None
            async with self._lock:
                # Nothing may be lost of what was stored while the file was copied.
                is_whole = self.commits == before and await self._replace_file(anew, real)
            return ScrubResult(True, looked if copied else None) if is_whole else None
        except DiskFullError:
            return None
        finally:
            anew.unlink(missing_ok=True)

    async def _replace_file(self, anew: Path, real: Path) -> bool:
        """Let the file at `anew` be the memory. False where somebody else reads it: then it stays as it is."""
        await self._fold("TRUNCATE")
        await self._connection.close()
        try:
            if not await asyncio.to_thread(replace_memory_file, anew, real):
                return False  # Somebody reads it: looking at it here would drop their locks, and ours.
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
        """SQLite's own integrity check. After one that failed nothing is stored any more: the next wake puts it right.
        Raises StorageError."""
        found = await self.rows_of_text("PRAGMA quick_check(1)", ())
        verdict = " ".join(str(row["quick_check"]) for row in found)
        if verdict != "ok":
            with contextlib.suppress(StorageDamagedError), self.record_loss():
                raise damaged_in_use_error(verdict)
        return verdict == "ok"

    def suspect(self, why: str) -> None:
        """Damage was seen, here or by who read from here: the file is not sealed, and the next wake looks at all of
        it."""
        self._is_suspect = True
        note_damage(self.path, why)

    def clear_pending_notice(self) -> None:
        """The owner can see the notice: no later life has to tell it."""
        clear_pending_notice(self.path)

    @contextlib.contextmanager
    def record_loss(self) -> Iterator[None]:
        """What passes that says that the storage is lost, or full, counts from then on."""
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
        """Whatever else kept something from being stored is told until a commit succeeds (H3)."""
        try:
            yield
        except StorageError as error:
            if isinstance(error.__cause__, dbapi.OperationalError) and type(error) is StorageError:
                self.room.refused(f"What is new is not stored. {error}")
            raise

    @contextlib.contextmanager
    def _record_copy_loss(self, copy: Path) -> Iterator[None]:
        """The same while a copy is made. Where that has no room, the memory may have some all the same; and where its
        disk fails, and is another one, the memory's is well."""
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
        """Fold the write-ahead log into the file, and close. Raises StorageLostError when that fails: the log stays,
        and nothing of it is lost. On a full disk the log stays too, and that is no error. Idempotent."""
        async with self._writes, self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            try:
                if self._lost is None:
                    with contextlib.suppress(DiskFullError), storage_errors():
                        # A read that was cancelled holds its cursor, and the log, until the loop has turned once.
                        await self._connection.rollback()
                        await self._fold("TRUNCATE")
            finally:
                await self._connection.close()
            is_well = self._lost is None and not self._is_suspect
            if is_well and not log_of(self.path).exists():
                await asyncio.to_thread(seal, self.path)
                clear_damage_note(self.path)

    async def _commit(self) -> None:
        # Noticed here and not by who waits: a caller that is cancelled is gone when the disk refuses.
        self.require_storage()
        with self.record_loss(), storage_errors():
            reach_step(Step.BEFORE_COMMIT)
            await self._connection.execute("COMMIT")
            reach_step(Step.AFTER_COMMIT)
            self.commits += 1
        self.room.stored()

    def _is_log_long(self) -> bool:
        commits = self.commits - self._folded_at_commits
        return commits >= _COMMITS_BETWEEN_FOLDS or log_bytes(self.path) > self._folded_at_bytes + _LOG_GROWTH_BYTES

    async def _fold_uninterrupted(self) -> None:
        """A caller that is cancelled waits for it all the same: nobody may commit while the pages are noted."""
        ended = asyncio.Event()

        async def fold() -> None:
            try:
                # What the transaction did is committed: a fold that is refused takes nothing of that back.
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
        """Whether the whole log is in the file: where another program reads, what it reads stays as it was."""
        with self.record_loss(), storage_errors():
            await asyncio.to_thread(self._pages.before_fold)
            reach_step(Step.PAGES_NOTED)
            [folded] = await fetch_rows_of_text(self._connection, f"PRAGMA wal_checkpoint({how})", ())
            reach_step(Step.LOG_FOLDED)
            await asyncio.to_thread(self._pages.after_fold)
        self._folded_at_commits = self.commits
        self._folded_at_bytes = log_bytes(self.path)
        return not folded["busy"]
