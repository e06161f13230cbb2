"""Messages about memory: search, episodes, the owner's edits, import, forgetting."""

from typing import Annotated, Literal

import msgspec

from reveries.protocol.message import Answer, Progress, Request, Text, When
from reveries.protocol.registry import request
from reveries.protocol.talk import SaidTurn
from reveries.protocol.views import ScoredTurn, TurnReason, WhyFactors

EpisodeId = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]


class ForgottenStore(msgspec.Struct, frozen=True):
    """What is removed from one store: `gone` rows, texts or files; `remade` are rebuilt from what is left."""

    store: str
    gone: int
    remade: int = 0


class ForgottenItem(msgspec.Struct, frozen=True):
    """One item selected for forgetting, shown for confirmation. Only in a dry run."""

    id: str
    kind: str
    """episode, experience, turn, thought, note, claim, statement, file."""
    at: float
    """Unix seconds; 0 where it has no time."""
    text: str
    is_remade: bool = False


class Forgotten(Answer, frozen=True):
    """The plan of a dry run, or the receipt. `receipt_id` is empty in a dry run and when nothing was selected."""

    is_dry_run: bool
    is_erased: bool
    """Erased (or would be), not only archived."""
    receipt_id: str
    at: float
    stores: list[ForgottenStore]
    items: list[ForgottenItem]
    item_count: int
    """The total; `items` holds only the first few hundred."""
    notes: list[str]
    """Remarks: what is rebuilt, what cannot be reached, where the same words occur elsewhere."""
    tombstones: int = 0
    """Number of keyed hashes stored so that the text does not return through a backup or an import."""
    seconds: float = 0.0
    left: list[ForgottenItem] | msgspec.UnsetType = msgspec.UNSET
    """Sent in a dry run if there are any: items that would stay although they say nearly the same in other words, most
    similar first."""


class Remembered(Answer, frozen=True):
    """Sent after COMMIT. `stored`: whether the text is new; `episodes`: how many were created from unprocessed
    experiences."""

    stored: bool
    episodes: int


class Imported(Answer, frozen=True):
    stored: int
    known_already: int
    episodes: int
    erased: int | msgspec.UnsetType = msgspec.UNSET
    """Sent if not 0: lines skipped because the owner erased them earlier."""


class EpisodeHeld(Answer, frozen=True):
    """The episode after the change."""

    episode_id: str
    summary: str
    salience: float
    accessibility: float
    is_pinned: bool


class EpisodeCorrected(Answer, frozen=True):
    """`run_id`: the pass that made the correction; undoing it undoes the correction. `replaced`: the episodes that now
    rank below the new one."""

    run_id: str
    episode_id: str
    new_episode_id: str
    replaced: list[str]


class MemoryStats(Answer, frozen=True):
    """R-171."""

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
    """Episodes that are only on disk; the figures above count those in memory."""
    put_away_turns: int = 0
    deep_search: str = ""
    """What searches the vectors on disk: "sqlite-vec" or "numpy"."""


class FoundTurn(ScoredTurn, frozen=True):
    """`reasons` if `explain` was requested, the strongest first."""

    episode_id: str
    reasons: list[TurnReason] | msgspec.UnsetType = msgspec.UNSET


class FoundEpisode(msgspec.Struct, frozen=True):
    """`cosine`, `words` (the share of the cue's words in its best turn; both 0 if it was not a seed) and `factors` are
    sent if `explain` was requested."""

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
    """Whether its episode is dormant; otherwise only these words were offloaded."""
    speaker: str
    said_at: float
    origin: str
    tainted: bool
    text: str
    score: float
    cosine: float
    words: float
    """The share of the query's words that it contains, weighted by how rare they are."""


class Found(Answer, frozen=True):
    """`turns`: the source turns that answer the cue best, ranked over all episodes. `on_disk`: results of a deep search
    that are not in memory."""

    episodes: list[FoundEpisode]
    turns: list[FoundTurn]
    edges_touched: int
    seconds: float
    on_disk: list[FoundOnDisk] = msgspec.field(default_factory=list)
    is_whole: bool = True
    """False if a deep search ran out of time before it had compared everything."""


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
    """Where one of an episode's source experiences came from."""

    experience_id: str
    kind: str
    """ "conversation", "monologue" or "external"."""
    origin: str
    tainted: bool
    happened_at: float
    speakers: list[str]
    """Speakers other than the owner and the mind."""
    by: list[str]
    """How untrusted text got into it, one line for each way."""


class EpisodeDetail(Answer, frozen=True):
    """Everything about an episode (R-23), with its source turns."""

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
    """The owner pinned it: no decay, no dormancy."""


class ImportedTurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of a past conversation. `said_at` in unix seconds."""

    said_at: float
    speaker: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    text: Text
    author: Literal["owner", "mind", "other"] | msgspec.UnsetType = msgspec.UNSET
    """Whose words these are, as the owner was shown before storing. Without it, by the configured names."""
    key: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")] | msgspec.UnsetType = msgspec.UNSET
    """What this line is in its file, so that it is stored once. Without it: its time, speaker and text."""
    conversation: Annotated[str, msgspec.Meta(max_length=300)] | msgspec.UnsetType = msgspec.UNSET
    """The conversation within the file that it belongs to, if the file has several."""


@request(answer=Forgotten, before=(Progress,))
class Forget(Request, frozen=True):
    """Forget what one of these selects: the id (or a unique prefix) of an episode, a turn, a thought or a note; words;
    the name of a person or thing; a period; a document of a project. Answered by `Progress` and `Forgotten`.

    Without `erase` it is archived: nothing is deleted, but it is not recalled any more. `dry_run` changes nothing.
    `bring_back` restores what was archived, selected in the same way.
    """

    id: Annotated[str, msgspec.Meta(max_length=100)] = ""
    matching: Annotated[str, msgspec.Meta(max_length=10_000)] = ""
    about: Annotated[str, msgspec.Meta(max_length=200)] = ""
    since: When = ""
    until: When = ""
    dry_run: bool = True
    erase: bool = False
    bring_back: bool = False
    # Omitted if not set, so that the bytes of other requests stay the same as in earlier versions.
    document: Annotated[str, msgspec.Meta(min_length=1, max_length=500)] | msgspec.UnsetType = msgspec.UNSET
    """Its name, a unique part of it, or d3; only to be erased."""
    project: Annotated[str, msgspec.Meta(min_length=1, max_length=200)] | msgspec.UnsetType = msgspec.UNSET
    """Whose document it is."""


@request(answer=EpisodeHeld)
class PinEpisode(Request, frozen=True):
    """Pin an episode against decay and dormancy, or unpin it. `episode_id` may be a unique prefix; a dormant episode is
    woken. Answered by `EpisodeHeld`."""

    episode_id: EpisodeId
    is_pinned: bool


@request(answer=EpisodeHeld)
class WeighEpisode(Request, frozen=True):
    """Set the salience of an episode; recall and time change it further. Answered by `EpisodeHeld`."""

    episode_id: EpisodeId
    salience: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]


@request(answer=EpisodeCorrected)
class CorrectEpisode(Request, frozen=True):
    """Correct an episode in the owner's words: both versions are kept, and the owner's rank first. Answered by
    `EpisodeCorrected`."""

    episode_id: EpisodeId
    text: Text


@request(answer=MemoryStats, safe=True)
class AskMemory(Request, frozen=True):
    """Answered by `MemoryStats`."""


@request(answer=Found, safe=True, large=True)
class Search(Request, frozen=True):
    """Recall without reinforcing (R-29). Answered by `Found`.

    `since` and `until`: dates as people write them. `explain`: include the reasons for each result.
    """

    query: Text
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 10
    # Omitted if not set, so that the bytes of a plain search stay the same as in earlier versions.
    since: When | msgspec.UnsetType = msgspec.UNSET
    until: When | msgspec.UnsetType = msgspec.UNSET
    explain: bool | msgspec.UnsetType = msgspec.UNSET
    deep: bool | msgspec.UnsetType = msgspec.UNSET
    """Sent as true: also search what is only on disk (dormant episodes and offloaded words). Wakes nothing."""


@request(answer=EpisodeDetail, safe=True, large=True)
class Inspect(Request, frozen=True):
    """Answered by `EpisodeDetail`. `episode_id` may be a unique prefix."""

    episode_id: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]


@request(answer=Imported, before=(Progress,))
class Import(Request, frozen=True):
    """Import a part of a past conversation, in order. Answered by `Progress`, then `Imported`. After the part with
    `is_last`, light sleep runs."""

    source: Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
    turns: Annotated[list[ImportedTurn], msgspec.Meta(max_length=1000)]
    is_last: bool


@request(answer=Remembered)
class Remember(Request, frozen=True):
    """Store a text of the owner without a reply; it can be recalled at once. Answered by `Remembered`."""

    text: Text
