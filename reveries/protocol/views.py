"""Messages for views: why, timeline, graph, prompt context, self-model.

Only the edits of the self-model change anything.
"""

from typing import Annotated

import msgspec

from reveries.protocol.message import Answer, Request, When
from reveries.protocol.registry import request
from reveries.protocol.talk import RecalledItem

Prefix = Annotated[str, msgspec.Meta(max_length=100)]


class TurnReason(msgspec.Struct, frozen=True):
    """A feature that raised or lowered the score of a turn. `value` and `usual` (the typical candidate's value) are in
    the feature's own unit; `amount` is its effect on the score relative to the typical candidate."""

    name: str
    value: float
    amount: float
    usual: float


class WhyFactors(msgspec.Struct, frozen=True):
    """The factors of an episode's energy (R-122)."""

    recency: float
    resonance: float
    temporal: float
    accessibility: float


class WhyEntry(msgspec.Struct, frozen=True):
    """How an episode became a seed: by its own vector, by one of its turns, or by both."""

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
    """A step on the path that brought most of the energy."""

    from_id: str
    to_id: str
    to_summary: str
    links: list[WhyLink]


class ScoredTurn(msgspec.Struct, frozen=True):
    """A turn, and how well it matches a cue."""

    turn_id: str
    speaker: str
    said_at: float
    text: str
    score: float


class WhyTurn(ScoredTurn, frozen=True):
    """A source turn with its rank among all turns (0: not among the first thousand)."""

    place: int
    shared_words: list[str]
    reasons: list[TurnReason]


class Why(Answer, frozen=True):
    """One episode in one recall. `missing` says why it did not surface; empty if it did.

    `energy_whole` is compared with `threshold`; `energy` (direct + share x spread) determines the order. `asked_at` is
    the time of the last turn's recall and `rank_then` the episode's rank in it; both 0 if a cue was given.
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


class EpisodePoint(msgspec.Struct, frozen=True):
    """An episode as a point of a picture or a timeline."""

    episode_id: str
    happened_at: float
    summary: str
    salience: float
    accessibility: float
    valence: float
    origin: str


class TimelineMoment(EpisodePoint, frozen=True):
    """An episode, and the gap between conversations before it if there was one."""

    ended_at: float
    depth: str
    conversation_id: str
    gap: TimelineGap | None


class Timeline(Answer, frozen=True):
    """Oldest first; the period has `earlier_count` more before them. `since` and `until` as they were parsed (unix
    seconds), null if open. `lasting_gap`: from the last turn until now."""

    moments: list[TimelineMoment]
    earlier_count: int
    since: float | None
    until: float | None
    lasting_gap: TimelineGap | None


class GraphNode(EpisodePoint, frozen=True):
    """`distance`: number of links from the centre. `energy`: activation by the cue, relative to the highest (0 to
    1)."""

    label: str
    distance: int
    energy: float


class GraphTie(msgspec.Struct, frozen=True):
    """A link between two of the nodes, in both directions unless `is_directed`."""

    first_id: str
    second_id: str
    type: str
    strength: float
    is_directed: bool


class Neighbourhood(Answer, frozen=True):
    """A part of the graph. `title` says what it is about; `left_out` counts neighbours beyond the limit."""

    title: str
    nodes: list[GraphNode]
    ties: list[GraphTie]
    left_out: int


class ContextPart(msgspec.Struct, frozen=True):
    """A part of the prompt. `budget` is the most tokens that it may take; 0: it has no budget of its own."""

    name: str
    tokens: int
    budget: int
    text: str
    note: str


class ContextMemory(msgspec.Struct, frozen=True):
    """A memory that surfaced for the turn: whether it was in the prompt, and if not, why."""

    episode_id: str
    turn_id: str
    line: str
    tokens: int
    was_told: bool
    why_not: str


class ToldContext(Answer, frozen=True):
    """The prompt of the last turn, in the order in which the model read it; tokens counted by `counted_by`. `recalled`:
    what surfaced for that turn, as in its `Recalled`; not set by earlier versions of the daemon."""

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


class SelfStatement(msgspec.Struct, frozen=True, omit_defaults=True):
    """`is_pinned`: the owner wrote it, and sleep does not change it. `at`: the day since when it holds, or when it
    ended; 0 if that is unknown."""

    text: str
    is_pinned: bool
    at: float = 0.0


class SelfField(msgspec.Struct, frozen=True):
    """`is_list`: whether it can hold several statements."""

    name: str
    is_list: bool
    statements: list[SelfStatement]


class SelfModelShown(Answer, frozen=True):
    """R-82..R-85. `refused`: statements that the owner removed; they are not added again in the same words."""

    fields: list[SelfField]
    refused: list[str]
    updated_at: float
    changes: int


class SelfFieldChange(msgspec.Struct, frozen=True):
    field: str
    removed: list[str]
    added: list[str]


class SelfEvidence(msgspec.Struct, frozen=True):
    """An episode that a change is based on, with a quote from it. `merged_into`: the episode it was merged into
    since."""

    episode_id: str
    summary: str
    quote: str
    said_at: float
    merged_into: str


class SelfChange(msgspec.Struct, frozen=True):
    """`number` is the argument of `RevertSelf`. `run_id` empty: not made by a pass of sleep."""

    number: int
    at: float
    reason: str
    run_id: str
    by_owner: bool
    changes: list[SelfFieldChange]
    evidence: list[SelfEvidence]


class SelfHistory(Answer, frozen=True):
    """Oldest first; `total` counts all changes."""

    entries: list[SelfChange]
    total: int


@request(answer=Why, safe=True, large=True)
class AskWhy(Request, frozen=True):
    """Why an episode surfaces for a cue, or does not. `cue` empty: the cue of the last turn. Answered by `Why`."""

    episode_id: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
    cue: Annotated[str, msgspec.Meta(max_length=10_000)] = ""


@request(answer=Timeline, safe=True, large=True)
class AskTimeline(Request, frozen=True):
    """The last `limit` episodes of a period; dates as people write them, empty: open. Answered by `Timeline`."""

    since: When = ""
    until: When = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 40


@request(answer=Neighbourhood, safe=True, large=True)
class AskNeighbourhood(Request, frozen=True):
    """The graph around an episode, or around what `cue` recalls; both empty: around the most salient episodes. Answered
    by `Neighbourhood`."""

    around: Prefix = ""
    cue: Annotated[str, msgspec.Meta(max_length=10_000)] = ""
    limit: Annotated[int, msgspec.Meta(ge=2, le=120)] = 24


@request(answer=ToldContext, safe=True, large=True)
class AskContext(Request, frozen=True):
    """The prompt of the last turn of a conversation; empty: of the current one. Answered by `ToldContext`."""

    conversation_id: Prefix = ""


@request(answer=SelfModelShown, safe=True, large=True)
class AskSelf(Request, frozen=True):
    """Answered by `SelfModelShown`."""


@request(answer=SelfHistory, safe=True, large=True)
class AskSelfHistory(Request, frozen=True):
    """The latest changes of the self-model. Answered by `SelfHistory`."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=200)] = 20


@request(answer=SelfModelShown, large=True)
class EditSelf(Request, frozen=True):
    """Replace a field of the self-model by the owner's text, one statement per line. Answered by `SelfModelShown`."""

    field: Annotated[str, msgspec.Meta(min_length=1, max_length=50)]
    text: Annotated[str, msgspec.Meta(max_length=20_000)]


@request(answer=SelfModelShown, large=True)
class RevertSelf(Request, frozen=True):
    """Revert the self-model to before change `number`. Answered by `SelfModelShown`."""

    number: Annotated[int, msgspec.Meta(ge=1)]
