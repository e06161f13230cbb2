"""Undoes a pass of sleep: one transaction, then the live memory, and a row in the log that says so.

What later passes built upon is taken back first where that was asked for, and refused where it was not.
"""

import asyncio
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from reveries.clock import Clock
from reveries.db.database import Database, Row, Transaction
from reveries.errors import UndoError
from reveries.llm.base import Vector
from reveries.memory.changes import ChangeSet, IndexedTurn, SelfModelChange, join_changes
from reveries.memory.deep_recall import DeepRecall
from reveries.memory.live import LiveMemory
from reveries.memory.model import Episode, Link, LinkType
from reveries.memory.rows import vector_of
from reveries.memory.sleep.pass_log import CORRECTION, RunEntry, find_run, record_change, record_self_change
from reveries.memory.sleep.pass_records import from_json
from reveries.memory.sleep.undo_plan import RecordedChange, UndoPlan, built_upon, undone
from reveries.memory.store import MemoryStore
from reveries.memory.text.segments import unit_mean

_WHY_HELD = "what sleep made of it was taken back"
_WOKEN_AT_ONCE = 50


@dataclass(frozen=True, slots=True)
class UndonePass:
    """One pass that was taken back, and the row of the log that says so."""

    run_id: str
    undo_id: str
    line: str


class Undo:
    """Takes passes back. A pass of sleep may be under way: each sees the other's changes whole."""

    def __init__(self, store: MemoryStore, clock: Clock, new_id: Callable[[], str]) -> None:
        self._store = store
        self._clock = clock
        self._new_id = new_id
        self._deep = DeepRecall(store, clock)

    async def take_back(self, run: str, *, through: bool = False) -> list[UndonePass]:
        """Take the pass whose id begins with `run` back; with `through`, before it those that built upon it, newest
        first. Each is a transaction of its own, so that what was taken back stays so. Raises NotFoundError, UndoError.
        """
        entry = await find_run(self._store.database, run)
        _require_undoable(entry)
        done: list[UndonePass] = []
        while blocking := await _built_upon(self._store.database, entry.id):
            if not through:
                raise _is_built_upon(entry, blocking)
            done += await self.take_back(blocking[-1], through=True)
        woken = await self._wake_dormant(entry.id)
        done.append(await self._take_back(entry, woken))
        return done

    async def _wake_dormant(self, run_id: str) -> int:
        """Bring back into memory what the pass concerns and is only on disk: it is put back like the rest, and fades
        anew. Some at a time, so that a word that comes meanwhile need not wait. How many episodes came back."""
        rows = await self._store.database.rows("consolidation.changes_of", {"run_id": run_id})
        concerned = json.dumps(sorted(_concerned_ids(await asyncio.to_thread(_decode_recorded, rows))))
        asleep = [str(row["id"]) for row in await self._store.database.rows("deep.only_on_disk", {"ids": concerned})]
        for start in range(0, len(asleep), _WOKEN_AT_ONCE):
            await self._deep.wake_episodes(asleep[start : start + _WOKEN_AT_ONCE], "undo")
        return len(asleep)

    async def _take_back(self, entry: RunEntry, woken: int) -> UndonePass:
        undo_id, now = self._new_id(), self._clock.now()
        line = ""

        async def work(transaction: Transaction) -> ChangeSet:
            nonlocal line
            if await transaction.rows("consolidation.undo_of", {"run_id": entry.id}):
                raise _was_undone(entry)
            # A pass that was under way when this was asked for may have built upon it since.
            if blocking := await _built_upon(transaction, entry.id):
                raise _is_built_upon(entry, blocking)
            rows = await transaction.rows("consolidation.changes_of", {"run_id": entry.id})
            changes = await asyncio.to_thread(_decode_recorded, rows)
            _require_whole(entry, changes)
            concerned = json.dumps(sorted(_concerned_ids(changes)))
            if await transaction.rows("deep.only_on_disk", {"ids": concerned}):
                raise _has_left(entry)
            live = self._store.live
            undoing = undone(changes, live.graph.get, live.graph.strength_of, live.self_model)
            undoing = await _tainted_still(transaction, undoing)
            line = _undo_line(entry, undoing, woken)
            await self._begin_undo(transaction, entry, undo_id, now)
            put = await self._change_set(transaction, entry.id, undoing)
            put = join_changes([put, await _erase_claims(transaction, changes)])
            await self._put_back_experiences(transaction, undoing, now)
            if entry.trigger == CORRECTION:
                await self._withdraw(transaction, undoing, now)
            await record_change(transaction, self._store, undo_id, None, put, line, {})
            await record_self_change(transaction, undo_id, put.self_model, now)
            return put

        async with self._store.space:
            await self._store.commit(work)
        return UndonePass(entry.id, undo_id, line)

    async def _begin_undo(self, transaction: Transaction, entry: RunEntry, undo_id: str, now: float) -> None:
        named = {"id": undo_id, "depth": entry.depth, "trigger": "undo", "began_at": now}
        await transaction.run("consolidation.begin", named)
        await transaction.run("consolidation.end", {"id": undo_id, "ended_at": now, "outcome": "done"})
        await transaction.run("consolidation.mark_undone", {"run_id": entry.id, "undo_id": undo_id, "undone_at": now})
        await transaction.run("undo.drop_pending", {"run_id": entry.id})

    async def _put_back_experiences(self, transaction: Transaction, undoing: UndoPlan, now: float) -> None:
        rows = [
            {
                "experience_id": was.experience_id,
                "salience": was.salience,
                "valence": was.valence,
                "light_slept": int(was.light_slept),
                "processed": int(was.processed),
                "attempts": was.attempts,
            }
            for was in undoing.experiences
        ]
        await transaction.run_many("experiences.put_back", rows)
        # What deep sleep made of it was not wanted: by itself it does not make the same again.
        held = [was.experience_id for was in undoing.experiences if was.light_slept and not was.processed]
        await transaction.run_many(
            "experiences.hold", [{"experience_id": name, "held_at": now, "why": _WHY_HELD} for name in held]
        )

    async def _withdraw(self, transaction: Transaction, undoing: UndoPlan, now: float) -> None:
        """What was said to correct something is no memory any more: else the next light sleep made it one again."""
        rows = [{"experience_id": was.experience_id, "now": now} for was in undoing.experiences if not was.light_slept]
        await transaction.run_many("monologue_state.withdraw", rows)

    async def _change_set(self, transaction: Transaction, run_id: str, undoing: UndoPlan) -> ChangeSet:
        """What the live memory is to take over; what leaves the file is taken out of it here."""
        live = self._store.live
        moved, unindexed = _turns_home(live, undoing)
        await self._erase(transaction, undoing, unindexed)
        # An episode that loses a link is laid out anew with all that it keeps.
        relaid = {key[0] for key in undoing.dropped_links} - undoing.erased_ids - undoing.revived_ids
        by_id = {episode.id: episode for episode in undoing.episodes}
        for name in relaid - by_id.keys():
            if (episode := live.graph.get(name)) is not None:
                by_id[name] = episode
        vectors, provisional = await self._vectors(transaction, run_id, undoing, relaid)
        around = await _links_around(transaction, relaid | undoing.revived_ids)
        return ChangeSet(
            removed_ids=tuple(sorted(undoing.erased_ids | relaid)),
            episodes=tuple(by_id.values()),
            vectors=tuple(vectors.items()),
            links=(*around, *undoing.links),
            indexed=moved,
            unindexed_turn_ids=unindexed,
            provisional_ids=provisional,
            self_model=_undo_self_change(live, undoing),
        )

    async def _erase(self, transaction: Transaction, undoing: UndoPlan, unindexed: Sequence[str]) -> None:
        live = self._store.live
        links = [{"from_id": one, "to_id": other, "type": kind.value} for one, other, kind in undoing.dropped_links]
        await transaction.run_many("undo.drop_link", links)
        lost = [
            {"episode_id": episode.id, "experience_id": name}
            for episode in undoing.episodes
            if (now := live.graph.get(episode.id)) is not None
            for name in set(now.experience_ids) - set(episode.experience_ids)
        ]
        await transaction.run_many("undo.drop_source", lost)
        # Putting an episode never takes its taint away; what tainted it goes here.
        taints = [{"id": episode.id, "tainted": int(episode.tainted)} for episode in undoing.episodes]
        await transaction.run_many("undo.put_taint_back", taints)
        erased = [{"id": name} for name in sorted(undoing.erased_ids)]
        for statement in ("undo.drop_links", "undo.drop_sources", "undo.drop_dormancy", "undo.drop_episode"):
            await transaction.run_many(statement, erased)
        await transaction.run_many("vectors.drop_episode", [{"owner_id": entry["id"]} for entry in erased])
        await transaction.run_many("undo.drop_turn_vector", [{"owner_id": name} for name in unindexed])

    async def _vectors(
        self, transaction: Transaction, run_id: str, undoing: UndoPlan, relaid: Iterable[str]
    ) -> tuple[dict[str, Vector], tuple[str, ...]]:
        """The vectors to put, and of which of them it is known that they are to be made anew."""
        live = self._store.live
        model_id = self._store.embedder.model_id
        vectors = {name: live.graph.vector_of(name).copy() for name in relaid if name in live.graph}
        kept: dict[str, Row] = {}
        for row in await transaction.rows("consolidation.vectors_of", {"run_id": run_id}):
            kept.setdefault(row["episode_id"], row)
        revived = json.dumps(sorted(undoing.revived_ids))
        named = {"owner_kind": "episode", "model_id": model_id, "owner_ids": revived}
        stored = {row["owner_id"]: row["vector"] for row in await transaction.rows("vectors.of_owners", named)}
        anew: list[str] = []
        for episode in undoing.episodes:
            before = kept.get(episode.id)
            if before is not None and before["model_id"] == model_id:
                vectors[episode.id] = vector_of(before["vector"])
            elif before is None and episode.id in stored:
                vectors[episode.id] = vector_of(stored[episode.id])
            elif before is not None or episode.id in undoing.revived_ids:
                vectors[episode.id] = self._mean(episode)
                anew.append(episode.id)
        return vectors, tuple(anew)

    def _mean(self, episode: Episode) -> Vector:
        """The mean of the turns that are in the live index of what `episode` was made of."""
        live = self._store.live
        names = set(episode.experience_ids)
        rows = [row for turn, _ in live.turns.entries() if turn.experience_id in names
                and (row := live.turns.row_of(turn.id)) is not None]  # fmt: skip
        return unit_mean(live.turns.vectors[rows]) if rows else live.no_vector


async def _built_upon(source: Database | Transaction, run_id: str) -> list[str]:
    """The passes that stand on what this one did, oldest first."""
    rows = await source.rows("consolidation.later_changes", {"run_id": run_id})
    changes = await source.rows("consolidation.changes_of", {"run_id": run_id})
    return await asyncio.to_thread(_blocking_runs, changes, rows)


async def _erase_claims(transaction: Transaction, changes: Sequence[RecordedChange]) -> ChangeSet:
    """Take what a pass found to be claimed out of the file; what is to leave the live memory."""
    conflicts = [conflict.id for change in changes for conflict in change.recorded.conflicts]
    claims = [name for change in changes for name in change.recorded.claim_ids]
    await transaction.run_many("undo.drop_conflict", [{"id": name} for name in conflicts])
    await transaction.run_many("undo.drop_claim", [{"id": name} for name in claims])
    return ChangeSet(gone_conflict_ids=tuple(conflicts), gone_claim_ids=tuple(claims))


async def _tainted_still(transaction: Transaction, undoing: UndoPlan) -> UndoPlan:
    """`undoing` without losing a taint that the pass did not bring. What earlier versions wrote down may say less than
    the file does now: a migration gave back what had been lost."""
    made_of = {name for episode in undoing.episodes for name in episode.experience_ids}
    named = {"experiences": json.dumps(sorted(made_of)), "merged": json.dumps(sorted(undoing.revived_ids))}
    tainted = {row["id"] for row in await transaction.rows("undo.tainted_still", named)}

    def is_tainted(episode: Episode) -> bool:
        own = episode.tainted or episode.origin.is_tainted or episode.id in tainted
        return own or not tainted.isdisjoint(episode.experience_ids)

    return replace(undoing, episodes=tuple(replace(one, tainted=is_tainted(one)) for one in undoing.episodes))


def _turns_home(live: LiveMemory, undoing: UndoPlan) -> tuple[tuple[IndexedTurn, ...], tuple[str, ...]]:
    """Turns that go back to the episodes they came from, and those that have none any more."""
    home = {name: episode.id for episode in undoing.episodes for name in episode.experience_ids}
    moved: list[IndexedTurn] = []
    unindexed: list[str] = []
    for name in [*(episode.id for episode in undoing.episodes), *sorted(undoing.erased_ids)]:
        for row in live.turns.rows_of(name):
            turn = live.turns.turn(row)
            there = home.get(turn.experience_id or "")
            if there is None:
                unindexed.append(turn.id)
            elif there != name:
                moved.append(IndexedTurn(turn, there, live.turns.vectors[[row]][0]))
    return tuple(moved), tuple(unindexed)


def _undo_self_change(live: LiveMemory, undoing: UndoPlan) -> SelfModelChange | None:
    if undoing.self_model is None:
        return None
    return SelfModelChange(live.self_model, undoing.self_model, "The pass that changed it was taken back.", ())


async def _links_around(transaction: Transaction, ids: Iterable[str]) -> tuple[Link, ...]:
    rows = await transaction.rows("episodes.links_around", {"ids": json.dumps(sorted(ids))})
    return tuple(Link(row["from_id"], row["to_id"], LinkType(row["type"]), row["strength"]) for row in rows)


def _decode_recorded(rows: Iterable[Row]) -> list[RecordedChange]:
    return [RecordedChange(row["id"], row["experience_id"], from_json(row["change_set"])) for row in rows]


def _concerned_ids(changes: Iterable[RecordedChange]) -> set[str]:
    """The episodes that changes put, those that others went into, and those that went to the disk."""
    records = [change.recorded for change in changes]
    put = {episode.id for record in records for episode in record.episodes}
    put |= {gone.episode_id for record in records for gone in record.dormant}
    return put | {gone.into for record in records for gone in record.retired}


def _blocking_runs(changes: Sequence[Row], later: Sequence[Row]) -> list[str]:
    ours = _decode_recorded(changes)
    found = [row["run_id"] for row in later if built_upon(ours, from_json(row["change_set"]))]
    return list(dict.fromkeys(found))


def _require_undoable(entry: RunEntry) -> None:
    if entry.undone_by:
        raise _was_undone(entry)
    if entry.undoes:
        raise UndoError(
            f"{entry.id} is itself the taking back of {entry.undoes}.", advice="To sleep again: reveries consolidate"
        )
    if entry.outcome == "running":
        raise UndoError(f"The pass {entry.id} is still under way.", advice="Take it back when it has ended.")


def _require_whole(entry: RunEntry, changes: Sequence[RecordedChange]) -> None:
    if any(change.recorded.is_erased for change in changes):
        raise UndoError(
            f"Some of what the pass {entry.id} did was erased on your word.",
            advice="It cannot be taken back. What is left is slept on anew: reveries consolidate",
        )
    for change in changes:
        known = {was.experience_id for was in change.recorded.standings}
        named = {*change.recorded.light_slept_ids, *change.recorded.processed_ids}
        if not named <= known:
            raise UndoError(
                f"The pass {entry.id} was written down by an earlier Reveries, without all that it replaced.",
                advice="It cannot be taken back. What it replaced is shown by: reveries consolidate log " + entry.id,
            )


def _was_undone(entry: RunEntry) -> UndoError:
    return UndoError(f"The pass {entry.id} was taken back already.", advice="See: reveries consolidate log")


def _has_left(entry: RunEntry) -> UndoError:
    return UndoError(
        f"Something that {entry.id} made left memory for the disk just now.",
        advice=f"Try again: reveries consolidate undo {entry.id}",
    )


def _is_built_upon(entry: RunEntry, blocking: Sequence[str]) -> UndoError:
    those = f"The pass {blocking[0]}" if len(blocking) == 1 else f"The passes {', '.join(blocking)}"
    return UndoError(
        f"{those} built upon what {entry.id} did.",
        advice=f"To take back those first, newest first, then this: reveries consolidate undo {entry.id} --through",
    )


def _undo_line(entry: RunEntry, undoing: UndoPlan, woken: int) -> str:
    count = len(undoing.episodes) - len(undoing.revived_ids)
    parts = [f"Took back {entry.id}: {count} {'episode' if count == 1 else 'episodes'} as before"]
    if woken:
        parts.append(f"{woken} back from the disk")
    if undoing.revived_ids:
        parts.append(f"{len(undoing.revived_ids)} apart again")
    if undoing.erased_ids:
        parts.append(f"{len(undoing.erased_ids)} taken away")
    if undoing.self_model is not None:
        parts.append("the self-model as it was")
    return ", ".join(parts) + "."
