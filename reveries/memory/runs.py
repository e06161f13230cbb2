"""Each pass of sleep is a row, each thing it did another, with what stood there before: the log, and how to undo it."""

from collections.abc import Mapping

import msgspec

from reveries.db.database import Transaction
from reveries.memory.changes import ChangeSet, SelfModelChange, to_json
from reveries.memory.store import MemoryStore


async def begin_run(store: MemoryStore, run_id: str, depth: str, trigger: str, now: float) -> None:
    """Note that a pass ("light" or "deep") begins."""
    named = {"id": run_id, "depth": depth, "trigger": trigger, "began_at": now}

    async def work(transaction: Transaction) -> ChangeSet:
        await transaction.run("consolidation.begin", named)
        return ChangeSet()

    await store.commit(work)


async def end_run(store: MemoryStore, run_id: str, outcome: str, now: float) -> None:
    """Note how a pass ended."""

    async def work(transaction: Transaction) -> ChangeSet:
        await transaction.run("consolidation.end", {"id": run_id, "ended_at": now, "outcome": outcome})
        return ChangeSet()

    await store.commit(work)


async def end_broken_off_runs(store: MemoryStore) -> None:
    """After a crash: passes that never ended are over."""

    async def work(transaction: Transaction) -> ChangeSet:
        await transaction.run("consolidation.end_broken_off")
        return ChangeSet()

    await store.commit(work)


async def record_change(
    transaction: Transaction,
    store: MemoryStore,
    run_id: str,
    experience_id: str | None,
    changes: ChangeSet,
    line: str,
    counts: Mapping[str, int],
) -> None:
    """Write down what a pass does, in the transaction that does it: the change set, what stood there before, a line for
    people, and the pass's counts (processed, created, merged, fallbacks; what is not named is 0)."""
    record = {
        "run_id": run_id,
        "experience_id": experience_id,
        "change_set": to_json(changes, store.live.graph.before(changes)),
        "log": line,
    }
    await transaction.run("consolidation.record", record)
    none = {"processed": 0, "created": 0, "merged": 0, "fallbacks": 0}
    await transaction.run("consolidation.count", {"id": run_id, **none, **counts})


async def record_self_change(
    transaction: Transaction, run_id: str | None, change: SelfModelChange | None, now: float
) -> None:
    """Keep what the self-model was before (R-87). `run_id` None: no pass did it, the owner did."""
    if change is None:
        return
    named = {
        "replaced_at": now,
        "run_id": run_id,
        "reason": change.reason,
        "evidence": msgspec.json.encode(change.evidence).decode("utf-8"),
        "before": msgspec.json.encode(change.before).decode("utf-8"),
    }
    await transaction.run("self_model.remember", named)
