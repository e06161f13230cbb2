"""Any order of everything that changes relations, on a real file, with what has to hold after it.

test_relation_life.py lives a short one; bench/soak/relations.py a long one.
"""

import random
from collections import Counter
from pathlib import Path

from reveries.db.database import Database
from reveries.errors import ReveriesError, UsageError
from reveries.knowledge.evolution import ARCHIVE_BELOW, replaces
from reveries.knowledge.model import NewRelation, RelationType
from reveries.knowledge.project_knowledge import ProjectKnowledge
from reveries.knowledge.relations import relations_of_project
from tests.knowledge.kit import OTHER, PROJECT, new_chunk, open_knowledge

CHECKED_EVERY = 25
"""Steps between two looks at every relation and chunk; a replacement and its undoing are looked at each time."""
_TYPES = tuple(RelationType)
_WORDS = ("oak", "pine", "floor", "hall", "price", "roof", "damp", "stove", "lamp", "door")


class RelationLife:
    """Two projects whose chunks are stored, related, contradicted, replaced, erased; the file is closed and opened."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self._chance = random.Random(seed)
        self._ids: dict[str, list[str]] = {PROJECT: [], OTHER: []}
        self._first_id = 0
        self.done: Counter[str] = Counter()

    async def live(self, steps: int, restarts: int) -> None:
        """So many steps, with so many restarts; raises AssertionError where something does not hold."""
        for _ in range(restarts):
            async with open_knowledge(self._folder, first_id=self._first_id) as (knowledge, database):
                for number in range(steps // restarts):
                    await self._step(knowledge)
                    if number % CHECKED_EVERY == 0:
                        await self._check(knowledge, database)
                await self._check(knowledge, database)
            self._first_id += 1_000_000

    async def _check(self, knowledge: ProjectKnowledge, database: Database) -> None:
        for project_id in self._ids:
            relations = await relations_of_project(database, project_id)
            chunks = {one.id: one for one in await knowledge.of_project(project_id)}
            assert len({(one.from_id, one.to_id, one.type) for one in relations}) == len(relations)
            for one in relations:
                assert {one.from_id, one.to_id} <= chunks.keys()
                assert one.from_id != one.to_id
                assert ARCHIVE_BELOW <= one.weight <= 1.0
                assert (one.archived_at is None) == (one.archive_reason == "") == (one.final_weight is None)
            for chunk in chunks.values():
                seen = {chunk.id}
                while (newer := chunks[chunk.id].superseded_by) is not None:
                    assert newer not in seen, "a chunk replaces itself"
                    seen.add(newer)
                    chunk = chunks[newer]
            found = await knowledge.search.hybrid(project_id, "oak floor hall", 20, is_counted=False)
            assert {one.chunk.id for one in found} <= chunks.keys()

    async def _step(self, knowledge: ProjectKnowledge) -> None:
        project_id = self._chance.choice((PROJECT, PROJECT, OTHER))
        ids = self._ids[project_id]
        change = self._chance.choice(
            ("store", "state", "state", "strengthen", "weaken", "restore", "replace", "undo", "find", "erase", "across")
        )
        if len(ids) < 4:
            change = "store"
        self.done[change] += 1
        match change:
            case "store":
                text = " ".join(self._chance.sample(_WORDS, 4)) + f" {self._chance.randint(1, 99)}."
                ids += await knowledge.store(project_id, [new_chunk(text)])
            case "state" | "replace":
                one, other = self._chance.sample(ids, 2)
                type_ = RelationType.REPLACES if change == "replace" else self._chance.choice(_TYPES)
                await knowledge.state(project_id, NewRelation(one, other, type_, self._chance.uniform(0.05, 1.0)))
                if change == "replace":
                    await self._check_replacement(knowledge, project_id, one, other)
            case "undo":
                await self._undo_replacement(knowledge, project_id)
            case "find":
                words = " ".join(self._chance.sample(_WORDS, 2))
                await knowledge.search.hybrid(project_id, words, 5, session_id=f"s{self._chance.randint(1, 30)}")
                await knowledge.count_coretrievals(project_id)
            case "erase":
                await self._erase(knowledge, project_id, self._chance.choice(ids))
            case "across":
                await self._relate_across(knowledge)
            case _:
                await self._change_one(knowledge, project_id, change)

    async def _change_one(self, knowledge: ProjectKnowledge, project_id: str, change: str) -> None:
        relations = await knowledge.relations(project_id)
        if not relations:
            return
        one, amount = self._chance.choice(relations), self._chance.uniform(0.0, 0.6)
        match change:
            case "strengthen":
                await knowledge.strengthen(project_id, one, amount)
            case "weaken":
                await knowledge.weaken(project_id, one, "contradicted", amount)
            case _:
                await knowledge.restore(project_id, one)

    async def _check_replacement(self, knowledge: ProjectKnowledge, project_id: str, newer: str, older: str) -> None:
        """Whether it replaces the other now, or was refused: no active relation says the opposite."""
        chunks = {one.id: one for one in await knowledge.named(project_id, [newer, older])}
        between = [*await knowledge.relations_between(newer, older), *await knowledge.relations_between(older, newer)]
        active = [one for one in between if one.archived_at is None]
        if chunks[older].superseded_by == newer:
            assert not [one for one in active if replaces(one, newer)]
        else:
            assert not [one for one in active if replaces(one, older)]

    async def _undo_replacement(self, knowledge: ProjectKnowledge, project_id: str) -> None:
        """As the owner's "both hold" does."""
        chunks = {one.id: one for one in await knowledge.of_project(project_id)}
        replaced = [one for one in chunks.values() if one.superseded_by is not None]
        if not replaced:
            return
        older = self._chance.choice(replaced)
        newer = chunks[str(older.superseded_by)]
        async with knowledge._database.transaction() as transaction:
            await knowledge.keep_both(transaction, older, newer)
        ends = await knowledge.named(project_id, [older.id, newer.id])
        assert not [one for one in ends if one.superseded_by in (older.id, newer.id)]
        between = [
            *await knowledge.relations_between(newer.id, older.id),
            *await knowledge.relations_between(older.id, newer.id),
        ]
        assert not [
            one for one in between if one.archived_at is None and (replaces(one, older.id) or replaces(one, newer.id))
        ]

    async def _erase(self, knowledge: ProjectKnowledge, project_id: str, chunk_id: str) -> None:
        """As forgetting does: by the row, past the store."""
        async with knowledge._database.transaction() as transaction:
            await transaction.run_text_many("DELETE FROM chunks WHERE id = ?", [(chunk_id,)])
        self._ids[project_id].remove(chunk_id)

    async def _relate_across(self, knowledge: ProjectKnowledge) -> None:
        if not self._ids[OTHER]:
            return
        one, other = self._chance.choice(self._ids[PROJECT]), self._chance.choice(self._ids[OTHER])
        try:
            await knowledge.state(PROJECT, NewRelation(one, other, RelationType.SUPPORTS, 0.5))
        except (ReveriesError, UsageError):
            return
        raise AssertionError("a relation leads into another project")
