"""What the tests of knowledge share: chunks and relations as they would be stored, and a project on a real file."""

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from reveries.db.database import Database
from reveries.db.opening import open_database
from reveries.knowledge.model import (
    Chunk,
    ChunkSource,
    ChunkType,
    Confidence,
    NewChunk,
    Relation,
    RelationType,
)
from reveries.knowledge.project_knowledge import ProjectKnowledge
from reveries.llm.base import Embedder
from tests.fakes.clock import HandClock
from tests.memory.kit import NOW, WordEmbedder

DAY = 86_400.0
PROJECT, OTHER = "p1", "p2"


def stored_chunk(**changed: object) -> Chunk:
    """A chunk as if it had just been read."""
    chunk = Chunk(
        "c1", PROJECT, "", "Oak is hard.", ChunkType.RESEARCH, ("research",), Confidence.VERIFIED,
        ChunkSource.RESEARCH, (), None, "", NOW, frozenset(), NOW,
    )  # fmt: skip
    return replace(chunk, **changed)  # type: ignore[arg-type]


def stored_relation(**changed: object) -> Relation:
    relation = Relation(
        "c1", "c2", RelationType.SUPPORTS, 0.5, id="r1", activation_count=0, last_activated_at=NOW, created_at=NOW,
    )  # fmt: skip
    return replace(relation, **changed)  # type: ignore[arg-type]


def new_chunk(content: str, title: str = "", **changed: object) -> NewChunk:
    """What a search of the world brought, verified."""
    chunk = NewChunk(content, ChunkType.RESEARCH, Confidence.VERIFIED, ChunkSource.RESEARCH, title)
    return replace(chunk, **changed)  # type: ignore[arg-type]


@asynccontextmanager
async def open_knowledge(
    folder: Path, *, clock: HandClock | None = None, embedder: Embedder | None = None, first_id: int = 0
) -> AsyncIterator[tuple[ProjectKnowledge, Database]]:
    """What two projects know, in the file in `folder`."""
    count = itertools.count(first_id)
    database = await open_database(folder / "memory.db", folder / "backups")
    try:
        if not await database.rows("projects.all"):
            async with database.transaction() as transaction:
                for name in (PROJECT, OTHER):
                    await transaction.run("projects.put", {"id": name, "name": name, "now": NOW})
        embedder = embedder or WordEmbedder("all-minilm-l6-v2 of words")
        yield ProjectKnowledge(database, embedder, clock or HandClock(NOW), lambda: f"k{next(count):05}"), database
    finally:
        await database.aclose()
