"""The owner's edits of thoughts: keep one, or withdraw it so that memory makes nothing of it.

A thought that is dropped leaves the live memory with the episode that light sleep made of it, and no sleep looks at it
again. Its words stay in the log. What deep sleep has worked into something else is taken back with that pass, not here.
"""

from dataclasses import replace

from reveries.clock import Clock
from reveries.db.database import Transaction
from reveries.errors import UndoError
from reveries.memory.changes import ChangeSet, Touch
from reveries.memory.deep_recall import DeepRecall
from reveries.memory.model import Episode
from reveries.memory.store import MemoryStore, home_of


class ThoughtEdits:
    """Changes what memory makes of single thoughts, each in one transaction."""

    def __init__(self, store: MemoryStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._deep = DeepRecall(store, clock)

    async def pin(self, experience_id: str) -> None:
        """It matters as much as anything can: it is slept on first, and its words stay at hand (R-66). It fades like
        everything that nobody thinks of."""

        async def work(transaction: Transaction) -> ChangeSet:
            await transaction.run("monologue_state.weigh", {"experience_id": experience_id})
            home = await home_of(transaction, self._store.live, experience_id)
            if home is None:
                return ChangeSet()
            touch = Touch(home.id, home.access_count + 1, self._clock.now(), 1.0, 1.0)
            return ChangeSet(touches=(touch,))

        await self._wake_experience(experience_id, "pin")
        await self._store.commit(work)

    async def withdraw(self, experience_id: str) -> None:
        """Memory makes nothing of it. Raises UndoError where deep sleep has already made something of it."""

        async def work(transaction: Transaction) -> ChangeSet:
            home = await home_of(transaction, self._store.live, experience_id)
            rows = await transaction.rows("monologue_state.made_of", {"experience_id": experience_id})
            is_alone = home is None or home.experience_ids == (experience_id,)
            if any(row["processed"] and row["episode_id"] for row in rows) or not is_alone:
                raise UndoError(
                    "Deep sleep has already made something of this thought.",
                    advice="Take that pass back first: reveries consolidate log, then undo; then drop it.",
                )
            if await transaction.rows("monologue_state.asleep_in", {"experience_id": experience_id}):
                raise UndoError("This thought left memory for the disk just now.", advice="Drop it once more.")
            named = {"experience_id": experience_id, "now": self._clock.now()}
            await transaction.run("monologue_state.withdraw", named)
            return await self._without(transaction, home) if home is not None else ChangeSet()

        # What is only on the disk is taken away like the rest: from there it could still be found.
        await self._wake_experience(experience_id, "drop")
        async with self._store.space:
            await self._store.commit(work)

    async def _wake_experience(self, experience_id: str, why: str) -> None:
        rows = await self._store.database.rows("monologue_state.asleep_in", {"experience_id": experience_id})
        if rows:
            await self._deep.wake_episodes([str(row["id"]) for row in rows], why)

    async def _without(self, transaction: Transaction, home: Episode) -> ChangeSet:
        """What the live memory is to take over; what leaves the file is taken out of it here."""
        live = self._store.live
        turns = [live.turns.turn(row).id for row in live.turns.rows_of(home.id)]
        claims = [claim.id for claim in live.claims.claims.values() if claim.experience_id in home.experience_ids]
        conflicts = [one.id for one in live.claims.conflicts.values() if {one.earlier.id, one.later.id} & set(claims)]
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
        """The episodes beside it, which no longer name it."""
        beside = [self._store.live.graph.get(name) for name in dict.fromkeys((*gone.before, *gone.after))]
        return [
            replace(
                episode,
                before=tuple(name for name in episode.before if name != gone.id),
                after=tuple(name for name in episode.after if name != gone.id),
            )
            for episode in beside
            if episode is not None
        ]
