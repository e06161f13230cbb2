"""What the MCP tools for the knowledge of a project answer, with the fields of the specification (V-29..V-38)."""

import msgspec

from reveries.knowledge.model import Chunk, FoundChunk, Relation
from reveries.knowledge.scoring import RRF_CONSTANT, persistence, strength
from reveries.protocol import copy_fields


class ChunkOut(msgspec.Struct, frozen=True):
    """A chunk with all that is kept of it, and what follows from it now."""

    id: str
    project_id: str
    content: str
    title: str
    type: str
    tags: list[str]
    confidence: str
    source: str
    created_at: float
    last_accessed: float
    last_useful: float | None
    access_count: int
    memory_type: str
    pinned: bool
    valid_from: float | None
    valid_until: float | None
    source_confidence: float
    extraction_confidence: float
    initial_strength: float
    current_strength: float
    decay_function: str
    decay_rate: float
    persistence_score: float
    superseded_by: str | None
    rests_on: list[str]
    fell_because: str
    foreign_sources: list[str]


class RelationshipOut(msgspec.Struct, frozen=True):
    id: str
    from_chunk_id: str
    to_chunk_id: str
    type: str
    weight: float
    last_activated: float
    activation_count: int
    context_tags: list[str]
    origin: str
    created_at: float
    confidence: float
    confidence_source: str
    valid_from: float | None
    valid_until: float | None
    derived_from: str | None
    archived: bool


class ContradictionOut(msgspec.Struct, frozen=True):
    chunk_a: ChunkOut
    chunk_b: ChunkOut
    relationship: RelationshipOut
    detected_at: float
    verified: bool
    resolution: str


class StoredOut(msgspec.Struct, frozen=True):
    project: str
    chunk: ChunkOut
    contradictions: list[ContradictionOut]


class SemanticResult(msgspec.Struct, frozen=True):
    chunk: ChunkOut
    similarity: float


class SemanticOut(msgspec.Struct, frozen=True):
    project: str
    results: list[SemanticResult]


class HybridResult(msgspec.Struct, frozen=True):
    """`score` is what it is ranked by; the others are what each source adds by its rank (V-70)."""

    chunk: ChunkOut
    score: float
    rrf_score: float
    semantic_score: float
    keyword_score: float
    graph_score: float


class HybridOut(msgspec.Struct, frozen=True):
    project: str
    results: list[HybridResult]


class ChunksOut(msgspec.Struct, frozen=True):
    project: str
    chunks: list[ChunkOut]


class FullChunkOut(ChunkOut, frozen=True):
    """A chunk with its ties to those that it replaced or contradicts, by id (V-36, V-107)."""

    supersedes: list[str]
    conflicts_with: list[str]


class OneChunkOut(msgspec.Struct, frozen=True):
    project: str
    chunk: FullChunkOut


class RelatedOut(msgspec.Struct, frozen=True):
    chunk: ChunkOut
    relationship: RelationshipOut
    direction: str


class RelationshipsOut(msgspec.Struct, frozen=True):
    project: str
    relationships: list[RelatedOut]


class OneRelationshipOut(msgspec.Struct, frozen=True):
    project: str
    relationship: RelationshipOut


class ContradictionsOut(msgspec.Struct, frozen=True):
    project: str
    contradictions: list[ContradictionOut]


def chunk_out(chunk: Chunk, centrality: float, now: float) -> ChunkOut:
    """Return a chunk with the fields of the specification, and what they come to at the time `now`."""
    return copy_fields(
        ChunkOut,
        chunk,
        last_accessed=chunk.last_accessed_at,
        last_useful=chunk.last_useful_at,
        pinned=chunk.is_pinned,
        current_strength=strength(chunk, now),
        persistence_score=persistence(chunk, now, centrality),
    )


def hybrid_result(match: FoundChunk, chunk: ChunkOut) -> HybridResult:
    """Return a search result with what each source adds to it by its rank."""
    semantic, keyword, graph = (
        1.0 / (RRF_CONSTANT + rank) if rank is not None else 0.0
        for rank in (match.semantic_rank, match.keyword_rank, match.graph_rank)
    )
    fused = semantic + keyword + graph
    return HybridResult(chunk, match.score, fused, semantic, keyword, graph)


def relationship_out(relation: Relation) -> RelationshipOut:
    """Return a relation with the fields of the specification."""
    return copy_fields(
        RelationshipOut,
        relation,
        from_chunk_id=relation.from_id,
        to_chunk_id=relation.to_id,
        last_activated=relation.last_activated_at,
        origin="implicit" if relation.is_implicit else "explicit",
        archived=relation.archived_at is not None,
    )
