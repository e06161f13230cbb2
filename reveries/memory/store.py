"""The database beside the live memory: what is decided is written in one transaction, then taken over in memory.

One write at a time, from decision to application: what a decision saw is still so when it takes effect. No model and no
client is ever waited for in between.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np

from reveries.db.database import Database, Transaction
from reveries.llm.base import Embedder, Vector, Vectors
from reveries.memory.changes import ChangeSet, IndexedTurn
from reveries.memory.live import LiveMemory
from reveries.memory.model import Episode, Experience, Link, LinkType, Turn
from reveries.memory.passages import passages_of
from reveries.memory.rows import (
    episode_of,
    episode_row,
    experience_of,
    self_model_of,
    self_model_row,
    turn_of,
    vector_bytes,
    vector_of,
)

Work = Callable[[Transaction], Awaitable[ChangeSet]]
"""Runs inside the transaction: may read and write more, and returns what memory is to take over."""

_EMBED_BATCH = 32


@dataclass(frozen=True, slots=True)
class _Missing:
    """What has no vector of the present embedding model."""

    episodes: list[Episode] = field(default_factory=list)
    turns: list[tuple[Turn, str]] = field(default_factory=list)


class MemoryStore:
    """Loads the live memory, and is the only way to change it."""

    def __init__(self, database: Database, embedder: Embedder, live: LiveMemory, mind_name: str) -> None:
        self.database = database
        self.live = live
        self.embedder = embedder
        self._mind_name = mind_name
        self._writing = asyncio.Lock()

    async def commit(self, work: Work, then: Callable[[], None] | None = None) -> ChangeSet:
        """Run `work` in a transaction, write what it returns, COMMIT, then let the live memory take it over.

        A caller that is cancelled meanwhile leaves at once; the write still happens whole, in the file and in memory,
        or in neither. `then` runs after it. Raises what `work` raises, and StorageError; then nothing is changed.
        """
        return await asyncio.shield(self._commit(work, then))

    async def _commit(self, work: Work, then: Callable[[], None] | None) -> ChangeSet:
        async with self._writing:
            async with self.database.transaction() as transaction:
                changes = await work(transaction)
                await self._write(transaction, changes)
            self.live.apply(changes)
            if then is not None:
                then()
            return changes

    @contextlib.asynccontextmanager
    async def quiet(self) -> AsyncIterator[None]:
        """While nothing is being written: at the end, before the database closes."""
        async with self._writing:
            yield

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of `texts` in batches, those of like length together so that little is padded."""
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        found: dict[int, Vector] = {}
        for start in range(0, len(order), _EMBED_BATCH):
            batch = order[start : start + _EMBED_BATCH]
            vectors = await self.embedder.embed([texts[place] for place in batch])
            found |= dict(zip(batch, vectors, strict=True))
        return stacked([found[place] for place in range(len(texts))], self.embedder.dimensions)

    async def hydrate(self) -> None:
        """Fill the empty live memory from the file (R-3, R-154). What lacks a vector of this model gets one."""
        sources = await self._sources()
        vectors = await self._vectors("episode")
        episodes = [episode_of(row, sources.get(row["id"], ())) for row in await self.database.rows("episodes.live")]
        links = [
            Link(row["from_id"], row["to_id"], LinkType(row["type"]), row["strength"])
            for row in await self.database.rows("episodes.live_links")
        ]
        turns = await self._turns()
        turn_vectors = await self._vectors("turn")
        self.live.apply(
            ChangeSet(
                episodes=tuple(episodes),
                vectors=tuple((e.id, vectors[e.id]) for e in episodes if e.id in vectors),
                links=tuple(links),
                indexed=tuple(IndexedTurn(t, home, turn_vectors[t.id]) for t, home in turns if t.id in turn_vectors),
            )
        )
        if rows := await self.database.rows("self_model.get"):
            self.live.self_model = self_model_of(rows[0])
        await self._embed_missing(
            _Missing(
                [episode for episode in episodes if episode.id not in vectors],
                [(turn, home) for turn, home in turns if turn.id not in turn_vectors],
            )
        )

    async def to_sleep_on(self) -> list[tuple[Experience, tuple[Turn, ...]]]:
        """What light sleep has not seen yet, in the order of its conversations, each with its turns or passages."""
        turns: dict[str, list[Turn]] = {}
        for row in await self.database.rows("turns.to_sleep_on"):
            turns.setdefault(row["experience_id"], []).append(turn_of(row))
        experiences = [experience_of(row) for row in await self.database.rows("experiences.to_sleep_on")]
        return [(e, tuple(turns.get(e.id) or passages_of(e, self._mind_name))) for e in experiences]

    async def next_to_process(
        self, max_attempts: int, passed_over: Sequence[str]
    ) -> tuple[Experience | None, tuple[Turn, ...]]:
        """The most salient experience that waits for deep sleep, with its turns or passages; None when none does."""
        named = {"max_attempts": max_attempts, "passed_over": json.dumps(list(passed_over))}
        rows = await self.database.rows("experiences.next_to_process", named)
        if not rows:
            return None, ()
        experience = experience_of(rows[0])
        turns = await self.database.rows("turns.of_experience", {"experience_id": experience.id})
        return experience, tuple(map(turn_of, turns)) or passages_of(experience, self._mind_name)

    async def _embed_missing(self, missing: _Missing) -> None:
        if not missing.episodes and not missing.turns:
            return
        summaries = await self.embed([episode.summary for episode in missing.episodes])
        texts = await self.embed([turn.text for turn, _ in missing.turns])
        changes = ChangeSet(
            vectors=tuple(zip([episode.id for episode in missing.episodes], summaries, strict=True)),
            indexed=tuple(
                IndexedTurn(turn, home, vector) for (turn, home), vector in zip(missing.turns, texts, strict=True)
            ),
        )

        async def work(_: Transaction) -> ChangeSet:
            return changes

        await self.commit(work)

    async def _sources(self) -> dict[str, list[str]]:
        sources: dict[str, list[str]] = {}
        for row in await self.database.rows("episodes.live_sources"):
            sources.setdefault(row["episode_id"], []).append(row["experience_id"])
        return sources

    async def _vectors(self, kind: str) -> dict[str, Vector]:
        named = {"owner_kind": kind, "model_id": self.embedder.model_id}
        rows = await self.database.rows("episodes.live_vectors", named)
        return {row["owner_id"]: vector_of(row["vector"]) for row in rows}

    async def _turns(self) -> list[tuple[Turn, str]]:
        """Every turn of a live episode, and the passages of what has no turns, with the episode's id."""
        turns = [(turn_of(row), str(row["episode_id"])) for row in await self.database.rows("turns.live")]
        for row in await self.database.rows("experiences.live_passages"):
            turns += [(passage, str(row["episode_id"])) for passage in passages_of(experience_of(row), self._mind_name)]
        return turns

    async def _write(self, transaction: Transaction, changes: ChangeSet) -> None:
        await _many(transaction, "episodes.put", [episode_row(episode) for episode in changes.episodes])
        await _many(
            transaction,
            "episodes.put_source",
            [{"episode_id": e.id, "experience_id": source} for e in changes.episodes for source in e.experience_ids],
        )
        await _many(transaction, "episodes.put_link", [_link_row(link) for link in changes.links])
        await _many(transaction, "episodes.touch", [asdict(touch) for touch in changes.touches])
        await _many(transaction, "episodes.fade", [asdict(fading) for fading in changes.fadings])
        await _many(transaction, "episodes.retire", [asdict(gone) for gone in changes.retired])
        await _many(transaction, "episodes.put_vector", self._vector_rows(changes))
        await _many(transaction, "experiences.mark_light_slept", [{"id": name} for name in changes.light_slept_ids])
        await _many(
            transaction,
            "experiences.mark_processed",
            [{"id": p.experience_id, "salience": p.salience, "valence": p.valence} for p in changes.processed],
        )
        if changes.self_model is not None:
            await transaction.run("self_model.put", self_model_row(changes.self_model.after))

    def _vector_rows(self, changes: ChangeSet) -> list[dict[str, object]]:
        named = [("episode", name, vector) for name, vector in changes.vectors]
        named += [("turn", entry.turn.id, entry.vector) for entry in changes.indexed]
        model_id = self.embedder.model_id
        return [
            {"owner_kind": kind, "owner_id": name, "model_id": model_id, "vector": vector_bytes(vector)}
            for kind, name, vector in named
        ]


def stacked(vectors: Sequence[Vector], dimensions: int) -> Vectors:
    """Rows as one array, also when there are none."""
    return np.array(vectors, dtype=np.float32).reshape(len(vectors), dimensions)


async def _many(transaction: Transaction, name: str, rows: Sequence[dict[str, object]]) -> None:
    if rows:
        await transaction.run_many(name, rows)


def _link_row(link: Link) -> dict[str, object]:
    return {"from_id": link.source_id, "to_id": link.target_id, "type": link.type.value, "strength": link.strength}
