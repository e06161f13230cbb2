"""The owner's edits of thoughts: pin one, or withdraw it so that memory ignores it.

A withdrawn thought leaves the live memory with the episode that light sleep formed from it, and sleep never processes
it again. Its text stays in the log. A thought that deep sleep has processed can only be withdrawn after undoing that
pass.
"""

from dataclasses import replace

from reveries.clock import Clock
from reveries.db.database import Transaction
from reveries.errors import UndoError
from reveries.memory.changes import ChangeSet, Touch
from reveries.memory.deep_recall import DeepRecall
from reveries.memory.model import Episode
from reveries.memory.store import MemoryStore, find_live_episode


class ThoughtEdits:
    """Pins and withdraws single thoughts, each in one transaction."""

    def __init__(self, store: MemoryStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._deep = DeepRecall(store, clock)

    async def pin(self, experience_id: str) -> None:
        """Give a thought the highest salience: sleep processes it first, and its words stay live (R-66). It still
        decays."""

        async def work(transaction: Transaction) -> ChangeSet:
            await transaction.run("monologue_state.weigh", {"experience_id": experience_id})
            home = await find_live_episode(transaction, self._store.live, experience_id)
            if home is None:
                return ChangeSet()
            touch = Touch(home.id, home.access_count + 1, self._clock.now(), 1.0, 1.0)
            return ChangeSet(touches=(touch,))

        await self._wake_experience(experience_id, "pin")
        await self._store.commit(work)

    async def withdraw(self, experience_id: str) -> None:
        """Withdraw a thought from memory. Raises UndoError if deep sleep has already processed it."""

        async def work(transaction: Transaction) -> ChangeSet:
            home = await find_live_episode(transaction, self._store.live, experience_id)
            rows = await transaction.rows("monologue_state.made_of", {"experience_id": experience_id})
            is_alone = home is None or home.experience_ids == (experience_id,)
            if any(row["processed"] and row["episode_id"] for row in rows) or not is_alone:
                raise UndoError(
                    "Deep sleep has already worked this thought into a memory.",
                    advice="Undo that pass first (reveries consolidate log, then undo), then drop the thought.",
                )
            if await transaction.rows("monologue_state.asleep_in", {"experience_id": experience_id}):
                raise UndoError("This thought was moved to the disk just now.", advice="Try again.")
            named = {"experience_id": experience_id, "now": self._clock.now()}
            await transaction.run("monologue_state.withdraw", named)
            return await self._remove_episode(transaction, home) if home is not None else ChangeSet()

        # A dormant episode is woken first, so that it is removed from the disk index too.
        await self._wake_experience(experience_id, "drop")
        async with self._store.embedding_lock:
            await self._store.commit(work)

    async def _wake_experience(self, experience_id: str, why: str) -> None:
        rows = await self._store.database.rows("monologue_state.asleep_in", {"experience_id": experience_id})
        if rows:
            await self._deep.wake_episodes([str(row["id"]) for row in rows], why)

    async def _remove_episode(self, transaction: Transaction, home: Episode) -> ChangeSet:
        """Delete the episode's rows, and return the changes for the live memory."""
        live = self._store.live
        turns = [live.turns.turn(row).id for row in live.turns.rows_of(home.id)]
        claims = [claim.id for claim in live.claims.claims.values() if claim.experience_id in home.experience_ids]
        conflicts = [
            conflict.id
            for conflict in live.claims.conflicts.values()
            if {conflict.earlier.id, conflict.later.id} & set(claims)
        ]
        await transaction.run_many("undo.drop_conflict", [{"id": name} for name in conflicts])
        await transaction.run_many("undo.drop_claim", [{"id": name} for name in claims])
        named = {"id": home.id}
        for statement in ("undo.drop_links", "undo.drop_sources", "undo.drop_dormancy", "undo.drop_episode"):
            await transaction.run(statement, named)
        await transaction.run("vectors.drop_episode", {"owner_id": home.id})
        await transaction.run_many("undo.drop_turn_vector", [{"owner_id": name} for name in turns])
        return ChangeSet(
            removed_ids=(home.id,),
            episodes=tuple(self._unchain_episodes(home)),
            unindexed_turn_ids=tuple(turns),
            gone_claim_ids=tuple(claims),
            gone_conflict_ids=tuple(conflicts),
        )

    def _unchain_episodes(self, gone: Episode) -> list[Episode]:
        """Return the neighbouring episodes without references to `gone`."""
        neighbours = [self._store.live.graph.get(name) for name in dict.fromkeys((*gone.before, *gone.after))]
        return [
            replace(
                episode,
                before=tuple(name for name in episode.before if name != gone.id),
                after=tuple(name for name in episode.after if name != gone.id),
            )
            for episode in neighbours
            if episode is not None
        ]
