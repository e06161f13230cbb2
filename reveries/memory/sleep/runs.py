"""Each pass of sleep is a row, each thing it did another, with what stood there before: the log, and how to undo it."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace

import msgspec

from reveries.db.database import Transaction
from reveries.memory.changes import Before, ChangeSet, ExperienceBefore, SelfModelChange
from reveries.memory.rows import vector_bytes
from reveries.memory.sleep.records import recorded, to_json
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
    """Write down what a pass does, in the transaction that does it and before anything of it is written: the change
    set, what stood there before, a line for people, and the pass's counts (processed, created, merged, fallbacks; what
    is not named is 0)."""
    before = store.live.graph.before(changes)
    named = {*changes.light_slept_ids, *(entry.experience_id for entry in changes.processed)}
    before = replace(before, experiences=await experiences_before(transaction, named | {experience_id or ""}))
    record = {
        "run_id": run_id,
        "experience_id": experience_id,
        "change_set": to_json(recorded(changes, before)),
        "log": line,
    }
    await transaction.run("consolidation.record", record)
    await _keep_vectors(transaction, store, changes, before)
    none = {"processed": 0, "created": 0, "merged": 0, "fallbacks": 0}
    await transaction.run("consolidation.count", {"id": run_id, **none, **counts})


async def experiences_before(transaction: Transaction, ids: Iterable[str]) -> tuple[ExperienceBefore, ...]:
    """What the file says of experiences now."""
    rows = await transaction.rows("experiences.standing", {"ids": json.dumps(sorted(ids))})
    return tuple(
        ExperienceBefore(
            experience_id=row["id"],
            salience=row["salience"],
            valence=row["valence"],
            light_slept=bool(row["light_slept"]),
            processed=bool(row["processed"]),
            attempts=row["attempts"],
        )
        for row in rows
    )


async def _keep_vectors(transaction: Transaction, store: MemoryStore, changes: ChangeSet, before: Before) -> None:
    """The vectors that are about to be replaced, beside the change that was recorded last."""
    old = {episode.id for episode in before.episodes}
    rows = [
        {"episode_id": name, "model_id": store.embedder.model_id, "vector": vector_bytes(vector)}
        for name, _ in changes.vectors
        if name in old and (vector := store.live.graph.vector_of(name)).any()
    ]
    if rows:
        await transaction.run_many("consolidation.keep_vector", rows)


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
