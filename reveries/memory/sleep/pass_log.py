"""The log of sleep: a row for each pass and for each of its changes, with the state before.

Reads the log (the passes, and the changes of one pass by episode), writes it in the transaction of the change, and
rewrites records of earlier versions in a shorter form."""

import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import msgspec
import structlog

from reveries.db.database import Database, Row, Transaction
from reveries.errors import NotFoundError, UndoError
from reveries.memory.changes import ChangeSet, ExperienceBefore, PriorState, SelfModelChange
from reveries.memory.claims import UPDATE
from reveries.memory.rows import vector_bytes
from reveries.memory.self_model import LIST_FIELDS, TEXT_FIELDS
from reveries.memory.sleep.pass_records import (
    ConflictRecord,
    EpisodeChange,
    PassRecord,
    Value,
    build_pass_record,
    decode_record,
    encode_record,
)
from reveries.memory.store import MemoryStore
from reveries.protocol import ChangedEpisode, NewLink, SleepChange, SleepRun

CORRECTION = "correction"
"""The trigger of a pass caused by the owner's correction."""


@dataclass(frozen=True, slots=True)
class RunDetail:
    """A pass with all its changes, in order."""

    run: SleepRun
    changes: tuple[SleepChange, ...]


async def recent_runs(database: Database, limit: int) -> list[SleepRun]:
    """Return the latest passes, newest first."""
    return [_run_from_row(row) for row in await database.rows("consolidation.list_runs", {"limit": limit})]


async def find_run(database: Database, id_or_prefix: str) -> SleepRun:
    """Find a pass by id or unique id prefix. Raises NotFoundError if there is none, UndoError if there are several."""
    rows = await database.rows("consolidation.find_run", {"prefix": id_or_prefix})
    exact = [row for row in rows if row["id"] == id_or_prefix]
    if not rows or not id_or_prefix:
        raise NotFoundError(f"There is no pass {id_or_prefix}.", advice="To list the passes: reveries consolidate log")
    if len(rows) > 1 and not exact:
        raise UndoError(f"More than one pass begins with {id_or_prefix}.", advice="Give more letters of its id.")
    return _run_from_row((exact or rows)[0])


async def run_detail(database: Database, id_or_prefix: str) -> RunDetail:
    """Load a pass with its changes. Raises NotFoundError."""
    run = await find_run(database, id_or_prefix)
    rows = await database.rows("consolidation.changes_of", {"run_id": run.run_id})
    records = await asyncio.to_thread(_decode_changes, rows)
    dormant = json.dumps(sorted({entry.episode_id for record in records for entry in record.dormant}))
    summaries = {row["id"]: row["summary"] for row in await database.rows("episodes.summaries", {"ids": dormant})}
    diffs = [
        build_diff(row["experience_id"] or "", row["log"], record, summaries)
        for row, record in zip(rows, records, strict=True)
    ]
    return RunDetail(run, tuple(diffs))


def _decode_changes(rows: Iterable[Row]) -> list[PassRecord]:
    return [decode_record(row["change_set"]) for row in rows]


def build_diff(
    experience_id: str, line: str, recorded: PassRecord, summaries: Mapping[str, str] = MappingProxyType({})
) -> SleepChange:
    """Return one recorded change in readable form; `summaries` by id are of the episodes that became dormant. Pure."""
    diffs = [_episode_diff(change) for change in recorded.episodes if change.is_shown]
    diffs += [
        ChangedEpisode(gone.id, "merged away", gone.was.summary if gone.was is not None else "", "", gone.into)
        for gone in recorded.retired
    ]
    put = {episode.id for episode in recorded.episodes}
    diffs += [ChangedEpisode(name, "taken away", "", "") for name in recorded.removed_ids if name not in put]
    diffs += [dormant_diff(entry.episode_id, summaries.get(entry.episode_id, "")) for entry in recorded.dormant]
    return SleepChange(
        experience_id=experience_id,
        line=line,
        episodes=diffs,
        new_links=[
            NewLink(link.source_id, link.target_id, link.type.value, link.strength)
            for link, before in recorded.directed_links
            if before is None
        ],
        stronger_links=sum(before is not None for _, before in recorded.directed_links),
        self_model=list(self_lines(recorded.self_model)),
        superseded=[_conflict_line(conflict) for conflict in recorded.conflicts],
    )


def _conflict_line(conflict: ConflictRecord) -> str:
    earlier, later = f"\u201c{conflict.earlier}\u201d", f"\u201c{conflict.later}\u201d"
    if conflict.kind == UPDATE:
        return f"{earlier} ranks under {later}. {conflict.reason}"
    return f"{earlier} and {later} contradict each other. {conflict.reason}"


def dormant_diff(episode_id: str, summary: str) -> ChangedEpisode:
    """Return the diff of an episode that becomes dormant."""
    return ChangedEpisode(episode_id, "dormant", summary, "")


def self_lines(change: SelfModelChange | None) -> tuple[str, ...]:
    """Return what a change of the self-model removes ("- ") and adds ("+ ")."""
    if change is None:
        return ()
    before, after = change.before, change.after
    lines: list[str] = []
    for name in TEXT_FIELDS:
        if (old := getattr(before, name)) != (new := getattr(after, name)):
            lines += [f"{sign} {name}: {text}" for sign, text in (("-", old), ("+", new)) if text]
    for name in (name for name in LIST_FIELDS if name != "patterns"):
        lines += _list_lines(name, getattr(before, name), getattr(after, name))
    was = [f"{pattern.description} ({pattern.confidence:.2f})" for pattern in before.patterns]
    lines += _list_lines(
        "patterns", was, [f"{pattern.description} ({pattern.confidence:.2f})" for pattern in after.patterns]
    )
    return tuple(lines)


def _list_lines(name: str, before: Sequence[str], after: Sequence[str]) -> Iterable[str]:
    yield from (f"- {name}: {text}" for text in before if text not in after)
    yield from (f"+ {name}: {text}" for text in after if text not in before)


def _episode_diff(change: EpisodeChange) -> ChangedEpisode:
    if change.is_new:
        return ChangedEpisode(change.id, "new", "", change.summary, new_salience=change.salience)
    old_summary, new_summary = change.values.get("summary", (change.summary, change.summary))
    old_salience, new_salience = change.values.get("salience", (change.salience, change.salience))
    return ChangedEpisode(
        episode_id=change.id,
        what="changed",
        old_summary=str(old_summary),
        new_summary=str(new_summary),
        added_quotes=list(change.added_quotes),
        old_salience=_as_number(old_salience),
        new_salience=_as_number(new_salience),
    )


def _as_number(value: Value) -> float | None:
    return value if isinstance(value, int | float) else None


def _run_from_row(row: Row) -> SleepRun:
    return SleepRun(
        run_id=row["id"],
        depth=row["depth"],
        trigger=row["trigger"],
        began_at=row["began_at"],
        ended_at=row["ended_at"],
        processed=row["processed"],
        created=row["created"],
        merged=row["merged"],
        fallbacks=row["fallbacks"],
        outcome=row["outcome"],
        undone_by=row["undo_id"] or "",
        undoes=row["undoes"] or "",
        question=row["question"] or "",
    )


# --- writing ----------------------------------------------------------------------------------------------------------


async def begin_run(store: MemoryStore, run_id: str, depth: str, trigger: str, now: float) -> None:
    """Record the beginning of a pass ("light" or "deep")."""
    named = {"id": run_id, "depth": depth, "trigger": trigger, "began_at": now}

    async def work(transaction: Transaction) -> ChangeSet:
        await transaction.run("consolidation.begin", named)
        return ChangeSet()

    await store.commit(work)


async def end_run(store: MemoryStore, run_id: str, outcome: str, now: float) -> None:
    """Record the outcome of a pass."""

    async def work(transaction: Transaction) -> ChangeSet:
        await transaction.run("consolidation.end", {"id": run_id, "ended_at": now, "outcome": outcome})
        return ChangeSet()

    await store.commit(work)


async def end_interrupted_runs(store: MemoryStore) -> None:
    """Mark passes that a crash interrupted as ended."""

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
    """Record a change of a pass in its transaction, before the change itself is written: the change set, the state
    before, a line for people, and the pass's counts (processed, created, merged, fallbacks; missing ones are 0)."""
    before = store.live.graph.state_before(changes)
    named = {*changes.light_slept_ids, *(entry.experience_id for entry in changes.processed)}
    before = replace(before, experiences=await experiences_before(transaction, named | {experience_id or ""}))
    record = {
        "run_id": run_id,
        "experience_id": experience_id,
        "change_set": encode_record(build_pass_record(changes, before)),
        "log": line,
    }
    await transaction.run("consolidation.record", record)
    await _save_old_vectors(transaction, store, changes, before)
    none = {"processed": 0, "created": 0, "merged": 0, "fallbacks": 0}
    await transaction.run("consolidation.count", {"id": run_id, **none, **counts})


async def experiences_before(transaction: Transaction, ids: Iterable[str]) -> tuple[ExperienceBefore, ...]:
    """Load the current state of experiences."""
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


async def _save_old_vectors(
    transaction: Transaction, store: MemoryStore, changes: ChangeSet, before: PriorState
) -> None:
    """Save the vectors that are about to be replaced with the change that was recorded last."""
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
    """Save the previous self-model (R-87). `run_id` is None if the owner made the change, not a pass."""
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


# --- records of earlier versions --------------------------------------------------------------------------------------

_AT_ONCE_BYTES = 1_000_000

log = structlog.get_logger("memory")


async def shorten_records(store: MemoryStore, now: float) -> int:
    """Rewrite the records of the first form in batches, so that new turns need not wait; return how many.

    Unreadable records are left unchanged. The freed pages are reused, but the file shrinks only with VACUUM. When all
    records are checked, this is marked in the database (`now`, unix seconds), because the old form is no longer
    written.
    """
    if await store.database.rows("consolidation.is_shortened"):
        return 0
    # This reads all records, on a connection that no one waits for.
    async with store.database.snapshot() as moment:
        rows = await moment.rows("consolidation.first_form")
    done = 0
    for ids in _batches(rows):
        done += await _rewrite_records(store, ids)

    async def mark_shortened(transaction: Transaction) -> ChangeSet:
        await transaction.run("consolidation.mark_shortened", {"now": now})
        return ChangeSet()

    await store.commit(mark_shortened)
    if done:
        log.info("sleep.records_shortened", count=done)
    return done


def _batches(rows: Iterable[Row]) -> Iterator[list[int]]:
    """Yield ids of records of about _AT_ONCE_BYTES together; a single record may be larger."""
    ids, size = list[int](), 0
    for row in rows:
        if ids and size + row["bytes"] > _AT_ONCE_BYTES:
            yield ids
            ids, size = [], 0
        ids.append(int(row["id"]))
        size += row["bytes"]
    if ids:
        yield ids


async def _rewrite_records(store: MemoryStore, ids: list[int]) -> int:
    rows = await store.database.rows("consolidation.change_sets", {"ids": json.dumps(ids)})
    shorter = await asyncio.to_thread(_shorten_rows, rows)

    async def work(transaction: Transaction) -> ChangeSet:
        # Only records that are unchanged since they were read: an erasure may have emptied one meanwhile.
        await transaction.run_many("consolidation.write_anew", shorter)
        return ChangeSet()

    await store.commit(work)
    return len(shorter)


def _shorten_rows(rows: Iterable[Row]) -> list[dict[str, object]]:
    shorter: list[dict[str, object]] = []
    for row in rows:
        try:
            text = encode_record(decode_record(row["change_set"]))
        except msgspec.MsgspecError:
            log.warning("sleep.record_unreadable", id=row["id"])
            continue
        shorter.append({"id": row["id"], "old": row["change_set"], "change_set": text})
    return shorter
