"""Undoes a pass of sleep: one transaction, then the live memory, with its own row in the log.

Later passes that depend on it are undone first if that was requested; otherwise the undo is refused.
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
from reveries.memory.sleep.pass_log import CORRECTION, find_run, record_change, record_self_change
from reveries.memory.sleep.pass_records import decode_record
from reveries.memory.sleep.undo_plan import RecordedChange, UndoPlan, is_built_upon, plan_undo
from reveries.memory.store import MemoryStore
from reveries.memory.text.segments import unit_mean
from reveries.protocol import SleepRun

_WHY_HELD = "what sleep made of it was undone"
_WOKEN_AT_ONCE = 50


@dataclass(frozen=True, slots=True)
class UndonePass:
    """One pass that was undone, with the undo's id and line in the log."""

    run_id: str
    undo_id: str
    line: str


class Undo:
    """Undoes passes. A pass may run at the same time, because each change is one transaction."""

    def __init__(self, store: MemoryStore, clock: Clock, new_id: Callable[[], str]) -> None:
        self._store = store
        self._clock = clock
        self._new_id = new_id
        self._deep = DeepRecall(store, clock)

    async def undo_pass(self, run: str, *, through: bool = False) -> list[UndonePass]:
        """Undo the pass whose id begins with `run`; with `through`, first those that depend on it, newest first. Each
        undo is its own transaction and stays done if a later one fails. Raises NotFoundError, UndoError.
        """
        entry = await find_run(self._store.database, run)
        _require_undoable(entry)
        undone: list[UndonePass] = []
        while dependents := await _find_dependents(self._store.database, entry.run_id):
            if not through:
                raise _dependents_error(entry, dependents)
            undone += await self.undo_pass(dependents[-1], through=True)
        await self._require_not_archived(entry)
        woken = await self._wake_dormant(entry.run_id)
        undone.append(await self._undo_one(entry, woken))
        return undone

    async def _require_not_archived(self, entry: SleepRun) -> None:
        """Raise UndoError if the owner archived anything that the pass worked on: undoing it would bring it back."""
        rows = await self._store.database.rows("consolidation.changes_of", {"run_id": entry.run_id})
        recorded = await asyncio.to_thread(_decode_recorded, rows)
        sources = {was.experience_id for change in recorded for was in change.recorded.standings}
        if await self._store.database.rows("consolidation.archived_sources", {"ids": json.dumps(sorted(sources))}):
            raise UndoError(
                f"You archived some of what the pass {entry.run_id} made.",
                advice="Bring it back first: reveries forget --bring-back",
            )

    async def _wake_dormant(self, run_id: str) -> int:
        """Wake the dormant episodes that the pass affected, so that they are restored like the rest; their fading
        starts again. Done in batches, so that new turns need not wait. Return how many were woken."""
        rows = await self._store.database.rows("consolidation.changes_of", {"run_id": run_id})
        affected = json.dumps(sorted(_affected_ids(await asyncio.to_thread(_decode_recorded, rows))))
        dormant = [str(row["id"]) for row in await self._store.database.rows("deep.only_on_disk", {"ids": affected})]
        for start in range(0, len(dormant), _WOKEN_AT_ONCE):
            await self._deep.wake_episodes(dormant[start : start + _WOKEN_AT_ONCE], "undo")
        return len(dormant)

    async def _undo_one(self, entry: SleepRun, woken: int) -> UndonePass:
        undo_id, now = self._new_id(), self._clock.now()
        line = ""

        async def work(transaction: Transaction) -> ChangeSet:
            nonlocal line
            if await transaction.rows("consolidation.undo_of", {"run_id": entry.run_id}):
                raise _already_undone_error(entry)
            # A pass that was running when the undo was requested may depend on it by now.
            if dependents := await _find_dependents(transaction, entry.run_id):
                raise _dependents_error(entry, dependents)
            rows = await transaction.rows("consolidation.changes_of", {"run_id": entry.run_id})
            recorded = await asyncio.to_thread(_decode_recorded, rows)
            _require_complete_record(entry, recorded)
            affected = json.dumps(sorted(_affected_ids(recorded)))
            if await transaction.rows("deep.only_on_disk", {"ids": affected}):
                raise _dormant_meanwhile_error(entry)
            live = self._store.live
            plan = plan_undo(recorded, live.graph.get, live.graph.strength_of, live.self_model)
            plan = await _keep_other_taints(transaction, plan)
            line = _undo_line(entry, plan, woken)
            await self._record_undo(transaction, entry, undo_id, now)
            changes = await self._build_change_set(transaction, entry.run_id, plan)
            changes = join_changes([changes, await _delete_claims(transaction, recorded)])
            await self._restore_experiences(transaction, plan, now)
            if entry.trigger == CORRECTION:
                await self._withdraw_correction(transaction, plan, now)
            await record_change(transaction, self._store, undo_id, None, changes, line, {})
            await record_self_change(transaction, undo_id, changes.self_model, now)
            return changes

        async with self._store.embedding_lock:
            await self._store.commit(work)
        return UndonePass(entry.run_id, undo_id, line)

    async def _record_undo(self, transaction: Transaction, entry: SleepRun, undo_id: str, now: float) -> None:
        named = {"id": undo_id, "depth": entry.depth, "trigger": "undo", "began_at": now}
        await transaction.run("consolidation.begin", named)
        await transaction.run("consolidation.end", {"id": undo_id, "ended_at": now, "outcome": "done"})
        await transaction.run(
            "consolidation.mark_undone", {"run_id": entry.run_id, "undo_id": undo_id, "undone_at": now}
        )
        await transaction.run("undo.drop_pending", {"run_id": entry.run_id})
        await transaction.run("notes.put_back_answered", {"run_id": entry.run_id})

    async def _restore_experiences(self, transaction: Transaction, undoing: UndoPlan, now: float) -> None:
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
        # The owner did not want the result of deep sleep: do not produce it again without a request.
        to_hold = [was.experience_id for was in undoing.experiences if was.light_slept and not was.processed]
        await transaction.run_many(
            "experiences.hold", [{"experience_id": name, "held_at": now, "why": _WHY_HELD} for name in to_hold]
        )

    async def _withdraw_correction(self, transaction: Transaction, undoing: UndoPlan, now: float) -> None:
        """Withdraw the words of a correction, or the next light sleep would make a memory of them again."""
        rows = [{"experience_id": was.experience_id, "now": now} for was in undoing.experiences if not was.light_slept]
        await transaction.run_many("monologue_state.withdraw", rows)

    async def _build_change_set(self, transaction: Transaction, run_id: str, undoing: UndoPlan) -> ChangeSet:
        """Build the changes for the live memory, and delete the rows that go."""
        live = self._store.live
        moved, unindexed = _reassign_turns(live, undoing)
        await self._delete_rows(transaction, undoing, unindexed)
        # An episode that loses a link is removed and added again with the links it keeps.
        relaid = {key[0] for key in undoing.dropped_links} - undoing.erased_ids - undoing.revived_ids
        by_id = {episode.id: episode for episode in undoing.episodes}
        for name in relaid - by_id.keys():
            if (episode := live.graph.get(name)) is not None:
                by_id[name] = episode
        vectors, provisional = await self._restore_vectors(transaction, run_id, undoing, relaid)
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

    async def _delete_rows(self, transaction: Transaction, undoing: UndoPlan, unindexed: Sequence[str]) -> None:
        live = self._store.live
        links = [
            {"from_id": source, "to_id": other, "type": kind.value} for source, other, kind in undoing.dropped_links
        ]
        await transaction.run_many("undo.drop_link", links)
        lost = [
            {"episode_id": episode.id, "experience_id": name}
            for episode in undoing.episodes
            if (now := live.graph.get(episode.id)) is not None
            for name in set(now.experience_ids) - set(episode.experience_ids)
        ]
        await transaction.run_many("undo.drop_source", lost)
        # Storing an episode never clears its taint, so a taint that the pass brought is cleared here.
        taints = [{"id": episode.id, "tainted": int(episode.tainted)} for episode in undoing.episodes]
        await transaction.run_many("undo.put_taint_back", taints)
        erased = [{"id": name} for name in sorted(undoing.erased_ids)]
        for statement in ("undo.drop_links", "undo.drop_sources", "undo.drop_dormancy", "undo.drop_episode"):
            await transaction.run_many(statement, erased)
        await transaction.run_many("vectors.drop_episode", [{"owner_id": entry["id"]} for entry in erased])
        await transaction.run_many("undo.drop_turn_vector", [{"owner_id": name} for name in unindexed])

    async def _restore_vectors(
        self, transaction: Transaction, run_id: str, undoing: UndoPlan, relaid: Iterable[str]
    ) -> tuple[dict[str, Vector], tuple[str, ...]]:
        """Return the vectors to store, and the ids of the episodes that must be embedded again."""
        live = self._store.live
        model_id = self._store.embedder.model_id
        vectors = {name: live.graph.vector_of(name).copy() for name in relaid if name in live.graph}
        kept: dict[str, Row] = {}
        for row in await transaction.rows("consolidation.vectors_of", {"run_id": run_id}):
            kept.setdefault(row["episode_id"], row)
        revived = json.dumps(sorted(undoing.revived_ids))
        named = {"owner_kind": "episode", "model_id": model_id, "owner_ids": revived}
        stored = {row["owner_id"]: row["vector"] for row in await transaction.rows("vectors.of_owners", named)}
        provisional: list[str] = []
        for episode in undoing.episodes:
            before = kept.get(episode.id)
            if before is not None and before["model_id"] == model_id:
                vectors[episode.id] = vector_of(before["vector"])
            elif before is None and episode.id in stored:
                vectors[episode.id] = vector_of(stored[episode.id])
            elif before is not None or episode.id in undoing.revived_ids:
                vectors[episode.id] = self._turn_mean(episode)
                provisional.append(episode.id)
        return vectors, tuple(provisional)

    def _turn_mean(self, episode: Episode) -> Vector:
        """Return the mean vector of the episode's turns in the live index."""
        live = self._store.live
        names = set(episode.experience_ids)
        rows = [row for turn, _ in live.turns.entries() if turn.experience_id in names
                and (row := live.turns.row_of(turn.id)) is not None]  # fmt: skip
        return unit_mean(live.turns.vectors[rows]) if rows else live.no_vector


async def _find_dependents(source: Database | Transaction, run_id: str) -> list[str]:
    """Return the ids of the passes that depend on this one, oldest first."""
    rows = await source.rows("consolidation.later_changes", {"run_id": run_id})
    changes = await source.rows("consolidation.changes_of", {"run_id": run_id})
    return await asyncio.to_thread(_filter_dependents, changes, rows)


async def _delete_claims(transaction: Transaction, changes: Sequence[RecordedChange]) -> ChangeSet:
    """Delete the claims and conflicts of a pass; return the changes that remove them from the live memory."""
    conflicts = [conflict.id for change in changes for conflict in change.recorded.conflicts]
    claims = [name for change in changes for name in change.recorded.claim_ids]
    await transaction.run_many("undo.drop_conflict", [{"id": name} for name in conflicts])
    await transaction.run_many("undo.drop_claim", [{"id": name} for name in claims])
    return ChangeSet(gone_conflict_ids=tuple(conflicts), gone_claim_ids=tuple(claims))


async def _keep_other_taints(transaction: Transaction, undoing: UndoPlan) -> UndoPlan:
    """Return `undoing` with the taints kept that the pass did not bring. Records of earlier versions may lack taints
    that a migration has restored in the database since."""
    made_of = {name for episode in undoing.episodes for name in episode.experience_ids}
    named = {"experiences": json.dumps(sorted(made_of)), "merged": json.dumps(sorted(undoing.revived_ids))}
    tainted = {row["id"] for row in await transaction.rows("undo.tainted_still", named)}

    def is_tainted(episode: Episode) -> bool:
        own = episode.tainted or episode.origin.is_tainted or episode.id in tainted
        return own or not tainted.isdisjoint(episode.experience_ids)

    return replace(
        undoing, episodes=tuple(replace(episode, tainted=is_tainted(episode)) for episode in undoing.episodes)
    )


def _reassign_turns(live: LiveMemory, undoing: UndoPlan) -> tuple[tuple[IndexedTurn, ...], tuple[str, ...]]:
    """Return the turns that go back to their earlier episodes, and the ids of those that no longer have one."""
    home = {name: episode.id for episode in undoing.episodes for name in episode.experience_ids}
    moved: list[IndexedTurn] = []
    unindexed: list[str] = []
    for name in [*(episode.id for episode in undoing.episodes), *sorted(undoing.erased_ids)]:
        for row in live.turns.rows_of(name):
            turn = live.turns.turn(row)
            episode_id = home.get(turn.experience_id or "")
            if episode_id is None:
                unindexed.append(turn.id)
            elif episode_id != name:
                moved.append(IndexedTurn(turn, episode_id, live.turns.vectors[[row]][0]))
    return tuple(moved), tuple(unindexed)


def _undo_self_change(live: LiveMemory, undoing: UndoPlan) -> SelfModelChange | None:
    if undoing.self_model is None:
        return None
    return SelfModelChange(live.self_model, undoing.self_model, "The pass that changed it was undone.", ())


async def _links_around(transaction: Transaction, ids: Iterable[str]) -> tuple[Link, ...]:
    rows = await transaction.rows("episodes.links_around", {"ids": json.dumps(sorted(ids))})
    return tuple(Link(row["from_id"], row["to_id"], LinkType(row["type"]), row["strength"]) for row in rows)


def _decode_recorded(rows: Iterable[Row]) -> list[RecordedChange]:
    return [RecordedChange(row["id"], row["experience_id"], decode_record(row["change_set"])) for row in rows]


def _affected_ids(changes: Iterable[RecordedChange]) -> set[str]:
    """Return the ids of the episodes that changes stored, merged others into, or made dormant."""
    records = [change.recorded for change in changes]
    put = {episode.id for record in records for episode in record.episodes}
    put |= {gone.episode_id for record in records for gone in record.dormant}
    return put | {gone.into for record in records for gone in record.retired}


def _filter_dependents(changes: Sequence[Row], later: Sequence[Row]) -> list[str]:
    ours = _decode_recorded(changes)
    dependents = [row["run_id"] for row in later if is_built_upon(ours, decode_record(row["change_set"]))]
    return list(dict.fromkeys(dependents))


def _require_undoable(entry: SleepRun) -> None:
    if entry.undone_by:
        raise _already_undone_error(entry)
    if entry.undoes:
        raise UndoError(
            f"{entry.run_id} is itself an undo, of {entry.undoes}.", advice="To sleep again: reveries consolidate"
        )
    if entry.outcome == "running":
        raise UndoError(f"The pass {entry.run_id} is still running.", advice="Undo it when it has ended.")


def _require_complete_record(entry: SleepRun, changes: Sequence[RecordedChange]) -> None:
    if any(change.recorded.is_erased for change in changes):
        raise UndoError(
            f"Some of what the pass {entry.run_id} did was erased, or belongs to an import that you corrected.",
            advice="It cannot be undone. To sleep on what is left: reveries consolidate. To correct an import again: "
            "reveries import --correct NAME --me WHO",
        )
    for change in changes:
        recorded_ids = {was.experience_id for was in change.recorded.standings}
        named = {*change.recorded.light_slept_ids, *change.recorded.processed_ids}
        if not named <= recorded_ids:
            raise UndoError(
                f"The pass {entry.run_id} was recorded by an earlier version, without everything that it replaced.",
                advice="It cannot be undone. To see what it replaced: reveries consolidate log " + entry.run_id,
            )


def _already_undone_error(entry: SleepRun) -> UndoError:
    return UndoError(f"The pass {entry.run_id} is already undone.", advice="See: reveries consolidate log")


def _dormant_meanwhile_error(entry: SleepRun) -> UndoError:
    return UndoError(
        f"An episode of {entry.run_id} became dormant just now.",
        advice=f"Try again: reveries consolidate undo {entry.run_id}",
    )


def _dependents_error(entry: SleepRun, dependents: Sequence[str]) -> UndoError:
    passes = f"The pass {dependents[0]}" if len(dependents) == 1 else f"The passes {', '.join(dependents)}"
    return UndoError(
        f"{passes} built upon what {entry.run_id} did.",
        advice=f"To undo those first, newest first, then this: reveries consolidate undo {entry.run_id} --through",
    )


def _undo_line(entry: SleepRun, undoing: UndoPlan, woken: int) -> str:
    count = len(undoing.episodes) - len(undoing.revived_ids)
    parts = [f"Undid {entry.run_id}: {count} {'episode' if count == 1 else 'episodes'} restored"]
    if woken:
        parts.append(f"{woken} woken from the disk")
    if undoing.revived_ids:
        parts.append(f"{len(undoing.revived_ids)} separated again")
    if undoing.erased_ids:
        parts.append(f"{len(undoing.erased_ids)} removed")
    if undoing.self_model is not None:
        parts.append("the self-model restored")
    return ", ".join(parts) + "."
