"""What a client may ask to see: why, when, what hangs together, what was told, what the mind takes itself to be.

None of these changes a memory, but for the owner's hand on the self-model.
"""

from typing import Annotated

import msgspec

from reveries.protocol.message import Answer, Request, When
from reveries.protocol.registry import request
from reveries.protocol.talk import RecalledItem

Prefix = Annotated[str, msgspec.Meta(max_length=100)]


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


class Why(Answer, frozen=True):
    """One episode in one recall. `missing` says why it did not surface; empty when it did.

    `energy_whole` is compared with `threshold`; `energy` (direct + share x spread) makes the order. `asked_at` is when
    the recall was, and `rank_then` the episode's place in it, for the last turn's recall; both 0 for a cue that was
    given.
    """

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


class Timeline(Answer, frozen=True):
    """Oldest first; `earlier_count` more of the period came before. `since` and `until` as they were understood (unix
    seconds), null where open. `lasting_gap`: from the last word until now."""

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


class Neighbourhood(Answer, frozen=True):
    """A part of the graph. `title` says what it is about; `left_out` neighbours had no room."""

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


class ToldContext(Answer, frozen=True):
    """What the model was told for the last turn, in the order in which it read it; tokens by `counted_by`. `recalled`:
    what surfaced for that turn, as its `Recalled` told it; not there from a mind that does not tell."""

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


class SelfModelShown(Answer, frozen=True):
    """R-82..R-85. `refused`: what the owner took out, and what does not come back in the same words."""

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


class SelfHistory(Answer, frozen=True):
    """Oldest first; `total` counts all that there are."""

    entries: list[SelfChange]
    total: int


@request(answer=Why, safe=True, large=True)
class AskWhy(Request, frozen=True):
    """Why an episode surfaces for a cue, or does not. `cue` empty: that of the last turn. Answered by `Why`."""

    episode_id: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
    cue: Annotated[str, msgspec.Meta(max_length=10_000)] = ""


@request(answer=Timeline, safe=True, large=True)
class AskTimeline(Request, frozen=True):
    """The last `limit` episodes of a period; dates as people write them, empty is open. Answered by `Timeline`."""

    since: When = ""
    until: When = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 40


@request(answer=Neighbourhood, safe=True, large=True)
class AskNeighbourhood(Request, frozen=True):
    """The graph around an episode, or around what `cue` brings up; both empty: around what matters most. Answered by
    `Neighbourhood`."""

    around: Prefix = ""
    cue: Annotated[str, msgspec.Meta(max_length=10_000)] = ""
    limit: Annotated[int, msgspec.Meta(ge=2, le=120)] = 24


@request(answer=ToldContext, safe=True, large=True)
class AskContext(Request, frozen=True):
    """What the model was told for the last turn of a conversation; empty: of the one that is held. Answered by
    `ToldContext`."""

    conversation_id: Prefix = ""


@request(answer=SelfModelShown, safe=True, large=True)
class AskSelf(Request, frozen=True):
    """Answered by `SelfModelShown`."""


@request(answer=SelfHistory, safe=True, large=True)
class AskSelfHistory(Request, frozen=True):
    """The last changes of the self-model. Answered by `SelfHistory`."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=200)] = 20


@request(answer=SelfModelShown, large=True)
class EditSelf(Request, frozen=True):
    """The owner's own words in a field of the self-model, one statement a line. Answered by `SelfModelShown`."""

    field: Annotated[str, msgspec.Meta(min_length=1, max_length=50)]
    text: Annotated[str, msgspec.Meta(max_length=20_000)]


@request(answer=SelfModelShown, large=True)
class RevertSelf(Request, frozen=True):
    """The self-model as it stood before change `number`. Answered by `SelfModelShown`."""

    number: Annotated[int, msgspec.Meta(ge=1)]
