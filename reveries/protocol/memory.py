"""What a client asks of memory: search, an episode, the owner's hand on it, what is brought in, what is forgotten."""

from typing import Annotated

import msgspec

from reveries.protocol.message import Answer, Progress, Request, Text, When
from reveries.protocol.registry import request
from reveries.protocol.talk import SaidTurn
from reveries.protocol.views import TurnReason, WhyFactors

EpisodeId = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]


class ForgottenStore(msgspec.Struct, frozen=True):
    """What goes from one store: `gone` rows, texts or files; `remade` that are made anew from what is left."""

    store: str
    gone: int
    remade: int = 0


class ForgottenItem(msgspec.Struct, frozen=True):
    """One thing that is chosen, for whoever has to agree to it. Only in a dry run."""

    id: str
    kind: str
    """episode, experience, turn, thought, note, claim, statement, file."""
    at: float
    """Unix seconds; 0 where it has no time."""
    text: str
    is_remade: bool = False


class Forgotten(Answer, frozen=True):
    """The plan of a dry run, or the receipt. `receipt_id` is empty in a dry run and when nothing was chosen."""

    is_dry_run: bool
    is_erased: bool
    """Erased (or would be), not only archived."""
    receipt_id: str
    at: float
    stores: list[ForgottenStore]
    items: list[ForgottenItem]
    item_count: int
    """All of them: `items` holds the first few hundred."""
    notes: list[str]
    """What else there is to know: what is made anew, what is out of reach, which words stand elsewhere."""
    tombstones: int = 0
    """Keyed hashes that keep it from coming back."""
    seconds: float = 0.0
    left: list[ForgottenItem] | msgspec.UnsetType = msgspec.UNSET
    """Sent in a dry run, where there is any: what would stay and says nearly the same in other words, the most alike
    first."""


class Remembered(Answer, frozen=True):
    """Sent after COMMIT. `stored`: whether the words are new; `episodes`: how many were made of what waited for
    sleep."""

    stored: bool
    episodes: int


class Imported(Answer, frozen=True):
    stored: int
    known_already: int
    episodes: int
    erased: int | msgspec.UnsetType = msgspec.UNSET
    """Sent where there are any: lines that the owner had erased. They are not taken in again."""


class EpisodeHeld(Answer, frozen=True):
    """How the episode stands now."""

    episode_id: str
    summary: str
    salience: float
    accessibility: float
    is_pinned: bool


class EpisodeCorrected(Answer, frozen=True):
    """`run_id`: the pass that did it; taken back, it takes the correction with it. `replaced`: what ranks under the new
    words."""

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


class Found(Answer, frozen=True):
    """`turns`: the source turns that answer the cue best, ranked over all episodes. `on_disk`: of a deep search, what
    is not in memory."""

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


class EpisodeDetail(Answer, frozen=True):
    """Everything about an episode (R-23), with the turns that it was made of."""

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


class ImportedTurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of a past conversation. `said_at` in unix seconds."""

    said_at: float
    speaker: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    text: Text
    is_owner: bool | msgspec.UnsetType = msgspec.UNSET
    """Sent as true: the file tells that its account's holder wrote this, whatever they are called."""


@request(answer=Progress)
class Forget(Request, frozen=True):
    """Forget what one of these chooses: an id (or its beginning) of an episode, a turn, a thought or a note; words;
    a person or thing by name; a time. Answered by `Progress` and `Forgotten`.

    Without `erase` it is archived: nothing is deleted, and nothing of it comes to mind. `dry_run` changes nothing. What
    is archived comes back with `bring_back` and its id, words, name or time.
    """

    id: Annotated[str, msgspec.Meta(max_length=100)] = ""
    matching: Annotated[str, msgspec.Meta(max_length=10_000)] = ""
    about: Annotated[str, msgspec.Meta(max_length=200)] = ""
    since: When = ""
    until: When = ""
    dry_run: bool = True
    erase: bool = False
    bring_back: bool = False


@request(answer=EpisodeHeld)
class PinEpisode(Request, frozen=True):
    """Let time leave an episode alone, or let it fade again. `episode_id` may be the beginning of one, and of one that
    is dormant: it is brought back. Answered by `EpisodeHeld`."""

    episode_id: EpisodeId
    is_pinned: bool


@request(answer=EpisodeHeld)
class WeighEpisode(Request, frozen=True):
    """Say how much an episode matters, until recall and time say otherwise. Answered by `EpisodeHeld`."""

    episode_id: EpisodeId
    salience: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]


@request(answer=EpisodeCorrected)
class CorrectEpisode(Request, frozen=True):
    """The owner's words in the place of what an episode says: both are kept, and these rank first. Answered by
    `EpisodeCorrected`."""

    episode_id: EpisodeId
    text: Text


@request(answer=MemoryStats, safe=True)
class AskMemory(Request, frozen=True):
    """Answered by `MemoryStats`."""


@request(answer=Found, safe=True, large=True)
class Search(Request, frozen=True):
    """Recall without reinforcing (R-29). Answered by `Found`.

    `since` and `until`: dates as people write them. `explain`: with what speaks for each of what was found.
    """

    query: Text
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 10
    # Left out where not given: the bytes of a plain search stay what they were.
    since: When | msgspec.UnsetType = msgspec.UNSET
    until: When | msgspec.UnsetType = msgspec.UNSET
    explain: bool | msgspec.UnsetType = msgspec.UNSET
    deep: bool | msgspec.UnsetType = msgspec.UNSET
    """Sent as true: also what is only on disk: dormant episodes, and words that were put away. Wakes nothing."""


@request(answer=EpisodeDetail, safe=True, large=True)
class Inspect(Request, frozen=True):
    """Answered by `EpisodeDetail`. `episode_id` may be the beginning of one."""

    episode_id: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]


@request(answer=Imported)
class Import(Request, frozen=True):
    """A part of a past conversation, in order. `Progress`, then `Imported`. With `is_last` it is slept on (light)."""

    source: Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
    turns: Annotated[list[ImportedTurn], msgspec.Meta(max_length=1000)]
    is_last: bool


@request(answer=Remembered)
class Remember(Request, frozen=True):
    """Words of the owner to be remembered, without a reply; they can be recalled at once. Answered by `Remembered`."""

    text: Text
