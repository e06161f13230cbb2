"""Data types of memory. Times are unix seconds (UTC, float), vectors float32 rows of unit length."""

from dataclasses import dataclass, field
from enum import StrEnum

from reveries.llm.base import Vector
from reveries.memory.echoes import Span, fresh_text

STOPPED_TEXT = "…"
"""What stands in a prompt for a reply that the breaker stopped."""
TALK = "talk"
"""In `Experience.tainted_by`: the taint came from the conversation, or from the thought before it."""


class Origin(StrEnum):
    """Where a text comes from. Set when it is stored, never changed (R-63, DESIGN "Text is data")."""

    OWNER = "owner"
    SELF = "self"
    TOOL = "tool"
    DOCUMENT = "document"
    CHANNEL = "channel"
    SYSTEM = "system"

    @property
    def is_tainted(self) -> bool:
        """Whether text of this origin may have been written by someone other than the owner."""
        return self in (Origin.TOOL, Origin.DOCUMENT, Origin.CHANNEL)


class ExperienceKind(StrEnum):
    CONVERSATION = "conversation"
    MONOLOGUE = "monologue"
    EXTERNAL = "external"


class DayUnit(StrEnum):
    """How exactly the day of a statement is known."""

    DAY = "day"
    MONTH = "month"
    YEAR = "year"


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
    """Index in the conversation, from 0. Turns are ordered by it, not by time."""
    origin: Origin
    speaker: str
    text: str
    said_at: float
    is_partial: bool = False
    """The reply was cut off by the owner, the breaker, a model failure or its greatest length."""
    tainted: bool = False
    """Someone other than the owner may have influenced the text; everything derived from it inherits this."""
    echoes: tuple[Span, ...] = ()
    """The spans that only repeat text from the prompt: recalled memories, rules, the words just said."""

    @property
    def own_text(self) -> str:
        """The text without its echoes. Summaries, quotes, claims and vectors are built from this alone."""
        return fresh_text(self.text, self.echoes)

    @property
    def is_echo(self) -> bool:
        """Whether the whole text is an echo."""
        return bool(self.echoes) and not self.own_text

    @property
    def prompt_text(self) -> str:
        """The text as a prompt has it: of a reply that the breaker stopped nothing, because a model would go on with
        it. (Such a reply is marked as an echo as a whole, so that it is not learned or recalled either.)"""
        return STOPPED_TEXT if self.is_partial and self.is_echo else self.text


@dataclass(frozen=True, slots=True)
class Experience:
    """One raw experience at full fidelity: an exchange, a thought, something from outside (R-63, R-64)."""

    id: str
    kind: ExperienceKind
    happened_at: float
    content: str
    salience: float
    """0 to 1; a cheap estimate when stored, overwritten by deep sleep (RA-15)."""
    valence: float
    """-1 (bad) to 1 (good)."""
    origin: Origin
    tainted: bool
    conversation_id: str | None = None
    topics: tuple[str, ...] = ()
    light_slept: bool = False
    processed: bool = False
    """Whether deep sleep has processed it (R-103)."""
    is_partial: bool = False
    end_reason: str = ""
    """For a thought: why it ended (R-43)."""
    echoes: tuple[Span, ...] = ()
    """The spans where a thought only repeats text from its prompt."""
    tainted_by: tuple[str, ...] = ()
    """Ids of the tainted episodes in the prompt when this was said or thought; TALK for tainted text in the
    conversation or in the previous thought."""


@dataclass(frozen=True, slots=True)
class Exemplar:
    """A verbatim quote that anchors an abstraction (R-71), with its source."""

    quote: str
    context: str
    said_at: float
    turn_id: str | None
    experience_id: str
    significance: str = ""


@dataclass(frozen=True, slots=True)
class Episode:
    """The memory that sleep formed from one or more experiences (R-70)."""

    id: str
    created_at: float
    """When its first experience happened, not when the row was written."""
    ended_at: float
    last_accessed_at: float
    access_count: int
    summary: str
    exemplars: tuple[Exemplar, ...]
    salience: float
    confidence: float
    """0 to 1: how reliable the summary is. Light sleep's extract is verbatim (1.0)."""
    valence: float
    topics: tuple[str, ...]
    entities: tuple[str, ...]
    """People, places and things named in the text, lower case."""
    origin: Origin
    tainted: bool
    conversation_id: str | None
    depth: str
    """"light" or "deep"."""
    experience_ids: tuple[str, ...]
    accessibility: float = 1.0
    """Falls from 1.0 to 0.1 as the episode fades (RA-29); multiplies its energy. Never 0: nothing is deleted."""
    last_decayed_at: float = 0.0
    gap_seconds: float | None = None
    """Length of the silence before the episode (R-75)."""
    gap_significance: str = ""
    merged_into: str | None = None
    before: tuple[str, ...] = ()
    """Ids of the episodes directly before this one (R-74)."""
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """A directed association. Both directions are stored, except for causal links (RA-19)."""

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
    """What the gap means, in plain words; empty when it means nothing or is still open."""
    felt: float = 0.0
    """Valence of the owner's last words before the gap, -1 to 1."""
    is_left_open: bool = False
    """Whether a question was left unanswered or something was put off."""


@dataclass(frozen=True, slots=True)
class SelfModel:
    """What the mind holds about itself and its owner (R-82..R-85). Changed only by deep sleep and the owner's edits."""

    narrative: str = ""
    values: tuple[str, ...] = ()
    tendencies: tuple[str, ...] = ()
    owner_facts: tuple[str, ...] = ()
    """`relationship.sharedContext`: facts about the owner, one plain sentence each."""
    communication_style: str = ""
    patterns: tuple["Pattern", ...] = ()
    strengths: tuple[str, ...] = ()
    limitations: tuple[str, ...] = ()
    current_focus: str = ""
    unresolved_threads: tuple[str, ...] = ()
    """Those that are open; the oldest first, as in the other lists."""
    closed_threads: tuple[str, ...] = ()
    past_facts: tuple[str, ...] = ()
    """Facts about the owner that are no longer true."""
    anticipations: tuple[str, ...] = ()
    updated_at: float = 0.0
    pinned_fields: tuple[str, ...] = ()
    """Text fields that the owner wrote. Sleep does not change them."""
    pinned: tuple[str, ...] = ()
    """List statements that the owner wrote. They are never dropped when a list grows too long."""
    refused: tuple[str, ...] = ()
    """Statements that the owner removed. They are not added again in the same words."""
    days: tuple["StatementDay", ...] = ()
    """The days of the statements; those of earlier versions have none."""


@dataclass(frozen=True, slots=True)
class StatementDay:
    """The day of a statement of the self-model: since when it holds; of a closed thread or a past fact, when it ended;
    of an anticipation, when it comes."""

    text: str
    at: float
    said_at: float
    """When that was said: later words are never overruled by earlier ones that sleep reads after them."""
    unit: DayUnit = DayUnit.DAY
    """Of `at`: for "since August" its month."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A recurring pattern, with the episodes that show it (R-83, R-170)."""

    description: str
    confidence: float
    episode_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RecallContext:
    """Conditions of a recall (R-127)."""

    now: float
    mood: float = 0.0
    """Mood of the caller, -1 to 1."""
    limit: int = 10
    exclude_turn_ids: frozenset[str] = frozenset()
    """Turns that are already in the caller's context: never ranked."""


@dataclass(frozen=True, slots=True)
class Factors:
    """The factors by which an episode's energy was multiplied (R-122)."""

    recency: float
    resonance: float
    temporal: float
    accessibility: float


@dataclass(frozen=True, slots=True)
class RankingReason:
    """A feature that raised or lowered the score of a turn."""

    name: str
    """A column of `features` or `hops`."""
    value: float
    """The feature's value, in the column's own unit."""
    amount: float
    """Its effect on the score, relative to the typical candidate."""
    usual: float = 0.0
    """The feature's value for the typical candidate, in the same unit."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """A later statement that replaces an earlier one."""

    turn_id: str
    quote: str
    said_at: float
    of: str = ""
    """The sentence that is replaced; empty when the whole turn is."""


@dataclass(frozen=True, slots=True)
class RankedTurn:
    """A source turn that matches the cue."""

    turn: Turn
    episode_id: str
    score: float
    reasons: tuple[RankingReason, ...] = ()
    """The features that moved its score most, largest first; empty unless an explanation was requested."""
    replaced_by: Replacement | None = None
    """The current statement that replaces the part of the turn that the cue asks about."""
    also_replaced_by: tuple[Replacement, ...] = ()
    """The current statements that replace other parts of the turn."""
    partner: Turn | None = None
    """The other half of its exchange: the reply, or the words that it answers."""
    cosine: float = 0.0
    """Cosine with the cue; 0 when the turn has no vector yet."""
    coverage: float = 0.0
    """The share of the cue's words, by weight, that the turn and its neighbours contain."""
    is_in_time: bool = False
    """Whether it was said at a time that the cue asks about."""


@dataclass(frozen=True, slots=True)
class RecalledEpisode:
    """An episode that surfaced, with the explanation."""

    episode: Episode
    energy: float
    seed_cosine: float
    """Cosine with the cue if the episode was an entry point, else 0."""
    path: tuple[str, ...]
    """Episode ids on the strongest path of energy, from the entry point to this episode, both included."""
    factors: Factors
    turns: tuple[RankedTurn, ...] = ()
    seed_words: float = 0.0
    """If words made it an entry point: the share of the cue's words, by weight, in its best turn."""


@dataclass(frozen=True, slots=True)
class Recall:
    """The ranked result of a recall, with its explanation. Computing it changed nothing."""

    cue: str
    vector: Vector = field(repr=False)
    episodes: tuple[RecalledEpisode, ...]
    turns: tuple[RankedTurn, ...]
    """The turns that match the cue best, over all episodes, best first."""
    edges_touched: int
    nearest: tuple[RankedTurn, ...] = ()
    """The turns nearest by vector alone, nearest first: what the ranking misses when the wording differs."""
    names_only_time: bool = False
    """The cue names a time and nothing else ("What was I up to last week?"): the first turns are those of that time."""

    @property
    def is_tainted(self) -> bool:
        """Whether anything recalled is tainted. Everything said with it in the prompt inherits the taint."""
        turns = [ranked.turn for ranked in (*self.turns, *self.nearest)]
        return any(recalled.episode.tainted for recalled in self.episodes) or any(
            turn.tainted or turn.origin.is_tainted for turn in turns
        )

    @property
    def tainted_ids(self) -> tuple[str, ...]:
        """Ids of the tainted episodes in the result."""
        turns = [
            ranked for ranked in (*self.turns, *self.nearest) if ranked.turn.tainted or ranked.turn.origin.is_tainted
        ]
        episode_ids = [recalled.episode.id for recalled in self.episodes if recalled.episode.tainted]
        return tuple(dict.fromkeys([*episode_ids, *(ranked.episode_id for ranked in turns)]))

    @property
    def touched_ids(self) -> tuple[str, ...]:
        """Ids of the episodes that a real recall reinforces (R-125)."""
        return tuple(recalled.episode.id for recalled in self.episodes)


@dataclass(frozen=True, slots=True)
class ThoughtText:
    """What was thought in one cycle of the monologue, when and why (R-41)."""

    id: str
    began_at: float
    ended_at: float
    why_began: str
    why_ended: str
    text: str
    tokens: int
    model: str
    explanation: str = ""
    occasion: str = ""
    """What it began with: the owner's nudge, the event, or the memory that surfaced."""
    is_tainted: bool = False
    """Whether tainted memories were in its prompt."""
    shown: tuple[str, ...] = ()
    """Other texts in its prompt besides the recalled episodes; what it repeats of them is not learned again."""
