"""The values that memory is made of. Times are unix seconds (UTC, float), vectors float32 rows of unit length."""

from dataclasses import dataclass, field
from enum import StrEnum

from reveries.llm.base import Vector
from reveries.memory.echoes import Span, fresh_text

TALK = "talk"
"""In `Experience.tainted_by`: something in the conversation, or the thought before it."""


class Origin(StrEnum):
    """Who a text comes from. Set when it is stored, never changed (R-63, DESIGN "Text is data")."""

    OWNER = "owner"
    SELF = "self"
    TOOL = "tool"
    DOCUMENT = "document"
    CHANNEL = "channel"
    SYSTEM = "system"

    @property
    def is_tainted(self) -> bool:
        """Whether text of this origin may have been written by somebody who is not the owner."""
        return self in (Origin.TOOL, Origin.DOCUMENT, Origin.CHANNEL)


class ExperienceKind(StrEnum):
    CONVERSATION = "conversation"
    MONOLOGUE = "monologue"
    EXTERNAL = "external"


class LinkType(StrEnum):
    CAUSAL = "causal"
    THEMATIC = "thematic"
    TEMPORAL = "temporal"
    EMOTIONAL = "emotional"


@dataclass(frozen=True, slots=True)
class Turn:
    """What one speaker said, word for word."""

    id: str
    conversation_id: str
    experience_id: str | None
    position: int
    """Place in the conversation, from 0. Order goes by it, not by the clock."""
    origin: Origin
    speaker: str
    text: str
    said_at: float
    is_partial: bool = False
    """The reply was cut off: stopped by the owner, by the breaker or by a failing model."""
    tainted: bool = False
    """Somebody who is not the owner may have had a hand in it; whatever is derived from it inherits this."""
    echoes: tuple[Span, ...] = ()
    """Where it only repeats what the mind had before it: recalled memories, rules, the words just said."""

    @property
    def fresh(self) -> str:
        """What of the text is new: summaries, quotes, claims and vectors are made of this alone."""
        return fresh_text(self.text, self.echoes)

    @property
    def is_echo(self) -> bool:
        """Nothing of it is new."""
        return bool(self.echoes) and not self.fresh


@dataclass(frozen=True, slots=True)
class Experience:
    """One raw experience at full fidelity: an exchange, a thought, something from outside (R-63, R-64)."""

    id: str
    kind: ExperienceKind
    happened_at: float
    content: str
    salience: float
    """0 to 1; a cheap estimate when encoded, overwritten by deep sleep (RA-15)."""
    valence: float
    """-1 (bad) to 1 (good)."""
    origin: Origin
    tainted: bool
    conversation_id: str | None = None
    topics: tuple[str, ...] = ()
    light_slept: bool = False
    processed: bool = False
    """Deep sleep has worked on it (R-103)."""
    is_partial: bool = False
    end_reason: str = ""
    """For a thought: why it ended (R-43)."""
    echoes: tuple[Span, ...] = ()
    """Where a thought only repeats what it had before it."""
    tainted_by: tuple[str, ...] = ()
    """Ids of the tainted episodes that were before the mind when it said or thought this; TALK for what stood in the
    conversation or in the thought before it."""


@dataclass(frozen=True, slots=True)
class Exemplar:
    """A verbatim quote that anchors an abstraction (R-71), with where it was said."""

    quote: str
    context: str
    said_at: float
    turn_id: str | None
    experience_id: str
    significance: str = ""


@dataclass(frozen=True, slots=True)
class Episode:
    """What sleep made of one or more experiences (R-70)."""

    id: str
    created_at: float
    """When it happened (the first experience in it), not when it was written."""
    ended_at: float
    last_accessed_at: float
    access_count: int
    summary: str
    exemplars: tuple[Exemplar, ...]
    salience: float
    confidence: float
    """0 to 1: how far the summary can be trusted. Light sleep's extract is verbatim (1.0)."""
    valence: float
    topics: tuple[str, ...]
    entities: tuple[str, ...]
    """People, places, things named in it, lower case."""
    origin: Origin
    tainted: bool
    conversation_id: str | None
    depth: str
    """"light" or "deep"."""
    experience_ids: tuple[str, ...]
    accessibility: float = 1.0
    """1.0 falls to 0.1 as it fades (RA-29); multiplies its energy. Never 0: nothing is deleted."""
    last_decayed_at: float = 0.0
    gap_seconds: float | None = None
    """Silence before it (R-75)."""
    gap_significance: str = ""
    merged_into: str | None = None
    before: tuple[str, ...] = ()
    """Ids of the episodes that came just before it (R-74)."""
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """A directed association; both directions are stored, but for causal ones (RA-19)."""

    source_id: str
    target_id: str
    type: LinkType
    strength: float
    """0 to 1."""


@dataclass(frozen=True, slots=True)
class Gap:
    """The silence between two conversations (R-76)."""

    id: str
    conversation_id: str
    started_at: float
    ended_at: float | None = None
    significance: str = ""
    """What it means, in plain words; empty when it means nothing, or lasts."""
    felt: float = 0.0
    """Valence of what the owner said just before it, -1 to 1."""
    is_left_open: bool = False
    """A question stayed without an answer, or something was put off."""


@dataclass(frozen=True, slots=True)
class SelfModel:
    """What the mind takes itself and its owner to be (R-82..R-85). Changed only by deep sleep."""

    narrative: str = ""
    values: tuple[str, ...] = ()
    tendencies: tuple[str, ...] = ()
    owner_facts: tuple[str, ...] = ()
    """`relationship.sharedContext`: what it knows about its owner, one plain sentence each."""
    communication_style: str = ""
    patterns: tuple["Pattern", ...] = ()
    strengths: tuple[str, ...] = ()
    limitations: tuple[str, ...] = ()
    current_focus: str = ""
    unresolved_threads: tuple[str, ...] = ()
    anticipations: tuple[str, ...] = ()
    updated_at: float = 0.0
    pinned_fields: tuple[str, ...] = ()
    """Fields of one text that the owner wrote: sleep leaves them alone."""
    pinned: tuple[str, ...] = ()
    """Statements in the lists that the owner wrote: they are never crowded out."""
    refused: tuple[str, ...] = ()
    """Statements that the owner took out: they do not come back in the same words."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """Something that recurs, with the episodes that show it (R-83, R-170)."""

    description: str
    confidence: float
    episode_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RecallContext:
    """What a recall is asked under (R-127)."""

    now: float
    mood: float = 0.0
    """-1 to 1, of the one who asks."""
    limit: int = 10
    exclude_turn_ids: frozenset[str] = frozenset()
    """Turns that the asker has before its eyes already: never ranked."""


@dataclass(frozen=True, slots=True)
class Factors:
    """What an episode's energy was multiplied with (R-122)."""

    recency: float
    resonance: float
    temporal: float
    accessibility: float


@dataclass(frozen=True, slots=True)
class RankingReason:
    """Something that spoke for or against a turn."""

    name: str
    """A column of `features` or `hops`."""
    value: float
    """What was found, in the column's own unit."""
    amount: float
    """What it did to the score, against the usual candidate."""
    usual: float = 0.0
    """What the usual candidate has of it, in the same unit."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """What was said later in the place of something."""

    turn_id: str
    quote: str
    said_at: float
    of: str = ""
    """The sentence that it replaces; empty for all of it."""


@dataclass(frozen=True, slots=True)
class RankedTurn:
    """A source turn that answers the cue."""

    turn: Turn
    episode_id: str
    score: float
    reasons: tuple[RankingReason, ...] = ()
    """What moved it most, up or down, largest first; only where they were asked for."""
    replaced_by: Replacement | None = None
    """What holds now in the place of what it says, as far as the cue asks for that."""
    also_replaced_by: tuple[Replacement, ...] = ()
    """What holds now in the place of what else it says."""
    partner: Turn | None = None
    """The other half of its exchange between the owner and the mind: the reply, or the words that were answered."""
    cosine: float = 0.0
    """With the cue; 0 where the turn has no vector yet."""
    coverage: float = 0.0
    """The share of the cue's words, by weight, that the turn and its neighbours hold."""


@dataclass(frozen=True, slots=True)
class RecalledEpisode:
    """An episode that surfaced, and why."""

    episode: Episode
    energy: float
    seed_cosine: float
    """Cosine with the cue if it was an entry point, else 0."""
    path: tuple[str, ...]
    """Episode ids from the entry point to this one, both included: the strongest way the energy came."""
    factors: Factors
    turns: tuple[RankedTurn, ...] = ()
    seed_words: float = 0.0
    """If words made it an entry point: the share of the cue's words, by weight, that its best turn holds."""


@dataclass(frozen=True, slots=True)
class Recall:
    """A whole recall, ranked, with its explanation. Nothing has been changed by making it."""

    cue: str
    vector: Vector = field(repr=False)
    episodes: tuple[RecalledEpisode, ...]
    turns: tuple[RankedTurn, ...]
    """The turns that answer the cue best, over all episodes, best first."""
    edges_touched: int
    nearest: tuple[RankedTurn, ...] = ()
    """The turns nearest in meaning alone, nearest first: what other words hide from the ranking."""

    @property
    def is_tainted(self) -> bool:
        """Whether somebody who is not the owner may have had a hand in anything that came to mind: whatever is said
        with it before one's eyes inherits that."""
        turns = [ranked.turn for ranked in (*self.turns, *self.nearest)]
        return any(found.episode.tainted for found in self.episodes) or any(
            turn.tainted or turn.origin.is_tainted for turn in turns
        )

    @property
    def tainted_ids(self) -> tuple[str, ...]:
        """Ids of the tainted episodes among what came to mind."""
        turns = [one for one in (*self.turns, *self.nearest) if one.turn.tainted or one.turn.origin.is_tainted]
        found = [one.episode.id for one in self.episodes if one.episode.tainted]
        return tuple(dict.fromkeys([*found, *(one.episode_id for one in turns)]))

    @property
    def touched_ids(self) -> tuple[str, ...]:
        """The episodes that a real recall reinforces (R-125)."""
        return tuple(found.episode.id for found in self.episodes)
