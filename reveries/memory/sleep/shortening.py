"""What earlier versions wrote down of sleep, written anew as it is now: all of it, in much less room."""

import asyncio
import json
from collections.abc import Iterable, Iterator

import msgspec
import structlog

from reveries.db.database import Row, Transaction
from reveries.memory.changes import ChangeSet
from reveries.memory.sleep.past_records import from_json
from reveries.memory.sleep.records import to_json
from reveries.memory.store import MemoryStore

_AT_ONCE_BYTES = 1_000_000

log = structlog.get_logger("memory")


async def shorten_records(store: MemoryStore, now: float) -> int:
    """Write the records of the first form anew, some at a time, so that a word that comes meanwhile need not wait. How
    many. What cannot be read stays as it is. The room is used for what comes; the file itself is no shorter until it is
    written anew. Once all was looked at, the file says so (`now`, unix seconds): nothing writes that form any more."""
    if await store.database.rows("consolidation.is_shortened"):
        return 0
    # All records are read for it, and nobody waits.
    async with store.database.moment() as moment:
        found = await moment.rows("consolidation.first_form")
    done = 0
    for ids in _batches(found):
        done += await _write_anew(store, ids)

    async def mark(transaction: Transaction) -> ChangeSet:
        await transaction.run("consolidation.mark_shortened", {"now": now})
        return ChangeSet()

    await store.commit(mark)
    if done:
        log.info("sleep.records_shortened", count=done)
    return done


def _batches(found: Iterable[Row]) -> Iterator[list[int]]:
    """Ids of about so many bytes as are held at once; one record may be more."""
    ids, size = list[int](), 0
    for row in found:
        if ids and size + row["bytes"] > _AT_ONCE_BYTES:
            yield ids
            ids, size = [], 0
        ids.append(int(row["id"]))
        size += row["bytes"]
    if ids:
        yield ids


async def _write_anew(store: MemoryStore, ids: list[int]) -> int:
    rows = await store.database.rows("consolidation.change_sets", {"ids": json.dumps(ids)})
    shorter = await asyncio.to_thread(_shorten_rows, rows)

    async def work(transaction: Transaction) -> ChangeSet:
        # Each where it still says what was read: an erasure may have emptied one meanwhile.
        await transaction.run_many("consolidation.write_anew", shorter)
        return ChangeSet()

    await store.commit(work)
    return len(shorter)


def _shorten_rows(rows: Iterable[Row]) -> list[dict[str, object]]:
    shorter: list[dict[str, object]] = []
    for row in rows:
        try:
            text = to_json(from_json(row["change_set"]))
        except msgspec.MsgspecError:
            log.warning("sleep.record_unreadable", id=row["id"])
            continue
        shorter.append({"id": row["id"], "old": row["change_set"], "change_set": text})
    return shorter
