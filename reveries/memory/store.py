"""The database beside the live memory: what is decided is written in one transaction, then taken over in memory.

One write at a time, from decision to application: what a decision saw is still so when it takes effect. No model and no
client is ever waited for in between.
"""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from reveries.db.database import Database, Transaction
from reveries.llm.base import Embedder, Vector, Vectors
from reveries.memory.changes import ChangeSet, IndexedTurn
from reveries.memory.graph import PackedGraph
from reveries.memory.hydration import graph_of, read_graph_rows
from reveries.memory.live import LiveMemory
from reveries.memory.model import Episode, Experience, Link, Turn
from reveries.memory.passages import passages_of
from reveries.memory.rows import (
    episode_row,
    experience_of,
    self_model_of,
    self_model_row,
    turn_of,
    vector_bytes,
    vector_of,
)
from reveries.memory.snapshot import read_snapshot, write_snapshot

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
        self._saved_stamp = b""

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

    async def hydrate(self) -> bool:
        """Fill the empty live memory from the file (R-3, R-154); whether a snapshot of the graph was of use. What lacks
        a vector of this model gets one."""
        packed, is_from_snapshot = await self._packed_graph()
        self.live.graph.fill(packed)
        turns = await self._turns()
        turn_vectors = await self._vectors("turn")
        self.live.apply(
            ChangeSet(
                indexed=tuple(IndexedTurn(t, home, turn_vectors[t.id]) for t, home in turns if t.id in turn_vectors)
            )
        )
        if rows := await self.database.rows("self_model.get"):
            self.live.self_model = self_model_of(rows[0])
        await self._embed_missing(
            _Missing(
                self.live.graph.without_vectors(),
                [(turn, home) for turn, home in turns if turn.id not in turn_vectors],
            )
        )
        return is_from_snapshot

    async def save_snapshot(self, longest_seconds: float) -> bool:
        """Write the graph beside the database, unless what is there is of the same state; whether one stands there now.

        Given up after `longest_seconds`. Writes wait only while the graph is copied.
        """
        async with self.quiet():
            stamp = await self._stamp()
            if stamp == self._saved_stamp:
                return True
            packed = await asyncio.to_thread(self.live.graph.packed)
        deadline = time.monotonic() + longest_seconds
        done = await asyncio.to_thread(
            write_snapshot,
            self.snapshot_path,
            packed,
            stamp,
            self.embedder.model_id,
            lambda: time.monotonic() < deadline,
        )
        if done:
            self._saved_stamp = stamp
        return done

    @property
    def snapshot_path(self) -> Path:
        """Where the snapshot of the graph is. Whoever erases an episode calls `erase_snapshot` on it."""
        return self.database.path.with_suffix(".snapshot")

    async def _packed_graph(self) -> tuple[PackedGraph, bool]:
        stamp, embedder = await self._stamp(), self.embedder
        found = await asyncio.to_thread(
            read_snapshot, self.snapshot_path, stamp, embedder.model_id, embedder.dimensions
        )
        if found is not None:
            self._saved_stamp = stamp
            return found, True
        rows = await read_graph_rows(self.database, embedder.model_id)
        return await asyncio.to_thread(graph_of, rows, embedder.dimensions), False

    async def _stamp(self) -> bytes:
        return bytes((await self.database.rows("episodes.stamp"))[0]["value"])

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
