"""Archives a plan: what it names is no longer recalled, and nothing is deleted. An episode of which everything goes
becomes dormant; of one that has other sources too, the part that goes becomes an archived episode of its own."""

import json
from collections.abc import Callable
from dataclasses import replace

from reveries.db.database import Transaction
from reveries.memory.changes import ChangeSet
from reveries.memory.forgetting.erasing import ErasedCounts, ErasureRunner, remove_from_summaries
from reveries.memory.forgetting.needles import TextMatcher
from reveries.memory.forgetting.plan import ForgetPlan
from reveries.memory.forgetting.selection import RelatedRows
from reveries.memory.rows import episode_of, episode_row
from reveries.memory.store import MemoryStore

FORGOTTEN = "forgotten"
"""Dormancy reason of an episode that the owner archived."""


def plan_archive(plan: ForgetPlan, merged: frozenset[str]) -> ForgetPlan:
    """Return the part of an erasure's plan that is archived: no episode that was merged into another, because that is
    kept only for undo."""
    return ForgetPlan(
        experiences=plan.experiences,
        turns=plan.turns,
        thoughts=plan.thoughts,
        episodes=plan.episodes - merged,
        rebuilt=plan.rebuilt - merged,
    )


class ArchiveRunner:
    """Archives one plan within its transaction."""

    def __init__(
        self,
        store: MemoryStore,
        transaction: Transaction,
        plan: ForgetPlan,
        matches: TextMatcher,
        new_id: Callable[[], str],
    ) -> None:
        self._store = store
        self._transaction = transaction
        self._plan = plan
        self._matches = matches
        self._new_id = new_id
        parts = replace(plan, episodes=frozenset())
        self._rebuilding = ErasureRunner(store, transaction, parts, RelatedRows(), matches)
        self.counts = ErasedCounts()

    async def apply(self, now: float) -> ChangeSet:
        """Archive, and return the changes for the live memory."""
        transaction, plan, live = self._transaction, self._plan, self._store.live
        parts = [part for name in sorted(plan.rebuilt) if (part := await self._split_off(name)) is not None]
        archived = sorted({*plan.episodes, *parts})
        experiences = json.dumps(sorted(plan.experiences))
        await self._store.deep.erase(transaction, plan.touched | plan.turns, plan.experiences)
        changes = await self._rebuilding.rebuild()
        for part in parts:
            await self._rebuilding.put_in_own_words(part)
        self.counts.add("episodes", await transaction.run("forget.archive", {"ids": json.dumps(archived)}))
        await transaction.run("forget.withdraw_ones", {"ids": experiences, "now": now})
        await remove_from_summaries(transaction, sorted(plan.experiences), self._matches)
        self.counts.add("experiences", len(plan.experiences))
        self.counts.rebuilt = self._rebuilding.counts.rebuilt
        notes = [{"episode_id": name, "at": now, "became": "dormant", "reason": FORGOTTEN} for name in archived]
        await transaction.run_many("deep.note", notes)
        leaving = tuple(sorted(name for name in plan.episodes if name in live.graph))
        turns = tuple(live.turns.turn_id(row) for name in leaving for row in live.turns.rows_of(name))
        unindexed = tuple(dict.fromkeys([*changes.unindexed_turn_ids, *turns]))
        return replace(changes, removed_ids=(*changes.removed_ids, *leaving), unindexed_turn_ids=unindexed)

    async def _split_off(self, name: str) -> str | None:
        """Move the sources of an episode that are archived to a new episode; return its id. None if only the episode's
        own words match: those are made anew."""
        transaction = self._transaction
        rows = await transaction.rows("deep.sources_of", {"id": name})
        gone = [source for row in rows if (source := str(row["experience_id"])) in self._plan.experiences]
        if not gone:
            return None
        [row] = await transaction.rows("forget.episode_rows", {"ids": json.dumps([name])})
        part = replace(episode_of(row, gone), id=self._new_id(), before=(), after=())
        await transaction.run("episodes.put", episode_row(part))
        for source in gone:
            await transaction.run("episodes.put_source", {"episode_id": part.id, "experience_id": source})
            await transaction.run("forget.drop_source", {"episode_id": name, "experience_id": source})
        await transaction.run("forget.sleep_anew", {"ids": json.dumps(gone)})
        return part.id
