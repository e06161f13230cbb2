"""What a project knows: chunks, and the relations between them (V-46..V-48, V-107..V-113)."""

from dataclasses import dataclass, replace
from enum import StrEnum


class ChunkType(StrEnum):
    """Kind of knowledge (V-47)."""

    RESEARCH = "research"
    """An external fact."""
    INSIGHT = "insight"
    """A conclusion."""
    DECISION = "decision"
    """A choice with its reason."""
    RESOURCE = "resource"
    """A text, or a reference to where something is kept."""
    ATTEMPT = "attempt"
    """Something that was tried, successful or not."""
    USER_INPUT = "user_input"
    """The owner's words."""


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
    """Kind of memory (V-109): it determines how fast a chunk's strength decays."""

    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"
    PREFERENCE = "preference"


class Fall(StrEnum):
    """How a chunk came to hold no longer."""

    NONE = ""
    LEFT_DOCUMENT = "left_document"
    """It was a section, and its document has it no more; it is stored again where the document has it again."""
    RETRACTED = "retracted"
    """The owner took it out."""
    CONTRADICTED = "contradicted"
    """The owner said otherwise when asked."""
    PREMISE = "premise"
    """What it rested on fell."""


class RelationType(StrEnum):
    """Type of a relation, read from the first chunk to the second (V-48, V-113)."""

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


ARCHIVE_TAG = "orientation_archive"
"""Tag of a page that a newer one replaced."""
OWNER_ANSWER_TAG = "user_answer"
"""Tag of a chunk that holds the owner's own answer to a question; only the mind sets it."""

REPLACING = frozenset({RelationType.REPLACES, RelationType.SUPERSEDES})
"""Synonyms: the first chunk replaces the second."""

DERIVING = frozenset({RelationType.BUILDS_ON, RelationType.LEARNED_FROM, RelationType.QUALIFIES, RelationType.REFINES})
"""The first chunk was made from the second: it inherits the foreign sources."""


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
    """Ids of the chunks it was derived from."""
    task_id: str | None = None
    foreign_sources: frozenset[str] = frozenset()
    """Sources other than the owner and the mind that it was made from."""
    related_to: tuple[tuple[str, RelationType], ...] = ()
    """Ids of other chunks, with the type of the relation to each."""
    valid_from: float | None = None
    first_line: int = 0
    """Its first line in its document, from 1; 0: unknown."""
    lead: str = ""
    """The headings before it in its document, as they stand there."""
    written_on: str = ""
    """The day (ISO) on which its file last changed; empty: unknown."""
    document_id: str | None = None
    """The document that it is a section of."""

    @property
    def text(self) -> str:
        """The text to embed: the situating line and the content (V-117)."""
        return f"{self.title}\n{self.content}" if self.title else self.content


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stored chunk."""

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
    """Why it no longer holds; empty while it does."""
    created_at: float
    foreign_sources: frozenset[str]
    last_accessed_at: float = 0.0
    access_count: int = 0
    last_useful_at: float | None = None
    memory_type: MemoryType = MemoryType.SEMANTIC
    is_pinned: bool = False
    valid_from: float | None = None
    valid_until: float | None = None
    """When it was replaced or fell, whichever came first; None while it holds."""
    source_confidence: float = 0.7
    extraction_confidence: float = 0.7
    initial_strength: float = 1.0
    decay_function: str = "exponential"
    decay_rate: float = 0.05
    """Per day."""
    superseded_by: str | None = None
    """Id of the chunk that replaced it."""
    first_line: int = 0
    """Its first line in its document, from 1; 0: it is not in the latest version, or it is unknown."""
    lead: str = ""
    """The headings before it in its document, as they stand there."""
    written_on: str = ""
    """The day (ISO) on which its file last changed when it was first read; empty: unknown."""
    fall: Fall = Fall.NONE
    document_id: str | None = None
    """The document that it is a section of; None for what was found, decided or said."""
    document: str = ""
    """The name of that document."""

    @property
    def stands(self) -> bool:
        """Whether other things may rest on it: it did not fall and was not replaced."""
        return not self.fell_because and self.superseded_by is None

    @property
    def text(self) -> str:
        """The text to embed and search: the situating line and the content (V-117)."""
        return f"{self.title}\n{self.content}" if self.title else self.content

    def as_of(self, moment: float) -> "Chunk":
        """The chunk as it was then: one that held until later had not fallen and was not replaced. A fall whose time
        was not recorded counts as earlier."""
        if self.valid_until is None or self.valid_until <= moment:
            return self
        return replace(self, fell_because="", fall=Fall.NONE, superseded_by=None, valid_until=None)


@dataclass(frozen=True, slots=True)
class NewRelation:
    """A relation between two chunks before it is stored."""

    from_id: str
    to_id: str
    type: RelationType
    weight: float
    is_implicit: bool = False
    context_tags: tuple[str, ...] = ()
    confidence: float = 0.7
    confidence_source: str = "stated"
    """`stated` by its author, found by `likeness` alone, judged by a `model`, or found by a `rule`."""
    derived_from: str | None = None
    """The relation that it is a copy of (V-62)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation(NewRelation):
    """A stored relation; archived if `archived_at` is set."""

    id: str
    activation_count: int
    last_activated_at: float
    created_at: float
    resolved_at: float | None = None
    resolution: str = ""
    archived_at: float | None = None
    archive_reason: str = ""
    final_weight: float | None = None
    valid_from: float | None = None
    """When it was first stated or found."""
    valid_until: float | None = None
    """When it was archived."""


@dataclass(frozen=True, slots=True)
class RelatedChunk:
    """The chunk at the other end of a relation."""

    chunk: Chunk
    relation: Relation
    direction: str
    """`outgoing` or `incoming`, seen from the queried chunk."""
    score: float


UNCLEAR_CONFIDENCE = 0.5
"""Confidence of a contradiction that a model could not judge."""


@dataclass(frozen=True, slots=True)
class KnowledgeConflict:
    """Two chunks that contradict each other; `newer` was stored later."""

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
        """Whether a statement, a rule or a model confirms it, not likeness alone."""
        return self.relation.confidence_source != "likeness"


@dataclass(frozen=True, slots=True)
class SourceRanks:
    """The score of a search result, and its rank in each source, from 1; None if that source did not find it."""

    score: float
    semantic_rank: int | None = None
    keyword_rank: int | None = None
    graph_rank: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundChunk(SourceRanks):
    """A search result."""

    chunk: Chunk
    similarity: float = 0.0
    """Cosine of its vector with that of the query; 0 if it has no vector."""
    led_from: str | None = None
    """The chunk that led to it, through a name or a relation."""
    led_by: str = ""
    """That name, or the type of the relation."""


@dataclass(frozen=True, slots=True)
class SearchFilters:
    """Conditions on search results; empty ones match everything (V-30, V-31)."""

    types: frozenset[ChunkType] = frozenset()
    tags: frozenset[str] = frozenset()
    """All of them."""
    any_tags: frozenset[str] = frozenset()
    """At least one."""
    confidence: frozenset[Confidence] = frozenset()
    since: float | None = None
    until: float | None = None
    """Search what was known then: later chunks are left out, and the others are as they were."""
    with_fallen: bool = False
    """Include chunks that were contradicted or retracted."""

    @property
    def is_narrow(self) -> bool:
        """Whether any condition but `with_fallen` is set."""
        named = (self.types, self.tags, self.any_tags, self.confidence)
        return any(named) or self.since is not None or self.until is not None

    def fits(self, chunk: Chunk) -> bool:
        """Whether a chunk passes. Archived orientations pass only if their tag is asked for (V-94)."""
        tags = frozenset(chunk.tags)
        return (
            (not self.types or chunk.type in self.types)
            and self.tags <= tags
            and (not self.any_tags or bool(self.any_tags & tags))
            and (not self.confidence or chunk.confidence in self.confidence)
            and (self.since is None or chunk.created_at >= self.since)
            and (self.until is None or chunk.created_at <= self.until)
            and (self.with_fallen or not chunk.fell_because)
            and (ARCHIVE_TAG not in tags or ARCHIVE_TAG in self.tags | self.any_tags)
        )


NO_FILTERS = SearchFilters()
