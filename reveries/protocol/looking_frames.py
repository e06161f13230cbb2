"""What the daemon shows of how memory works: why something surfaced, when things happened, what hangs together, what
the model was told, and what the mind takes itself to be."""

import msgspec

from reveries.protocol.frames import RecalledItem
from reveries.protocol.message import Message


class TurnReason(msgspec.Struct, frozen=True):
    """Something that spoke for or against a turn. `value` and `usual` (what the usual candidate has of it) are in the
    reason's own unit; `amount` is what it did to the score against the usual candidate."""

    name: str
    value: float
    amount: float
    usual: float


class WhyFactors(msgspec.Struct, frozen=True):
    """What an episode's energy is multiplied with (R-122)."""

    recency: float
    resonance: float
    temporal: float
    accessibility: float


class WhyEntry(msgspec.Struct, frozen=True):
    """How an episode was entered: by its own vector, by one of its turns, or by both."""

    by_meaning: bool
    by_turn: bool
    cosine: float
    share_of_words: float
    match: float
    energy: float


class WhyLink(msgspec.Struct, frozen=True):
    type: str
    strength: float


class WhyStep(msgspec.Struct, frozen=True):
    """A step on the way that brought most of the energy."""

    from_id: str
    to_id: str
    to_summary: str
    links: list[WhyLink]


class WhyTurn(msgspec.Struct, frozen=True):
    """A source turn with its place among all turns (0: beyond the first thousand)."""

    turn_id: str
    speaker: str
    said_at: float
    text: str
    score: float
    place: int
    shared_words: list[str]
    reasons: list[TurnReason]


class Why(Message, frozen=True):
    """One episode in one recall. `missing` says why it did not surface; empty when it did.

    `energy_whole` is compared with `threshold`; `energy` (direct + share x spread) makes the order. `asked_at` is when
    the recall was, and `rank_then` the episode's place in it, for the last turn's recall; both 0 for a cue that was
    given.
    """

    request_id: int
    cue: str
    episode_id: str
    summary: str
    happened_at: float
    surfaced: bool
    rank: int
    surfaced_count: int
    limit: int
    threshold: float
    cosine: float
    shared_words: list[str]
    unmet_words: list[str]
    entry: WhyEntry | None
    entry_id: str
    entry_summary: str
    steps: list[WhyStep]
    salience: float
    factors: WhyFactors
    energy_direct: float
    energy_spread: float
    share_of_spread: float
    energy_whole: float
    energy: float
    turns: list[WhyTurn]
    missing: list[str]
    asked_at: float
    rank_then: int


class TimelineGap(msgspec.Struct, frozen=True):
    seconds: float
    significance: str


class TimelineMoment(msgspec.Struct, frozen=True):
    """An episode, and the silence between conversations before it if there was one."""

    episode_id: str
    happened_at: float
    ended_at: float
    summary: str
    salience: float
    accessibility: float
    valence: float
    origin: str
    depth: str
    conversation_id: str
    gap: TimelineGap | None


class Timeline(Message, frozen=True):
    """Oldest first; `earlier_count` more of the period came before. `since` and `until` as they were understood (unix
    seconds), null where open. `lasting_gap`: from the last word until now."""

    request_id: int
    moments: list[TimelineMoment]
    earlier_count: int
    since: float | None
    until: float | None
    lasting_gap: TimelineGap | None


class GraphNode(msgspec.Struct, frozen=True):
    """`distance`: links away from what the picture is about. `energy`: how much the cue woke it, 0 to 1 of the most."""

    episode_id: str
    label: str
    summary: str
    happened_at: float
    salience: float
    accessibility: float
    valence: float
    origin: str
    distance: int
    energy: float


class GraphTie(msgspec.Struct, frozen=True):
    """A link between two of the nodes; only a directed one goes from the first to the second alone."""

    first_id: str
    second_id: str
    type: str
    strength: float
    is_directed: bool


class Neighbourhood(Message, frozen=True):
    """A part of the graph. `title` says what it is about; `left_out` neighbours had no room."""

    request_id: int
    title: str
    nodes: list[GraphNode]
    ties: list[GraphTie]
    left_out: int


class ContextPart(msgspec.Struct, frozen=True):
    """A part of what the model was told. `budget` is how many tokens it might have taken, 0 where none is its own."""

    name: str
    tokens: int
    budget: int
    text: str
    note: str


class ContextMemory(msgspec.Struct, frozen=True):
    """A memory that surfaced for the turn: told, or why not."""

    episode_id: str
    turn_id: str
    line: str
    tokens: int
    was_told: bool
    why_not: str


class ToldContext(Message, frozen=True):
    """What the model was told for the last turn, in the order in which it read it; tokens by `counted_by`. `recalled`:
    what surfaced for that turn, as its `Recalled` told it; not there from a mind that does not tell."""

    request_id: int
    conversation_id: str
    asked_at: float
    model: str
    context_tokens: int
    reply_tokens: int
    total_tokens: int
    counted_by: str
    parts: list[ContextPart]
    memories: list[ContextMemory]
    notes: list[str]
    recalled: list[RecalledItem] | msgspec.UnsetType = msgspec.UNSET


class SelfStatement(msgspec.Struct, frozen=True):
    """`is_pinned`: the owner wrote it, and sleep leaves it alone."""

    text: str
    is_pinned: bool


class SelfField(msgspec.Struct, frozen=True):
    """`is_list`: one statement or many."""

    name: str
    is_list: bool
    statements: list[SelfStatement]


class SelfModelShown(Message, frozen=True):
    """R-82..R-85. `refused`: what the owner took out, and what does not come back in the same words."""

    request_id: int
    fields: list[SelfField]
    refused: list[str]
    updated_at: float
    changes: int


class SelfFieldChange(msgspec.Struct, frozen=True):
    field: str
    removed: list[str]
    added: list[str]


class SelfEvidence(msgspec.Struct, frozen=True):
    """An episode that a change was made from, with a quote of it. `merged_into`: it went into that one since."""

    episode_id: str
    summary: str
    quote: str
    said_at: float
    merged_into: str


class SelfChange(msgspec.Struct, frozen=True):
    """`number` is what `RevertSelf` takes. `run_id` empty: no pass of sleep did it."""

    number: int
    at: float
    reason: str
    run_id: str
    by_owner: bool
    changes: list[SelfFieldChange]
    evidence: list[SelfEvidence]


class SelfHistory(Message, frozen=True):
    """Oldest first; `total` counts all that there are."""

    request_id: int
    entries: list[SelfChange]
    total: int
