"""A chunk: one thing that a project knows (V-46, V-47)."""

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

    @property
    def stands(self) -> bool:
        return not self.fell_because


@dataclass(frozen=True, slots=True)
class FoundChunk:
    """A chunk that a search found, best first."""

    chunk: Chunk
    similarity: float
    """Cosine of its vector with that of the query; 0 where it has none."""
    score: float
