"""The store: writes a change set to the database in one transaction, then applies it to the live memory.

One write at a time, from decision to application: what a decision saw is still so when it takes effect. No model and no
client is ever waited for in between.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, replace

import numpy as np
import structlog

from reveries.db.database import Database, Transaction
from reveries.errors import DiskFullError, ModelError, ModelUnavailableError
from reveries.llm.base import Embedder, Vector, Vectors
from reveries.memory.changes import ChangeSet
from reveries.memory.claims import Conflict
from reveries.memory.deep_store import DeepStore
from reveries.memory.hydration import graph_of, read_graph_rows, read_turn_rows, read_turn_vectors, turns_of
from reveries.memory.live import LiveMemory, PackedMemory
from reveries.memory.model import Episode, Experience, Link, Turn
from reveries.memory.rows import (
    claim_of_row,
    claim_row,
    conflict_row,
    episode_row,
    experience_of,
    self_model_of,
    self_model_row,
    turn_of,
    vector_bytes,
    vector_of,
)
from reveries.memory.snapshot_file import read_earlier_turns
from reveries.memory.snapshots import Snapshots
from reveries.memory.text.indexed_text import passages_of

Work = Callable[[Transaction], Awaitable[ChangeSet]]
"""Runs inside the transaction: may read and write more, and returns what memory is to take over."""

OldEmbedder = Callable[[str], Embedder | None]
"""The embedder of that model id, if it can still be had without anything leaving the machine."""

_EMBED_BATCH = 32

log = structlog.get_logger("memory")


class MemoryStore:
    """Loads the live memory, and is the only way to change it."""

    def __init__(self, database: Database, embedder: Embedder, live: LiveMemory, mind_name: str) -> None:
        self.database = database
        self.live = live
        self.chosen = embedder
        """The embedder of the settings."""
        self.embedder = embedder
        """The one whose vectors recall compares: `chosen`, or an earlier one until every text has a vector of that."""
        self.space = asyncio.Lock()
        """Held while embedding for the live memory until that is committed, and by the change of the embedder."""
        self.making_up = asyncio.Lock()
        """Held while missing vectors are made, from reading the texts until that is committed, and by an erasure: no
        batch is at an embedder while its texts are erased."""
        self.unvectored = asyncio.Event()
        """Set when something is stored without its vector, for the background task that makes up for it."""
        self.mind_name = mind_name
        self.deep = DeepStore(database)
        """What is only on disk."""
        self.snapshots = Snapshots(database, live, mind_name)
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
                changes = drop_unfit_vectors(await work(transaction), self.live.dimensions)
                await self._write_changes(transaction, changes)
            self.live.apply(changes)
            self.deep.note_commit(changes)
            self.snapshots.note_commit(changes)
            if then is not None:
                then()
            return changes

    @contextlib.asynccontextmanager
    async def quiet(self) -> AsyncIterator[None]:
        """While nothing is being written: at the end, before the database closes."""
        async with self._writing:
            yield

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of `texts` in batches, those of like length together so that little is padded. Raises ModelError."""
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        found: dict[int, Vector] = {}
        for start in range(0, len(order), _EMBED_BATCH):
            batch = order[start : start + _EMBED_BATCH]
            vectors = await self.embedder.embed([texts[place] for place in batch])
            found |= dict(zip(batch, vectors, strict=True))
        self._welcome(next((vector.size for vector in found.values()), self.live.dimensions))
        return stack_vectors([found[place] for place in range(len(texts))], self.live.dimensions)

    async def embed_or_none(self, texts: Sequence[str]) -> Vectors:
        """Vectors of `texts`; rows of zeros for all of them when the embedder fails: what is stored without its vector
        is found by words, and gets one later."""
        try:
            return await self.embed(texts)
        except (ModelError, DiskFullError) as error:
            log.warning("embedding.failed", model=self.embedder.model_id, why=error.for_log, texts=len(texts))
            return np.zeros((len(texts), self.live.dimensions), dtype=np.float32)

    async def switch(self, now: float) -> None:
        """Let recall compare the vectors of `chosen` from now on: in the file first, then in memory, at once for all.

        What has none yet is found by words. No sleep and no write happens meanwhile; recall goes on.
        """
        await asyncio.shield(self._switch(now))

    async def _switch(self, now: float) -> None:
        async with self.space, self._writing:
            model_id = self.chosen.model_id
            dimensions = await self._dimensions(self.chosen)
            episodes = await self._vectors("episode", model_id, dimensions)
            turns = await self._vectors("turn", model_id, dimensions)
            arranged = await asyncio.to_thread(self.live.arrange_vectors, dimensions, episodes, turns)
            async with self.database.transaction() as transaction:
                await transaction.run("vectors.serve", {"model_id": model_id, "since": now})
            self.live.replace_vectors(arranged)
            self.embedder = self.chosen

    def _welcome(self, dimensions: int) -> None:
        """Take over how long the vectors are, when the embedder is the first to say so."""
        if self.live.dimensions == 0:
            self.live.replace_vectors(self.live.arrange_vectors(dimensions, {}, {}))
        elif dimensions != self.live.dimensions:
            raise ModelUnavailableError(
                f"{self.embedder.model_id} gives {dimensions} numbers a text, and memory has {self.live.dimensions}.",
                advice="It is another model under the old name: choose it by a name of its own.",
            )

    async def hydrate(self, old_embedder: OldEmbedder, now: float, *, from_rows: bool = False) -> bool:
        """Fill the empty live memory from the file (R-3, R-154); whether a snapshot of the graph was of use. What lacks
        a vector is found by words.

        Recall compares the vectors that the file says; `old_embedder` is asked when they are not those of `chosen`.
        """
        await self._choose_space(old_embedder, now)
        await self.deep.open()
        is_from_snapshot = not from_rows and await self.snapshots.load_snapshot(self.embedder.model_id)
        if not is_from_snapshot:
            await asyncio.to_thread(self.live.fill, await self._from_rows())
        self.live.apply(await self._claims())
        if rows := await self.database.rows("self_model.get"):
            self.live.self_model = self_model_of(rows[0])
        return is_from_snapshot

    async def _choose_space(self, old_embedder: OldEmbedder, now: float) -> None:
        recorded = await self.database.rows("vectors.serving")
        counts = {str(row["model_id"]): int(row["vectors"]) for row in await self.database.rows("vectors.models")}
        serving = space_to_serve(str(recorded[0]["model_id"]) if recorded else "", counts, self.chosen.model_id)
        if serving != self.chosen.model_id:
            self.embedder = old_embedder(serving) or SilentEmbedder(serving)
        dimensions = await self._dimensions(self.embedder)
        if dimensions != self.live.dimensions:
            self.live.replace_vectors(self.live.arrange_vectors(dimensions, {}, {}))
        if not recorded or recorded[0]["model_id"] != serving:
            async with self.database.transaction() as transaction:
                await transaction.run("vectors.serve", {"model_id": serving, "since": now})

    async def _dimensions(self, embedder: Embedder) -> int:
        """As the file has them, else as the embedder says (0 when it does not know yet)."""
        rows = await self.database.rows("vectors.dimensions", {"model_id": embedder.model_id})
        return int(rows[0]["dimensions"]) if rows else embedder.dimensions

    async def save_snapshot(self, longest_seconds: float, stop: asyncio.Event | None = None) -> bool:
        """Leave a snapshot for the next wake, see `Snapshots.save`; whether one stands there now. Writes wait only
        while the memory is copied."""
        return await self.snapshots.save(self.quiet(), lambda: self.embedder.model_id, longest_seconds, stop)

    async def _from_rows(self) -> PackedMemory:
        model_id, dimensions = self.embedder.model_id, self.live.dimensions
        graph = await asyncio.to_thread(graph_of, await read_graph_rows(self.database, model_id), dimensions)
        earlier = await asyncio.to_thread(read_earlier_turns, self.snapshots.path, model_id, dimensions)
        turns = await read_turn_rows(self.database, self.mind_name, earlier)
        vectors = await read_turn_vectors(self.database, model_id, dimensions, turns)
        return PackedMemory(graph, await asyncio.to_thread(turns_of, turns, vectors, dimensions))

    async def to_sleep_on(self) -> list[str]:
        """The experiences that light sleep has not seen yet, in the order of their conversations."""
        return [str(row["id"]) for row in await self.database.rows("experiences.to_sleep_on")]

    async def with_turns(self, ids: Sequence[str]) -> list[tuple[Experience, tuple[Turn, ...]]]:
        """Those experiences, in that order, each with its turns or passages; without those that are gone since."""
        named = {"ids": json.dumps(ids)}
        # Experiences first: what is said between the two reads would else be an experience without its turns.
        found = {row["id"]: experience_of(row) for row in await self.database.rows("experiences.of_ids", named)}
        turns: dict[str, list[Turn]] = {}
        for row in await self.database.rows("turns.of_experiences", named):
            turns.setdefault(row["experience_id"], []).append(turn_of(row))
        experiences = [found[one] for one in ids if one in found]
        return [(e, tuple(turns.get(e.id) or passages_of(e, self.mind_name))) for e in experiences]

    async def next_to_process(
        self, max_attempts: int, passed_over: Sequence[str], *, with_held: bool = True
    ) -> tuple[Experience | None, tuple[Turn, ...]]:
        """The most salient experience that waits for deep sleep, with its turns or passages; None when none does."""
        passed = json.dumps(list(passed_over))
        named = {"max_attempts": max_attempts, "passed_over": passed, "with_held": int(with_held)}
        rows = await self.database.rows("experiences.next_to_process", named)
        if not rows:
            return None, ()
        experience = experience_of(rows[0])
        return experience, await self.turns_of(experience)

    async def turns_of(self, experience: Experience) -> tuple[Turn, ...]:
        """The turns of an experience, or its passages when it has none."""
        turns = await self.database.rows("turns.of_experience", {"experience_id": experience.id})
        return tuple(map(turn_of, turns)) or passages_of(experience, self.mind_name)

    async def _vectors(self, kind: str, model_id: str, dimensions: int) -> dict[str, Vector]:
        rows = await self.database.rows("episodes.live_vectors", {"owner_kind": kind, "model_id": model_id})
        size = 4 * dimensions
        return {row["owner_id"]: vector_of(row["vector"]) for row in rows if len(row["vector"]) == size}

    async def _claims(self) -> ChangeSet:
        claims = {row["id"]: claim_of_row(row) for row in await self.database.rows("claims.all")}
        conflicts = [
            Conflict(
                id=row["id"],
                earlier=claims[row["earlier_id"]],
                later=claims[row["later_id"]],
                kind=row["kind"],
                reason=row["reason"],
                found_at=row["found_at"],
                settled=row["settled"],
            )
            for row in await self.database.rows("claims.conflicts")
        ]
        return ChangeSet(claims=tuple(claims.values()), conflicts=tuple(conflicts))

    async def _write_changes(self, transaction: Transaction, changes: ChangeSet) -> None:
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
        await self._write_vectors(transaction, changes)
        await self.deep.write_changes(transaction, changes, self.live, self.embedder.model_id)
        await _many(transaction, "experiences.mark_light_slept", [{"id": name} for name in changes.light_slept_ids])
        await _many(
            transaction,
            "experiences.mark_processed",
            [{"id": p.experience_id, "salience": p.salience, "valence": p.valence} for p in changes.processed],
        )
        # Nothing in the rows need say that these leave.
        await _many(transaction, "changed.note_turn", [{"id": name} for name in changes.unindexed_turn_ids])
        await _many(transaction, "claims.put", [claim_row(claim) for claim in changes.claims])
        await _many(transaction, "claims.put_conflict", [conflict_row(conflict) for conflict in changes.conflicts])
        await _many(transaction, "claims.settle", [asdict(settled) for settled in changes.settlements])
        if changes.self_model is not None:
            await transaction.run("self_model.put", self_model_row(changes.self_model.after))

    async def _write_vectors(self, transaction: Transaction, changes: ChangeSet) -> None:
        """Only whole vectors are stored, so that what is missing can be seen in the file; and an episode that changed
        keeps none of another model, which would be of what it was."""
        model_id = self.embedder.model_id
        bare = [entry for entry in changes.indexed if not entry.vector.any()]
        provisional = {*changes.provisional_ids, *(entry.episode_id for entry in bare)}
        provisional |= {name for name, _ in changes.vectors if not self.live.turn_vectors_of(name).any(axis=1).all()}
        whole = [("episode", name, v) for name, v in changes.vectors if name not in provisional and v.any()]
        turns = [("turn", entry.turn.id, entry.vector) for entry in changes.indexed if entry.vector.any()]
        await _many(
            transaction,
            "episodes.put_vector",
            [vector_row(kind, name, model_id, vector) for kind, name, vector in [*whole, *turns]],
        )
        others: list[dict[str, object]] = [{"owner_id": name, "model_id": model_id} for _, name, _ in whole]
        await _many(transaction, "vectors.drop_of_others", others)
        await _many(transaction, "vectors.drop_episode", [{"owner_id": name} for name in sorted(provisional)])
        if provisional:
            self.unvectored.set()


class SilentEmbedder:
    """Stands for the model of the vectors in use when it is not there any more: recall goes by words."""

    def __init__(self, model_id: str) -> None:
        self.model_id = model_id
        self.dimensions = 0

    async def embed(self, texts: Sequence[str]) -> Vectors:
        raise ModelUnavailableError(
            f"{self.model_id} is not used any more, and not every text has its new vector yet.",
            advice="Recall goes by words meanwhile; reveries status shows how far it is.",
        )

    async def aclose(self) -> None:
        return


def space_to_serve(recorded: str, counts: Mapping[str, int], chosen: str) -> str:
    """Whose vectors recall compares after waking: those it compared before, while there are any. Pure.

    `recorded` is empty in a file from before this was written down: then those of which there are most. `counts` says
    how many vectors of which model the file has.
    """
    if counts.get(recorded):
        return recorded
    if recorded or not counts:
        return chosen
    return max(sorted(counts), key=lambda model_id: (counts[model_id], model_id == chosen))


def drop_unfit_vectors(changes: ChangeSet, dimensions: int) -> ChangeSet:
    """`changes` with nothing in the place of vectors that are of another length than memory's: those that were decided
    on while no embedder had said how long they are. Pure."""
    none = np.zeros(dimensions, dtype=np.float32)
    if all(v.size == dimensions for _, v in changes.vectors) and all(
        e.vector.size == dimensions for e in changes.indexed
    ):
        return changes
    return replace(
        changes,
        vectors=tuple((name, v if v.size == dimensions else none) for name, v in changes.vectors),
        indexed=tuple(e if e.vector.size == dimensions else replace(e, vector=none) for e in changes.indexed),
    )


def vector_row(kind: str, owner_id: str, model_id: str, vector: Vector) -> dict[str, object]:
    """A row of `vectors`."""
    return {"owner_kind": kind, "owner_id": owner_id, "model_id": model_id, "vector": vector_bytes(vector)}


def stack_vectors(vectors: Sequence[Vector], dimensions: int) -> Vectors:
    """Rows as one array, also when there are none."""
    return np.array(vectors, dtype=np.float32).reshape(len(vectors), dimensions)


async def _many(transaction: Transaction, name: str, rows: Sequence[dict[str, object]]) -> None:
    if rows:
        await transaction.run_many(name, rows)


def _link_row(link: Link) -> dict[str, object]:
    return {"from_id": link.source_id, "to_id": link.target_id, "type": link.type.value, "strength": link.strength}


async def home_of(source: Database | Transaction, live: LiveMemory, experience_id: str) -> Episode | None:
    """The live episode that holds an experience; None while there is none. The file is asked: an index of it in memory
    would read every episode of a large mind first. Within a transaction `source` is that transaction."""
    rows = await source.rows("episodes.home_of", {"experience_id": experience_id})
    return live.graph.get(rows[0]["id"]) if rows else None


_Reader = Database | Transaction


async def pins(reader: _Reader) -> dict[str, str]:
    """Every pin, by the id that was pinned, with the episode that it holds now: that one, or where it was merged."""
    return {row["pinned_id"]: row["home_id"] for row in await reader.rows("pins.homes")}


async def pinned_ids(reader: _Reader) -> frozenset[str]:
    """The episodes that are pinned."""
    return frozenset((await pins(reader)).values())
