"""The store: writes a change set to the database in one transaction, then applies it to the live memory.

Writes run one at a time, from decision to application, so a decision still fits the state when it takes effect. A write
never waits for a model or a client.
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
from reveries.memory.hydration import build_graph, build_turn_index, read_graph_rows, read_live_turns, read_turn_vectors
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
"""Runs inside the transaction: may read and write more, and returns the changes for the live memory."""

OldEmbedder = Callable[[str], Embedder | None]
"""Returns the embedder with that model id, or None if it is no longer available locally."""

_EMBED_BATCH = 32

log = structlog.get_logger("memory")


class MemoryStore:
    """Loads the live memory and is the only way to change it."""

    def __init__(self, database: Database, embedder: Embedder, live: LiveMemory, mind_name: str) -> None:
        self.database = database
        self.live = live
        self.configured_embedder = embedder
        """The embedder from the settings."""
        self.embedder = embedder
        """The embedder whose vectors recall compares: `configured_embedder`, or an earlier one until every text has a
        new vector."""
        self.embedding_lock = asyncio.Lock()
        """Locked while texts are embedded for the live memory until the commit, and while the embedder is switched."""
        self.reembedding_lock = asyncio.Lock()
        """Locked while a batch of missing vectors is embedded, from reading its texts until the commit, and during an
        erasure: a batch must not bring back text that is being erased."""
        self.vectors_missing = asyncio.Event()
        """Set when something is stored without its vector; wakes the re-embedding task."""
        self.mind_name = mind_name
        self.deep = DeepStore(database)
        """Texts that are only on disk."""
        self.snapshots = Snapshots(database, live, mind_name)
        self._writing = asyncio.Lock()

    async def commit(self, work: Work, then: Callable[[], None] | None = None) -> ChangeSet:
        """Run `work` in a transaction, write the changes it returns, COMMIT, then apply them to the live memory.

        If the caller is cancelled, the write still completes in both the file and memory, or in neither. `then` runs
        after it. Raises what `work` raises, and StorageError; then nothing is changed.
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
    async def pause_writes(self) -> AsyncIterator[None]:
        """Keep writes from starting within the block. Waits for a running write to end first."""
        async with self._writing:
            yield

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed `texts` in batches of similar length, to keep padding low. Raises ModelError."""
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        by_place: dict[int, Vector] = {}
        for start in range(0, len(order), _EMBED_BATCH):
            batch = order[start : start + _EMBED_BATCH]
            vectors = await self.embedder.embed([texts[place] for place in batch])
            by_place |= dict(zip(batch, vectors, strict=True))
        self._adopt_dimensions(next((vector.size for vector in by_place.values()), self.live.dimensions))
        return stack_vectors([by_place[place] for place in range(len(texts))], self.live.dimensions)

    async def embed_or_none(self, texts: Sequence[str]) -> Vectors:
        """Embed `texts`; rows of zeros if the embedder fails. Texts stored without a vector are found by words, and
        re-embedded later."""
        try:
            return await self.embed(texts)
        except (ModelError, DiskFullError) as error:
            log.warning("embedding.failed", model=self.embedder.model_id, why=error.for_log, texts=len(texts))
            return np.zeros((len(texts), self.live.dimensions), dtype=np.float32)

    async def switch_embedder(self, now: float) -> None:
        """Switch recall to the vectors of `configured_embedder`, in the file first, then in memory.

        Texts without such a vector are found by words. Sleep and writes wait meanwhile; recall does not.
        """
        await asyncio.shield(self._switch_embedder(now))

    async def _switch_embedder(self, now: float) -> None:
        async with self.embedding_lock, self._writing:
            model_id = self.configured_embedder.model_id
            dimensions = await self._dimensions(self.configured_embedder)
            episodes = await self._vectors("episode", model_id, dimensions)
            turns = await self._vectors("turn", model_id, dimensions)
            arranged = await asyncio.to_thread(self.live.arrange_vectors, dimensions, episodes, turns)
            async with self.database.transaction() as transaction:
                await transaction.run("vectors.serve", {"model_id": model_id, "since": now})
            self.live.replace_vectors(arranged)
            self.embedder = self.configured_embedder

    def _adopt_dimensions(self, dimensions: int) -> None:
        """Set the dimensions of an empty memory. Raises ModelUnavailableError if a filled one has others."""
        if self.live.dimensions == 0:
            self.live.replace_vectors(self.live.arrange_vectors(dimensions, {}, {}))
        elif dimensions != self.live.dimensions:
            raise ModelUnavailableError(
                f"{self.embedder.model_id} returns vectors of {dimensions} numbers, but memory has vectors of "
                f"{self.live.dimensions}.",
                advice="This is a different model under the same name. Configure it under a new name.",
            )

    async def hydrate(self, old_embedder: OldEmbedder, now: float, *, from_rows: bool = False) -> bool:
        """Load the empty live memory from the file (R-3, R-154); whether a snapshot was used.

        Recall continues with the vectors that the file names. If they are not those of `configured_embedder`, cues are
        embedded by the model that `old_embedder` returns.
        """
        await self._choose_space(old_embedder, now)
        await self.deep.open()
        is_from_snapshot = not from_rows and await self.snapshots.load_snapshot(self.embedder.model_id)
        if not is_from_snapshot:
            await asyncio.to_thread(self.live.load_packed, await self._from_rows())
        self.live.apply(await self._claims())
        if rows := await self.database.rows("self_model.get"):
            self.live.self_model = self_model_of(rows[0])
        return is_from_snapshot

    async def _choose_space(self, old_embedder: OldEmbedder, now: float) -> None:
        recorded = await self.database.rows("vectors.serving")
        counts = {str(row["model_id"]): int(row["vectors"]) for row in await self.database.rows("vectors.models")}
        serving = choose_serving_model(
            str(recorded[0]["model_id"]) if recorded else "", counts, self.configured_embedder.model_id
        )
        if serving != self.configured_embedder.model_id:
            self.embedder = old_embedder(serving) or UnavailableEmbedder(serving)
        dimensions = await self._dimensions(self.embedder)
        if dimensions != self.live.dimensions:
            self.live.replace_vectors(self.live.arrange_vectors(dimensions, {}, {}))
        if not recorded or recorded[0]["model_id"] != serving:
            async with self.database.transaction() as transaction:
                await transaction.run("vectors.serve", {"model_id": serving, "since": now})

    async def _dimensions(self, embedder: Embedder) -> int:
        """Vector length of a model: from the file, else from the embedder (0 when it does not know yet)."""
        rows = await self.database.rows("vectors.dimensions", {"model_id": embedder.model_id})
        return int(rows[0]["dimensions"]) if rows else embedder.dimensions

    async def save_snapshot(self, longest_seconds: float, stop: asyncio.Event | None = None) -> bool:
        """Save a snapshot for the next wake (see `Snapshots.save`); whether a current one exists. Writes wait only
        while the memory is copied."""
        return await self.snapshots.save(self.pause_writes(), lambda: self.embedder.model_id, longest_seconds, stop)

    async def _from_rows(self) -> PackedMemory:
        model_id, dimensions = self.embedder.model_id, self.live.dimensions
        graph = await asyncio.to_thread(build_graph, await read_graph_rows(self.database, model_id), dimensions)
        earlier = await asyncio.to_thread(read_earlier_turns, self.snapshots.path, model_id, dimensions)
        turns = await read_live_turns(self.database, self.mind_name, earlier)
        vectors = await read_turn_vectors(self.database, model_id, dimensions, turns)
        return PackedMemory(graph, await asyncio.to_thread(build_turn_index, turns, vectors, dimensions))

    async def list_new_experience_ids(self) -> list[str]:
        """List the experiences that light sleep has not processed yet, ordered by conversation."""
        return [str(row["id"]) for row in await self.database.rows("experiences.to_sleep_on")]

    async def load_with_turns(self, ids: Sequence[str]) -> list[tuple[Experience, tuple[Turn, ...]]]:
        """Load experiences in the order of `ids`, each with its turns or passages. Deleted ones are left out."""
        named = {"ids": json.dumps(ids)}
        # Experiences first: otherwise one that is stored between the two reads would come without its turns.
        by_id = {row["id"]: experience_of(row) for row in await self.database.rows("experiences.of_ids", named)}
        turns: dict[str, list[Turn]] = {}
        for row in await self.database.rows("turns.of_experiences", named):
            turns.setdefault(row["experience_id"], []).append(turn_of(row))
        experiences = [by_id[name] for name in ids if name in by_id]
        return [(e, tuple(turns.get(e.id) or passages_of(e, self.mind_name))) for e in experiences]

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
        await _run_many(transaction, "episodes.put", [episode_row(episode) for episode in changes.episodes])
        await _run_many(
            transaction,
            "episodes.put_source",
            [{"episode_id": e.id, "experience_id": source} for e in changes.episodes for source in e.experience_ids],
        )
        await _run_many(transaction, "episodes.put_link", [_link_row(link) for link in changes.links])
        await _run_many(transaction, "episodes.touch", [asdict(touch) for touch in changes.touches])
        await _run_many(transaction, "episodes.fade", [asdict(fading) for fading in changes.fadings])
        await _run_many(transaction, "episodes.retire", [asdict(gone) for gone in changes.retired])
        await self._write_vectors(transaction, changes)
        await self.deep.write_changes(transaction, changes, self.live, self.embedder.model_id)
        await _run_many(transaction, "experiences.mark_light_slept", [{"id": name} for name in changes.light_slept_ids])
        await _run_many(
            transaction,
            "experiences.mark_processed",
            [{"id": p.experience_id, "salience": p.salience, "valence": p.valence} for p in changes.processed],
        )
        # No other row changes when these leave, so the change is noted explicitly.
        await _run_many(transaction, "changed.note_turn", [{"id": name} for name in changes.unindexed_turn_ids])
        await _run_many(transaction, "claims.put", [claim_row(claim) for claim in changes.claims])
        await _run_many(transaction, "claims.put_conflict", [conflict_row(conflict) for conflict in changes.conflicts])
        await _run_many(transaction, "claims.settle", [asdict(settled) for settled in changes.settlements])
        if changes.self_model is not None:
            await transaction.run("self_model.put", self_model_row(changes.self_model.after))

    async def _write_vectors(self, transaction: Transaction, changes: ChangeSet) -> None:
        """Store complete vectors only, so missing ones can be detected in the file. A changed episode loses the
        vectors of other models, which belong to its old content."""
        model_id = self.embedder.model_id
        bare = [entry for entry in changes.indexed if not entry.vector.any()]
        provisional = {*changes.provisional_ids, *(entry.episode_id for entry in bare)}
        provisional |= {name for name, _ in changes.vectors if not self.live.turn_vectors_of(name).any(axis=1).all()}
        whole = [("episode", name, v) for name, v in changes.vectors if name not in provisional and v.any()]
        turns = [("turn", entry.turn.id, entry.vector) for entry in changes.indexed if entry.vector.any()]
        await _run_many(
            transaction,
            "episodes.put_vector",
            [vector_row(kind, name, model_id, vector) for kind, name, vector in [*whole, *turns]],
        )
        others: list[dict[str, object]] = [{"owner_id": name, "model_id": model_id} for _, name, _ in whole]
        await _run_many(transaction, "vectors.drop_of_others", others)
        await _run_many(transaction, "vectors.drop_episode", [{"owner_id": name} for name in sorted(provisional)])
        if provisional:
            self.vectors_missing.set()


class UnavailableEmbedder:
    """Stands in for the model of the current vectors when it is no longer available. Recall uses words alone."""

    def __init__(self, model_id: str) -> None:
        self.model_id = model_id
        self.dimensions = 0

    async def embed(self, texts: Sequence[str]) -> Vectors:
        raise ModelUnavailableError(
            f"{self.model_id} is no longer used, and not every text has a vector of the new embedder yet.",
            advice="Until then memory is searched by words. See the progress: reveries status",
        )

    async def aclose(self) -> None:
        return


def choose_serving_model(recorded: str, counts: Mapping[str, int], chosen: str) -> str:
    """Choose the model whose vectors recall compares after a wake: the recorded one while it has vectors. Pure.

    `recorded` is empty in files from before it was stored: then the model with the most vectors. `counts` maps each
    model to its number of vectors in the file.
    """
    if counts.get(recorded):
        return recorded
    if recorded or not counts:
        return chosen
    return max(sorted(counts), key=lambda model_id: (counts[model_id], model_id == chosen))


def drop_unfit_vectors(changes: ChangeSet, dimensions: int) -> ChangeSet:
    """Return `changes` with zeros in place of vectors of another length: those decided on before the embedder had
    reported its dimensions. Pure."""
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
    """Return a row of the table `vectors`."""
    return {"owner_kind": kind, "owner_id": owner_id, "model_id": model_id, "vector": vector_bytes(vector)}


def stack_vectors(vectors: Sequence[Vector], dimensions: int) -> Vectors:
    """Return the vectors as one array, which may have no rows."""
    return np.array(vectors, dtype=np.float32).reshape(len(vectors), dimensions)


async def _run_many(transaction: Transaction, name: str, rows: Sequence[dict[str, object]]) -> None:
    if rows:
        await transaction.run_many(name, rows)


def _link_row(link: Link) -> dict[str, object]:
    return {"from_id": link.source_id, "to_id": link.target_id, "type": link.type.value, "strength": link.strength}


async def find_live_episode(source: Database | Transaction, live: LiveMemory, experience_id: str) -> Episode | None:
    """Find the live episode that contains an experience; None if there is none.

    Looked up in the file: an index in memory would have to decode every episode first. Within a transaction pass it as
    `source`.
    """
    rows = await source.rows("episodes.home_of", {"experience_id": experience_id})
    return live.graph.get(rows[0]["id"]) if rows else None


_Reader = Database | Transaction


async def load_pins(reader: _Reader) -> dict[str, str]:
    """Load all pins: the pinned id, and the episode it applies to now (the same one, or the one it was merged into)."""
    return {row["pinned_id"]: row["home_id"] for row in await reader.rows("pins.homes")}


async def load_pinned_ids(reader: _Reader) -> frozenset[str]:
    """Load the ids of the pinned episodes."""
    return frozenset((await load_pins(reader)).values())
