"""MCP tools for the knowledge of a project (V-29..V-38), with the names and fields of the specification.

Each call names its project, and each answer repeats it. No tool reaches into another project.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec

from reveries.errors import NotFoundError, UsageError
from reveries.knowledge.evolution import STRENGTHEN_BY, WEAKEN_BY, initial_weight
from reveries.knowledge.model import (
    REPLACING,
    Chunk,
    ChunkSource,
    ChunkType,
    Confidence,
    KnowledgeConflict,
    NewChunk,
    NewRelation,
    Relation,
    RelationType,
    SearchFilters,
)
from reveries.knowledge.relations import choose_relation
from reveries.projects.knowledge_results import (
    ChunkOut,
    ChunksOut,
    ContradictionOut,
    ContradictionsOut,
    FullChunkOut,
    HybridOut,
    OneChunkOut,
    OneRelationshipOut,
    RelatedOut,
    RelationshipsOut,
    SemanticOut,
    SemanticResult,
    StoredOut,
    chunk_out,
    hybrid_result,
    relationship_out,
)
from reveries.projects.model import Project
from reveries.projects.store import ProjectStore
from reveries.tools.reach import Reach
from reveries.tools.registry import ToolCaller
from reveries.tools.tool_group import ToolGroup, offer_tool

SERVER = "knowledge"
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=20_000)]
_Tag = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
_Limit = Annotated[int, msgspec.Meta(ge=1, le=100)]
_Weight = Annotated[float, msgspec.Meta(ge=0.05, le=1.0)]


class _Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    project_id: _Name


# --- arguments --------------------------------------------------------------------------------------------------------


class RelatedTo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    chunk_id: _Name
    relationship_type: RelationType


class StoreChunk(_Arguments, frozen=True):
    content: _Text
    type: ChunkType
    tags: Annotated[list[_Tag], msgspec.Meta(max_length=50)]
    confidence: Confidence
    source: ChunkSource
    related_to: Annotated[list[RelatedTo], msgspec.Meta(max_length=50)] = []


class ChunkFilters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    types: list[ChunkType] = []
    tags: list[_Tag] = []
    confidence: list[Confidence] = []
    since: float | None = None

    def to_search(self) -> SearchFilters:
        return SearchFilters(
            types=frozenset(self.types),
            tags=frozenset(self.tags),
            confidence=frozenset(self.confidence),
            since=self.since,
        )


class SearchSemantic(_Arguments, frozen=True):
    query: _Text
    limit: _Limit = 10
    min_similarity: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)] | None = None
    filters: ChunkFilters = ChunkFilters()


class SearchHybrid(_Arguments, frozen=True):
    query: _Text
    limit: _Limit = 10
    filters: ChunkFilters = ChunkFilters()


class SearchTags(_Arguments, frozen=True):
    tags: list[_Tag] = []
    any_tags: list[_Tag] = []
    confidence: list[Confidence] = []
    since: float | None = None
    limit: _Limit = 50


class GetChunk(_Arguments, frozen=True):
    chunk_id: _Name


class GetRelated(_Arguments, frozen=True):
    chunk_id: _Name
    relationship_type: RelationType | None = None
    min_weight: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)] = 0.1
    limit: _Limit = 20
    direction: Literal["outgoing", "incoming", "both"] = "both"


class CreateRelationship(_Arguments, frozen=True):
    from_chunk_id: _Name
    to_chunk_id: _Name
    type: RelationType
    weight: _Weight | None = None
    context_tags: list[_Tag] = []


class StrengthenRelationship(_Arguments, frozen=True, rename={"from_chunk": "from", "to_chunk": "to"}):
    from_chunk: _Name
    to_chunk: _Name
    amount: Annotated[float, msgspec.Meta(gt=0.0, le=1.0)] = STRENGTHEN_BY
    type: RelationType | None = None


class WeakenRelationship(_Arguments, frozen=True, rename={"from_chunk": "from", "to_chunk": "to"}):
    from_chunk: _Name
    to_chunk: _Name
    reason: Literal["contradicted", "replaced", "manual"]
    amount: Annotated[float, msgspec.Meta(gt=0.0, le=1.0)] = WEAKEN_BY
    type: RelationType | None = None


class GetContradictions(_Arguments, frozen=True):
    """`limit`: so many of the newest; without it all."""

    unresolved_only: bool = True
    limit: _Limit | None = None


@dataclass(frozen=True, slots=True)
class KnowledgeTools(ToolGroup):
    """The tools that read and write the knowledge of projects."""

    server = SERVER

    store: ProjectStore

    @offer_tool("Keep one thing that the project knows.", Reach.INSIDE, is_repeatable=False, is_additive=True)
    async def store_chunk(self, given: StoreChunk, caller: ToolCaller) -> StoredOut:
        if not given.content.strip():
            raise UsageError("A chunk says something: its content is blank.", advice="Say what is known.")
        project = await self.store.find(given.project_id)
        # Only the owner can be the source USER; from a program, or beside untrusted text, the claim is not accepted.
        is_foreign_claim = (caller.source or caller.foreign_sources) and given.source is ChunkSource.USER
        if not caller.may_write:
            _require_no_verdict(given)
            await self.store.log.require_room_for(caller.source, project)
        chunk = NewChunk(
            content=given.content,
            type=given.type,
            # A caller that may only add is not trusted: its chunks stay speculative and replace nothing.
            confidence=given.confidence if caller.may_write else Confidence.SPECULATIVE,
            source=ChunkSource.RESEARCH if is_foreign_claim else given.source,
            tags=tuple(given.tags),
            foreign_sources=caller.foreign_sources,
            related_to=tuple((stated.chunk_id, stated.relationship_type) for stated in given.related_to),
        )
        for related in given.related_to:
            await self._chunk(project, related.chunk_id)
        [chunk_id] = await self.store.knowledge.store(project.id, [chunk])
        conflicts = await self.store.knowledge.contradictions_of_chunk(project.id, chunk_id)
        [stored] = await self._chunk_outs(project, [await self._chunk(project, chunk_id)])
        return StoredOut(project.name, stored, await self._contradiction_outs(project, conflicts))

    @offer_tool("Find by meaning.")
    async def search_semantic(self, given: SearchSemantic, caller: ToolCaller) -> SemanticOut:
        project = await self.store.find(given.project_id)
        results = await self.store.knowledge.search.semantic(
            project.id, given.query, given.limit, given.min_similarity, given.filters.to_search(),
            session_id=caller.session_id, is_counted=caller.may_write,
        )  # fmt: skip
        outs = await self._chunk_outs(project, [result.chunk for result in results])
        entries = [SemanticResult(out, result.similarity) for out, result in zip(outs, results, strict=True)]
        return SemanticOut(project.name, entries)

    @offer_tool("Find by meaning, words and relations.")
    async def search_hybrid(self, given: SearchHybrid, caller: ToolCaller) -> HybridOut:
        project = await self.store.find(given.project_id)
        results = await self.store.knowledge.search.hybrid(
            project.id, given.query, given.limit, given.filters.to_search(),
            session_id=caller.session_id, is_counted=caller.may_write,
        )  # fmt: skip
        outs = await self._chunk_outs(project, [result.chunk for result in results])
        return HybridOut(project.name, [hybrid_result(result, out) for result, out in zip(results, outs, strict=True)])

    @offer_tool("Find by tags.")
    async def search_tags(self, given: SearchTags, caller: ToolCaller) -> ChunksOut:
        project = await self.store.find(given.project_id)
        filters = SearchFilters(confidence=frozenset(given.confidence), since=given.since)
        chunks = await self.store.knowledge.search.tagged(project.id, given.tags, given.any_tags, filters, given.limit)
        return ChunksOut(project.name, await self._chunk_outs(project, chunks))

    @offer_tool("What a chunk hangs together with.")
    async def get_related(self, given: GetRelated, caller: ToolCaller) -> RelationshipsOut:
        project = await self.store.find(given.project_id)
        chunk = await self._chunk(project, given.chunk_id)
        neighbours = await self.store.knowledge.search.related(
            project.id, chunk.id, given.relationship_type, min_weight=given.min_weight, limit=given.limit,
            direction=given.direction, is_counted=caller.may_write,
        )  # fmt: skip
        outs = await self._chunk_outs(project, [neighbour.chunk for neighbour in neighbours])
        related = [
            RelatedOut(out, relationship_out(neighbour.relation), neighbour.direction)
            for out, neighbour in zip(outs, neighbours, strict=True)
        ]
        return RelationshipsOut(project.name, related)

    @offer_tool("Say how one chunk stands to another.", Reach.INSIDE)
    async def create_relationship(self, given: CreateRelationship, _: ToolCaller) -> OneRelationshipOut:
        project = await self.store.find(given.project_id)
        start = await self._chunk(project, given.from_chunk_id)
        other = await self._chunk(project, given.to_chunk_id)
        weight = initial_weight(start.confidence) if given.weight is None else given.weight
        new = NewRelation(start.id, other.id, given.type, weight, context_tags=tuple(given.context_tags))
        relation = await self.store.knowledge.state(project.id, new)
        return OneRelationshipOut(project.name, relationship_out(relation))

    @offer_tool("A relation proved useful.", Reach.INSIDE, is_repeatable=False)
    async def strengthen_relationship(self, given: StrengthenRelationship, _: ToolCaller) -> OneRelationshipOut:
        project = await self.store.find(given.project_id)
        relation = await self._relation(project, given.from_chunk, given.to_chunk, given.type)
        changed = await self.store.knowledge.strengthen(project.id, relation, given.amount)
        return OneRelationshipOut(project.name, relationship_out(changed))

    @offer_tool("A relation was contradicted.", Reach.INSIDE, is_repeatable=False)
    async def weaken_relationship(self, given: WeakenRelationship, _: ToolCaller) -> OneRelationshipOut:
        project = await self.store.find(given.project_id)
        relation = await self._relation(project, given.from_chunk, given.to_chunk, given.type)
        changed = await self.store.knowledge.weaken(project.id, relation, given.reason, given.amount)
        return OneRelationshipOut(project.name, relationship_out(changed))

    @offer_tool("A chunk with all that is kept of it.")
    async def get_chunk(self, given: GetChunk, _: ToolCaller) -> OneChunkOut:
        project = await self.store.find(given.project_id)
        knowledge = self.store.knowledge
        [chunk] = await self._chunk_outs(project, [await self._chunk(project, given.chunk_id)])
        conflicts = await knowledge.contradictions_of_chunk(project.id, chunk.id)
        ends = (end.id for conflict in conflicts if conflict.is_open for end in (conflict.older, conflict.newer))
        full = FullChunkOut(
            **msgspec.structs.asdict(chunk),
            supersedes=await knowledge.replaced_by(project.id, chunk.id),
            conflicts_with=sorted({end for end in ends if end != chunk.id}),
        )
        return OneChunkOut(project.name, full)

    @offer_tool("What does not go together.")
    async def get_contradictions(self, given: GetContradictions, _: ToolCaller) -> ContradictionsOut:
        project = await self.store.find(given.project_id)
        conflicts = await self.store.knowledge.contradictions(project.id, unresolved_only=given.unresolved_only)
        return ContradictionsOut(project.name, await self._contradiction_outs(project, conflicts[: given.limit]))

    async def _chunk(self, project: Project, chunk_id: str) -> Chunk:
        """Load a chunk of this project. Raises NotFoundError."""
        matches = [chunk for chunk in await self.store.knowledge.named(project.id, [chunk_id]) if chunk.id == chunk_id]
        if not matches:
            raise NotFoundError(f"{project.name} knows no chunk {chunk_id[:60]!r}.", advice="Search for it.")
        return matches[0]

    async def _relation(self, project: Project, from_id: str, to_id: str, type_: RelationType | None) -> Relation:
        start, other = await self._chunk(project, from_id), await self._chunk(project, to_id)
        return choose_relation(await self.store.knowledge.relations_between(start.id, other.id), type_)

    async def _chunk_outs(self, project: Project, chunks: Sequence[Chunk]) -> list[ChunkOut]:
        central = await self.store.knowledge.search.centralities(project.id, (chunk.id for chunk in chunks))
        return [chunk_out(chunk, central[chunk.id], self.store.now) for chunk in chunks]

    async def _contradiction_outs(
        self, project: Project, conflicts: Sequence[KnowledgeConflict]
    ) -> list[ContradictionOut]:
        older = await self._chunk_outs(project, [conflict.older for conflict in conflicts])
        newer = await self._chunk_outs(project, [conflict.newer for conflict in conflicts])
        return [
            ContradictionOut(
                chunk_a, chunk_b, relationship_out(conflict.relation), conflict.relation.created_at,
                conflict.is_verified, conflict.relation.resolution,
            )
            for conflict, chunk_a, chunk_b in zip(conflicts, older, newer, strict=True)
        ]  # fmt: skip


def _require_no_verdict(given: StoreChunk) -> None:
    """Raise UsageError if a caller that may only add replaces or contradicts another chunk."""
    verdicts = {*REPLACING, RelationType.CONTRADICTS, RelationType.SUPERSEDED_BY}
    if any(stated.relationship_type in verdicts for stated in given.related_to):
        raise UsageError(
            "Only who may write says that a chunk replaces or contradicts another.",
            advice="The owner allows it: reveries mcp allow NAME --write",
        )
