"""What a project knows: chunks, and the relations between them (V-46..V-48, V-107..V-113)."""

from dataclasses import dataclass
from enum import StrEnum


class ChunkType(StrEnum):
    """What kind of knowledge it is (V-47)."""

    RESEARCH = "research"
    """A fact from outside."""
    INSIGHT = "insight"
    """A conclusion."""
    DECISION = "decision"
    """A choice with its reason."""
    RESOURCE = "resource"
    """A text or a place where something stands."""
    ATTEMPT = "attempt"
    """What was tried, with or without success."""
    USER_INPUT = "user_input"
    """What the owner said."""


class Confidence(StrEnum):
    VERIFIED = "verified"
    INFERRED = "inferred"
    SPECULATIVE = "speculative"


class ChunkSource(StrEnum):
    RESEARCH = "research"
    USER = "user"
    DEDUCTION = "deduction"
    EXPERIMENT = "experiment"


class MemoryType(StrEnum):
    """What kind of memory a chunk would be in a mind (V-109): it says how fast its strength fades."""

    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"
    PREFERENCE = "preference"


class ChunkStatus(StrEnum):
    """V-108."""

    ACTIVE = "active"
    ARCHIVED = "archived"
    SUMMARIZED = "summarized"
    TOMBSTONE = "tombstone"


class RelationType(StrEnum):
    """How one chunk stands to another: from the first to the second (V-48, V-113)."""

    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    BUILDS_ON = "builds_on"
    REPLACES = "replaces"
    REQUIRES = "requires"
    RELATED_TO = "related_to"
    QUALIFIES = "qualifies"
    REFINES = "refines"
    SUPERSEDES = "supersedes"
    SUPERSEDED_BY = "superseded_by"
    CAUSED_BY = "caused_by"
    ENABLES = "enables"
    PREVENTS = "prevents"
    IS_A = "is_a"
    PART_OF = "part_of"
    INSTANCE_OF = "instance_of"
    PRECEDED_BY = "preceded_by"
    FOLLOWED_BY = "followed_by"
    DURING = "during"
    LEARNED_FROM = "learned_from"
    APPLIED_IN = "applied_in"
    TASK_REQUIRES = "task_requires"
    GOAL_SUPPORTS = "goal_supports"


REPLACING = frozenset({RelationType.REPLACES, RelationType.SUPERSEDES})
"""Two names of one thing: the first chunk takes the place of the second."""

DERIVING = frozenset({RelationType.BUILDS_ON, RelationType.LEARNED_FROM, RelationType.QUALIFIES, RelationType.REFINES})
"""The first chunk was made with the second before its author: it inherits its foreign sources."""


@dataclass(frozen=True, slots=True)
class NewChunk:
    """A chunk before it is stored."""

    content: str
    type: ChunkType
    confidence: Confidence
    source: ChunkSource
    title: str = ""
    tags: tuple[str, ...] = ()
    rests_on: tuple[str, ...] = ()
    """Ids of the chunks that it was made of."""
    task_id: str | None = None
    foreign_sources: frozenset[str] = frozenset()
    """Who else than the owner and the mind had a hand in it."""
    related_to: tuple[tuple[str, RelationType], ...] = ()
    """Ids of chunks, and how this one stands to them."""
    valid_from: float | None = None

    @property
    def text(self) -> str:
        """What is embedded: the line that situates it, and what it says (V-117)."""
        return f"{self.title}\n{self.content}" if self.title else self.content


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stored one."""

    id: str
    project_id: str
    title: str
    content: str
    type: ChunkType
    tags: tuple[str, ...]
    confidence: Confidence
    source: ChunkSource
    rests_on: tuple[str, ...]
    task_id: str | None
    fell_because: str
    """Why it does not stand any more; empty while it does."""
    created_at: float
    foreign_sources: frozenset[str]
    last_accessed_at: float = 0.0
    access_count: int = 0
    last_useful_at: float | None = None
    memory_type: MemoryType = MemoryType.SEMANTIC
    tier: str = "semantic"
    status: ChunkStatus = ChunkStatus.ACTIVE
    is_pinned: bool = False
    valid_from: float | None = None
    valid_until: float | None = None
    source_confidence: float = 0.7
    extraction_confidence: float = 0.7
    initial_strength: float = 1.0
    decay_function: str = "exponential"
    decay_rate: float = 0.05
    """A day."""
    superseded_by: str | None = None
    """The newer chunk that says it otherwise."""

    @property
    def stands(self) -> bool:
        """Whether anything may rest on it: it did not fall, and no newer chunk replaces it."""
        return not self.fell_because and self.superseded_by is None

    @property
    def text(self) -> str:
        """What is embedded and searched: the line that situates it, and what it says (V-117)."""
        return f"{self.title}\n{self.content}" if self.title else self.content


@dataclass(frozen=True, slots=True)
class Relation:
    """One relation; archived where `archived_at` is a time."""

    id: str
    from_id: str
    to_id: str
    type: RelationType
    weight: float
    is_implicit: bool
    context_tags: tuple[str, ...]
    confidence: float
    confidence_source: str
    """`stated` by who stored it, found by `likeness` alone, judged by a `model`, or found by a `rule`."""
    activation_count: int
    last_activated_at: float
    created_at: float
    resolved_at: float | None = None
    resolution: str = ""
    archived_at: float | None = None
    archive_reason: str = ""
    final_weight: float | None = None
    derived_from: str | None = None


@dataclass(frozen=True, slots=True)
class RelatedChunk:
    """A chunk at the other end of a relation."""

    chunk: Chunk
    relation: Relation
    direction: str
    """`outgoing` or `incoming`, seen from the chunk that was asked about."""
    score: float


UNCLEAR_CONFIDENCE = 0.5
"""Confidence of a contradiction that a model could not judge."""


@dataclass(frozen=True, slots=True)
class KnowledgeConflict:
    """Two chunks that do not go together; `newer` was stored later."""

    newer: Chunk
    older: Chunk
    relation: Relation

    @property
    def is_open(self) -> bool:
        """Whether it is not settled, and both chunks still stand."""
        return self.relation.resolved_at is None and self.newer.stands and self.older.stands

    @property
    def is_unclear(self) -> bool:
        """Whether a model judged it and could not tell."""
        return self.relation.confidence <= UNCLEAR_CONFIDENCE

    @property
    def is_verified(self) -> bool:
        """Whether more than likeness says so."""
        return self.relation.confidence_source != "likeness"


@dataclass(frozen=True, slots=True)
class FoundChunk:
    """A chunk that a search found. Ranks count from 1; None where a source did not find it."""

    chunk: Chunk
    similarity: float
    """Cosine of its vector with that of the query; 0 where it has none."""
    score: float
    semantic_rank: int | None = None
    keyword_rank: int | None = None
    graph_rank: int | None = None
    led_from: str | None = None
    """The chunk that led to it, by what it names or by a relation."""
    led_by: str = ""
    """The name, or the type of the relation."""


@dataclass(frozen=True, slots=True)
class SearchFilters:
    """What a chunk has to be to be found; empty: anything (V-30, V-31)."""

    types: frozenset[ChunkType] = frozenset()
    tags: frozenset[str] = frozenset()
    """All of them."""
    any_tags: frozenset[str] = frozenset()
    """At least one."""
    confidence: frozenset[Confidence] = frozenset()
    since: float | None = None
    until: float | None = None
    with_fallen: bool = False
    """Also what was contradicted or taken back."""

    @property
    def is_narrow(self) -> bool:
        """Whether it asks for more than that a chunk stands."""
        named = (self.types, self.tags, self.any_tags, self.confidence)
        return any(named) or self.since is not None or self.until is not None

    def fits(self, chunk: Chunk) -> bool:
        """Whether a chunk passes. Old orientations are left out unless their tag is asked for (V-94)."""
        tags = frozenset(chunk.tags)
        return (
            (not self.types or chunk.type in self.types)
            and self.tags <= tags
            and (not self.any_tags or bool(self.any_tags & tags))
            and (not self.confidence or chunk.confidence in self.confidence)
            and (self.since is None or chunk.created_at >= self.since)
            and (self.until is None or chunk.created_at <= self.until)
            and (self.with_fallen or not chunk.fell_because)
            and chunk.status is not ChunkStatus.TOMBSTONE
            and ("orientation_archive" not in tags or "orientation_archive" in self.tags | self.any_tags)
        )


NO_FILTERS = SearchFilters()
