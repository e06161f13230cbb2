"""What the daemon tells of the memory."""

import msgspec

from reveries.protocol.frames import SaidTurn
from reveries.protocol.looking_frames import TurnReason, WhyFactors
from reveries.protocol.message import Message


class MemoryStats(Message, frozen=True):
    """R-171."""

    request_id: int
    experiences: int
    unprocessed: int
    turns: int
    episodes: int
    links: dict[str, int]
    mean_salience: float
    min_salience: float
    faded: int
    database_bytes: int
    last_consolidation: str
    dormant: int = 0
    """Episodes that are only on disk; the figures above are of those in memory."""
    put_away_turns: int = 0
    deep_search: str = ""
    """What finds vectors on the disk: "sqlite-vec" or "numpy"."""


class FoundTurn(msgspec.Struct, frozen=True):
    """`reasons` when they were asked for, those that moved it most first."""

    turn_id: str
    episode_id: str
    speaker: str
    said_at: float
    text: str
    score: float
    reasons: list[TurnReason] | msgspec.UnsetType = msgspec.UNSET


class FoundEpisode(msgspec.Struct, frozen=True):
    """`cosine`, `words` (the share of the cue's words that its best turn holds; both 0 for one that was no entry point)
    and `factors` when they were asked for."""

    episode_id: str
    summary: str
    happened_at: float
    energy: float
    salience: float
    origin: str
    depth: str
    quote: str
    quote_speaker: str
    path: list[str]
    cosine: float | msgspec.UnsetType = msgspec.UNSET
    words: float | msgspec.UnsetType = msgspec.UNSET
    factors: WhyFactors | msgspec.UnsetType = msgspec.UNSET


class FoundOnDisk(msgspec.Struct, frozen=True):
    """A text that is only on disk: a dormant episode's summary, or a turn word for word."""

    kind: str
    """"episode" or "turn"."""
    owner_id: str
    episode_id: str
    is_dormant: bool
    """Whether its episode is; else only these words were put away."""
    speaker: str
    said_at: float
    origin: str
    tainted: bool
    text: str
    score: float
    cosine: float
    words: float
    """The share of the query's words that it holds, by how telling they are."""


class Found(Message, frozen=True):
    """`turns`: the source turns that answer the cue best, ranked over all episodes. `on_disk`: of a deep search, what
    is not in memory."""

    request_id: int
    episodes: list[FoundEpisode]
    turns: list[FoundTurn]
    edges_touched: int
    seconds: float
    on_disk: list[FoundOnDisk] = msgspec.field(default_factory=list)
    is_whole: bool = True
    """False when a deep search ran out of time before it had compared everything."""


class ExemplarDetail(msgspec.Struct, frozen=True):
    quote: str
    context: str
    said_at: float
    speaker: str
    turn_id: str
    significance: str


class LinkDetail(msgspec.Struct, frozen=True):
    episode_id: str
    type: str
    strength: float
    summary: str


class Provenance(msgspec.Struct, frozen=True):
    """Where one of the experiences came from that an episode was made of."""

    experience_id: str
    kind: str
    """ "conversation", "monologue" or "external"."""
    origin: str
    tainted: bool
    happened_at: float
    speakers: list[str]
    """Who spoke in it that is neither the owner nor the mind."""
    by: list[str]
    """How foreign text came to it, one line a way."""


class EpisodeDetail(Message, frozen=True):
    """Everything about an episode (R-23), with the turns that it was made of."""

    request_id: int
    episode_id: str
    summary: str
    happened_at: float
    ended_at: float
    last_accessed_at: float
    access_count: int
    salience: float
    confidence: float
    accessibility: float
    valence: float
    origin: str
    tainted: bool
    depth: str
    topics: list[str]
    entities: list[str]
    exemplars: list[ExemplarDetail]
    links: list[LinkDetail]
    before: list[str]
    after: list[str]
    gap_seconds: float | None
    gap_significance: str
    sources: list[SaidTurn]
    is_dormant: bool = False
    provenance: list[Provenance] = msgspec.field(default_factory=list)
    is_pinned: bool = False
    """The owner pinned it, and time leaves it alone."""
