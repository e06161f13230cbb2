"""When the live memory is written beside the database, and how a wake makes use of it (graph/snapshot.py has the file).

A mark is committed before the memory is copied, and earlier marks, with what was noted before, go only after the file
stands: killed at any moment, the file that is there has its mark in the database, and every change since is noted.
"""

import asyncio
import contextlib
import json
import secrets
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec
import structlog

from reveries.db.database import Database
from reveries.db.failpoints import Step, reached
from reveries.memory.changes import ChangeSet
from reveries.memory.graph.snapshot import PackedMemory, erase_snapshot, read_snapshot, write_snapshot
from reveries.memory.live import LiveMemory
from reveries.memory.waking import catch_up, misnamed_passages, read_noted, read_rows_now

_MARK_BYTES = 16

log = structlog.get_logger("memory")


class Snapshots:
    """The snapshot of one live memory."""

    def __init__(self, database: Database, live: LiveMemory, mind_name: str) -> None:
        self._database = database
        self._live = live
        self._mind_name = mind_name
        self._saved: tuple[bytes, str, int] | None = None
        """The mark of the snapshot that stands there, and whose vectors are in it, and how long they are."""
        self._renoted: tuple[str, ...] = ()
        """The turns that were noted again with that mark."""
        self._saving = asyncio.Lock()
        self._unindexed: set[str] = set()
        """Turns that left the live index in this life. The rows may say nothing of it: they are read anew at a wake,
        however many snapshots come before it."""

    @property
    def path(self) -> Path:
        """Where the snapshot is. Whoever erases an episode calls `erase_snapshot` on it."""
        return self._database.path.with_suffix(".snapshot")

    async def wake(self, model_id: str) -> bool:
        """Fill the empty live memory from the snapshot and from what changed since; whether it could be done. Else
        the memory may hold anything: fill it from the rows."""
        dimensions = self._live.dimensions
        epochs = {bytes(row["mark"]): int(row["epoch"]) for row in await self._database.rows("changed.marks")}
        found = await asyncio.to_thread(read_snapshot, self.path, epochs.keys(), model_id, dimensions)
        if found is None:
            return False
        mark, packed = found
        try:
            await asyncio.to_thread(self._live.fill, packed)
            is_caught_up = await self._catch_up(epochs[mark], model_id)
        except (ValueError, LookupError, msgspec.MsgspecError) as error:
            log.warning("snapshot.unfit", why=type(error).__name__)
            log.debug("snapshot.unfit", exc_info=True)
            return False
        if is_caught_up:
            self._saved = mark, model_id, dimensions
        return is_caught_up

    async def _catch_up(self, epoch: int, model_id: str) -> bool:
        """Take over what changed from that epoch on; False when it is too much."""
        noted = await read_noted(self._database, epoch)
        noted.turns |= misnamed_passages(self._live, self._mind_name)
        if not noted.is_worth_it(self._live):
            log.info("snapshot.too_old", changed=noted.count)
            return False
        if noted.count or noted.standings:
            now = await read_rows_now(self._database, self._live, noted, model_id, self._mind_name)
            await asyncio.to_thread(catch_up, self._live, now, self._mind_name)
        log.info("snapshot.used", changed=noted.count, stand_otherwise=len(noted.standings))
        return True

    def committed(self, changes: ChangeSet) -> None:
        """`changes` are in the file and in memory."""
        self._unindexed |= set(changes.unindexed_turn_ids)

    @contextlib.asynccontextmanager
    async def erasing(self) -> AsyncIterator[None]:
        """While something is erased no snapshot is written; what stands there is overwritten and removed after it.
        Raises OSError."""
        async with self._saving:
            yield
            self._saved = None
            await asyncio.to_thread(erase_snapshot, self.path)

    async def save(
        self,
        quiet: contextlib.AbstractAsyncContextManager[None],
        model_id: Callable[[], str],
        longest_seconds: float,
        stop: asyncio.Event | None,
    ) -> bool:
        """Write the live memory beside the database, unless what is there is of the same state; whether one stands
        there now.

        Given up after `longest_seconds`, and when `stop` is set. Within `quiet` nothing is written; then it is asked
        whose vectors are in use, and the memory copied. Raises StorageError.
        """
        wanted = _Wanted(time.monotonic() + longest_seconds, stop)
        try:
            async with self._saving:
                return await self._save(quiet, model_id, wanted)
        finally:
            wanted.is_over = True  # Whoever is cancelled leaves no thread at work.

    async def _save(
        self, quiet: contextlib.AbstractAsyncContextManager[None], model_id: Callable[[], str], wanted: "_Wanted"
    ) -> bool:
        async with quiet:
            kind = model_id(), self._live.dimensions
            if await self._is_current(*kind):
                return True
            mark, renoted = secrets.token_bytes(_MARK_BYTES), tuple(sorted(self._unindexed))
            await self._begin_epoch(mark)
            reached(Step.SNAPSHOT_MARKED)
            copied = await asyncio.to_thread(self._live.copied)
        if not await asyncio.to_thread(self._write_snapshot, copied, mark, kind[0], wanted):
            await self._run_in_thread("changed.drop", mark)
            return False
        self._saved, self._renoted = (mark, *kind), renoted
        await self._run_in_thread("changed.prune", mark, then="changed.prune_marks")
        return True

    def _write_snapshot(
        self, copied: Callable[[], PackedMemory], mark: bytes, model_id: str, wanted: "_Wanted"
    ) -> bool:
        return wanted() and write_snapshot(self.path, copied(), mark, model_id, wanted)

    async def _is_current(self, model_id: str, dimensions: int) -> bool:
        if self._saved is None or self._saved[1:] != (model_id, dimensions):
            return False
        named = {"mark": self._saved[0], "renoted": json.dumps(self._renoted)}
        return bool(await self._database.rows("changed.is_current", named))

    async def _begin_epoch(self, mark: bytes) -> None:
        async with self._database.transaction() as transaction:
            await transaction.run("changed.begin", {"mark": mark})
            await transaction.run_many("changed.note_turn", [{"id": name} for name in sorted(self._unindexed)])

    async def _run_in_thread(self, name: str, mark: bytes, then: str = "") -> None:
        async with self._database.transaction() as transaction:
            for statement in filter(None, (name, then)):
                await transaction.run(statement, {"mark": mark})


class _Wanted:
    """Whether a snapshot is still wanted; asked from a thread."""

    def __init__(self, deadline: float, stop: asyncio.Event | None) -> None:
        self._deadline = deadline
        self._stop = stop
        self.is_over = False

    def __call__(self) -> bool:
        is_stopped = self._stop is not None and self._stop.is_set()
        return not self.is_over and not is_stopped and time.monotonic() < self._deadline
