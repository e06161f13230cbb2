"""Stores chunks and finds them: by the words and by the meaning of a query, within one project."""

import json
from collections.abc import Callable, Collection, Sequence

import numpy as np

from reveries.clock import Clock
from reveries.db.checksums import checksum
from reveries.db.database import Database, Reader, Row, Transaction
from reveries.index.terms import terms_of
from reveries.knowledge.model import Chunk, ChunkSource, ChunkType, Confidence, FoundChunk, NewChunk
from reveries.llm.base import Embedder, Vector, Vectors

_WORDS_SHARE = 0.4
"""Of a score, what the words of the query count; its meaning counts the rest."""


class ChunkStore:
    """The chunks of every project. Reads rows: a project that rests takes no memory."""

    def __init__(self, database: Database, embedder: Embedder, clock: Clock, new_id: Callable[[], str]) -> None:
        self._database = database
        self._embedder = embedder
        self._clock = clock
        self._new_id = new_id

    async def embed(self, chunks: Sequence[NewChunk]) -> Vectors:
        """One row a chunk; before the transaction that stores them, for a call of a model has no place in one."""
        if not chunks:
            return np.zeros((0, self._embedder.dimensions), np.float32)
        return await self._embedder.embed([_embedded_text(chunk.title, chunk.content) for chunk in chunks])

    async def embed_texts(self, texts: Sequence[str]) -> Vectors:
        """One row a text, for comparing."""
        return await self._embedder.embed(texts)

    async def put(
        self, transaction: Transaction, project_id: str, chunks: Sequence[NewChunk], vectors: Vectors
    ) -> list[str]:
        """Store `chunks`, which have `vectors`; their ids. A chunk has the sources of what it was made of."""
        known = {chunk.id: chunk for chunk in await self.read(transaction, project_id)}
        ids: list[str] = []
        for chunk, vector in zip(chunks, vectors, strict=True):
            ids.append(name := self._new_id())
            bases = [known[base].foreign_sources for base in chunk.rests_on if base in known]
            sources = chunk.foreign_sources.union(*bases)
            await transaction.run("chunks.put", _row(name, project_id, chunk, sources, self._clock.now()))
            row = {"chunk_id": name, "model_id": self._embedder.model_id, "vector": vector.astype("<f4").tobytes()}
            await transaction.run("chunks.put_vector", row)
        return ids

    async def store(self, project_id: str, chunks: Sequence[NewChunk]) -> list[str]:
        """Embed and store `chunks` in a transaction of their own; their ids."""
        vectors = await self.embed(chunks)
        async with self._database.transaction() as transaction:
            return await self.put(transaction, project_id, chunks, vectors)

    async def read(self, source: Reader, project_id: str) -> list[Chunk]:
        """All chunks of a project, oldest first."""
        return [_chunk_of(row) for row in await source.rows("chunks.of_project", {"project_id": project_id})]

    async def of_project(self, project_id: str) -> list[Chunk]:
        return await self.read(self._database, project_id)

    async def search(
        self,
        project_id: str,
        query: str,
        limit: int,
        *,
        types: Collection[ChunkType] = tuple(ChunkType),
        is_counted: bool = True,
    ) -> list[FoundChunk]:
        """The chunks that still stand and fit `query` best. Old orientations are left out (V-94). `is_counted` False:
        the owner looks, and nothing is reinforced by that."""
        chunks = [
            chunk
            for chunk in await self.of_project(project_id)
            if chunk.stands and chunk.type in types and "orientation_archive" not in chunk.tags
        ]
        if not chunks or not query.strip():
            return []
        await self._embed_missing(project_id)
        vectors = await self._vectors(project_id)
        [cue] = await self._embedder.embed([query])
        found = rank_chunks(chunks, vectors, cue, query)[:limit]
        if not is_counted:
            return found
        ids = json.dumps([one.chunk.id for one in found])
        async with self._database.transaction() as transaction:
            await transaction.run("chunks.touch", {"now": self._clock.now(), "ids": ids})
        return found

    async def mark_fallen(self, transaction: Transaction, project_id: str, chunk_id: str, why: str) -> bool:
        """Note that a chunk does not stand any more; False where there is no such one, or it fell before."""
        row = {"project_id": project_id, "id": chunk_id, "why": why}
        return bool(await transaction.run("chunks.mark_fallen", row))

    async def _vectors(self, project_id: str) -> dict[str, Vector]:
        named = {"project_id": project_id, "model_id": self._embedder.model_id}
        rows = await self._database.rows("chunks.with_vectors", named)
        return {str(row["id"]): np.frombuffer(row["vector"], "<f4") for row in rows}

    async def _embed_missing(self, project_id: str) -> None:
        """After a change of the embedder, or an import: those that have no vector of it yet."""
        named = {"project_id": project_id, "model_id": self._embedder.model_id}
        rows = await self._database.rows("chunks.without_vector", named)
        if not rows:
            return
        vectors = await self._embedder.embed([_embedded_text(row["title"], row["content"]) for row in rows])
        async with self._database.transaction() as transaction:
            for row, vector in zip(rows, vectors, strict=True):
                values = {"chunk_id": row["id"], "model_id": self._embedder.model_id}
                await transaction.run("chunks.put_vector", values | {"vector": vector.astype("<f4").tobytes()})


def rank_chunks(chunks: Sequence[Chunk], vectors: dict[str, Vector], cue: Vector, query: str) -> list[FoundChunk]:
    """Best first: the cosine with `cue`, and how much of the query's rarer words stand in a chunk. Pure."""
    terms = set(terms_of(query))
    words = {chunk.id: set(terms_of(f"{chunk.title} {chunk.content}")) for chunk in chunks}
    holding = {term: sum(term in own for own in words.values()) for term in terms}
    weight = {term: np.log(1.0 + len(chunks) / (1 + number)) for term, number in holding.items()}
    whole = sum(weight.values()) or 1.0
    found = []
    for chunk in chunks:
        vector = vectors.get(chunk.id)
        similarity = float(vector @ cue) if vector is not None and len(vector) == len(cue) else 0.0
        by_words = sum(weight[term] for term in terms & words[chunk.id]) / whole
        score = (1 - _WORDS_SHARE) * similarity + _WORDS_SHARE * by_words
        found.append(FoundChunk(chunk, similarity, float(score)))
    return sorted(found, key=lambda one: (-one.score, one.chunk.id))


def _embedded_text(title: str, content: str) -> str:
    return f"{title}: {content}" if title else content


def _row(name: str, project_id: str, chunk: NewChunk, sources: frozenset[str], now: float) -> dict[str, object]:
    return {
        "id": name,
        "project_id": project_id,
        "title": chunk.title,
        "content": chunk.content,
        "type": chunk.type.value,
        "tags": json.dumps(sorted({*chunk.tags, chunk.type.value}), ensure_ascii=False),
        "confidence": chunk.confidence.value,
        "source": chunk.source.value,
        "rests_on": json.dumps(sorted(set(chunk.rests_on))),
        "task_id": chunk.task_id,
        "created_at": now,
        "foreign_sources": json.dumps(sorted(sources)),
        "checksum": checksum(chunk.title, chunk.content),
    }


def _chunk_of(row: Row) -> Chunk:
    return Chunk(
        id=str(row["id"]),
        project_id=str(row["project_id"]),
        title=str(row["title"]),
        content=str(row["content"]),
        type=ChunkType(row["type"]),
        tags=tuple(json.loads(row["tags"])),
        confidence=Confidence(row["confidence"]),
        source=ChunkSource(row["source"]),
        rests_on=tuple(json.loads(row["rests_on"])),
        task_id=row["task_id"],
        fell_because=str(row["fell_because"]),
        created_at=float(row["created_at"]),
        foreign_sources=frozenset(json.loads(row["foreign_sources"])),
    )
