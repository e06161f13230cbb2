"""Chunks as database rows; each query is limited to one project."""

import json
from collections.abc import Iterable, Sequence

from reveries.db.checksums import checksum
from reveries.db.database import Reader, Row, Transaction
from reveries.db.typed_rows import read_row
from reveries.index.names import subjects_of
from reveries.knowledge.model import (
    DERIVING,
    Chunk,
    ChunkType,
    MemoryType,
    NewChunk,
    SearchFilters,
)
from reveries.llm.base import Vector

_MEMORY_TYPES = {
    ChunkType.DECISION: MemoryType.EPISODIC,
    ChunkType.ATTEMPT: MemoryType.EPISODIC,
    ChunkType.USER_INPUT: MemoryType.PREFERENCE,
}
"""All others are semantic (V-110)."""


async def read_chunks(source: Reader, project_id: str) -> list[Chunk]:
    """All chunks of a project, oldest first."""
    return [_chunk_of(row) for row in await source.rows("chunks.of_project", {"project_id": project_id})]


async def read_named(source: Reader, project_id: str, ids: Iterable[str]) -> dict[str, Chunk]:
    """The chunks with these ids that belong to the project, by id."""
    named = {"project_id": project_id, "ids": json.dumps(sorted(set(ids)))}
    return {str(row["id"]): _chunk_of(row) for row in await source.rows("chunks.named", named)}


async def read_tagged(
    source: Reader, project_id: str, tags: Iterable[str], any_tags: Iterable[str], limit: int, offset: int = 0
) -> list[Chunk]:
    """`limit` chunks from number `offset` on that have all of `tags` and, if any are given, one of `any_tags`; newest
    first."""
    named = {
        "project_id": project_id, "tags": json.dumps(sorted(tags)), "any_tags": json.dumps(sorted(any_tags)),
        "limit": limit, "offset": offset,
    }  # fmt: skip
    return [_chunk_of(row) for row in await source.rows("chunks.by_tags", named)]


async def numbers_that_fit(source: Reader, project_id: str, filters: SearchFilters) -> list[int]:
    """The numbers of the chunks that pass the filters, fallen ones too."""
    named: dict[str, object] = {"project_id": project_id, "since": filters.since, "until": filters.until}
    for name in ("types", "tags", "any_tags", "confidence"):
        named[name] = json.dumps(sorted(getattr(filters, name)))
    return [int(row["number"]) for row in await source.rows("chunks.numbers_that_fit", named)]


async def put_chunk(
    transaction: Transaction, project_id: str, chunk_id: str, chunk: NewChunk, now: float, *, with_names: bool = True
) -> None:
    """Store a chunk. It inherits the foreign sources of the chunks it rests on, builds on or refines. `with_names`
    False: it is not found through the names that it is about, as pointers are."""
    derived = (name for name, type_ in chunk.related_to if type_ in DERIVING)
    base_ids = (*chunk.rests_on, *derived)
    bases = await read_named(transaction, project_id, base_ids) if base_ids else {}
    sources = chunk.foreign_sources.union(*(basis.foreign_sources for basis in bases.values()))
    names = names_of(chunk.title, chunk.content) if with_names else ()
    await transaction.run("chunks.put", _chunk_row(chunk_id, project_id, chunk, sources, names, now))


async def put_vector(transaction: Transaction, chunk_id: str, model_id: str, vector: Vector) -> None:
    row = {"chunk_id": chunk_id, "model_id": model_id, "vector": vector.astype("<f4").tobytes()}
    await transaction.run("chunks.put_vector", row)


def _chunk_row(
    name: str, project_id: str, chunk: NewChunk, sources: frozenset[str], names: Sequence[str], now: float
) -> dict[str, object]:
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
        "memory_type": _MEMORY_TYPES.get(chunk.type, MemoryType.SEMANTIC).value,
        "valid_from": chunk.valid_from,
        "first_line": chunk.first_line,
        "lead": chunk.lead,
        "written_on": chunk.written_on,
        "document_id": chunk.document_id,
        "names": json.dumps(names, ensure_ascii=False),
    }


def names_of(title: str, content: str) -> Sequence[str]:
    """The names that a chunk is about, as keys. The last part of its title is its heading."""
    heading = title.rpartition(" › ")[2]
    return subjects_of(f"{heading}\n{content}" if heading else content)


def _chunk_of(row: Row) -> Chunk:
    return read_row(Chunk, row, is_pinned=bool(row["pinned"]))
