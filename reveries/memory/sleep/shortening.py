"""What earlier versions wrote down of sleep, written anew as it is now: all of it, in much less room."""

import asyncio

import structlog

from reveries.db.database import Row, Transaction
from reveries.memory.changes import ChangeSet
from reveries.memory.sleep.past_records import from_json
from reveries.memory.sleep.records import to_json
from reveries.memory.store import MemoryStore

_AT_ONCE = 20

log = structlog.get_logger("memory")


async def shorten_records(store: MemoryStore) -> int:
    """Write the records of the first form anew, some at a time, so that a word that comes meanwhile need not wait. How
    many. The room is used for what comes; the file itself is no shorter until it is written anew."""
    after, done = 0, 0
    while rows := await store.database.rows("consolidation.first_form", {"after": after, "limit": _AT_ONCE}):
        ids = [int(row["id"]) for row in rows]

        async def work(transaction: Transaction, first: int = after, last: int = ids[-1]) -> ChangeSet:
            # Read again: an erasure may have emptied one.
            still = await transaction.rows("consolidation.first_form", {"after": first, "limit": _AT_ONCE})
            shorter = await asyncio.to_thread(_shortened, [row for row in still if row["id"] <= last])
            await transaction.run_many("consolidation.write_anew", shorter)
            return ChangeSet()

        await store.commit(work)
        after, done = ids[-1], done + len(ids)
    if done:
        log.info("sleep.records_shortened", count=done)
    return done


def _shortened(rows: list[Row]) -> list[dict[str, object]]:
    return [{"id": row["id"], "change_set": to_json(from_json(row["change_set"]))} for row in rows]
