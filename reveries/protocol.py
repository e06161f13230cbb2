"""What crosses the socket: every message, the framing, the version.

A frame is 4 bytes of length (big-endian) and one MessagePack map whose `t` names the message. The client sends a
`Hello` first and gets a `Welcome`. From then on each request carries a `request_id` that the client chose (1 or more);
every answer to it carries the same, and `request_id` 0 marks what nobody asked for by itself: what all attached
clients are told. A request ends with its result, or with `Failed`. Any MessagePack library can speak it
(tests/test_protocol.py keeps golden bytes).
"""

import struct
from collections.abc import Callable
from typing import Annotated, Protocol, TypeVar

import msgspec

from reveries.errors import ProtocolError

PROTOCOL_VERSION = 1
MAX_FRAME_BYTES = 4 * 1024 * 1024
MAX_TEXT_CHARS = 1_000_000

_T = TypeVar("_T")

_HEADER = struct.Struct(">I")

RequestId = Annotated[int, msgspec.Meta(ge=1, le=2**53)]
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_TEXT_CHARS)]


class _Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="t", tag=str.lower):
    """A map with its name under `t`."""


# --- what a client may ask -------------------------------------------------------------------------------------------


class Hello(_Message, frozen=True):
    """The first frame of a connection."""

    version: int
    client: Annotated[str, msgspec.Meta(max_length=100)]


class Attach(_Message, frozen=True):
    """Join the conversation: answered by `Attached`, then told (request_id 0) whatever happens in it."""

    request_id: RequestId


class Detach(_Message, frozen=True):
    """Leave the conversation but keep the connection. Answered by `Ok`."""

    request_id: RequestId


class Say(_Message, frozen=True):
    """One turn of the owner. Answered by `Recalled`, `Token`s, `Stored`, and `Replied` as the last."""

    request_id: RequestId
    text: Text


class Cancel(_Message, frozen=True):
    """Stop the request `target_id`: a reply, an observation, a consolidation. Answered by `Ok`."""

    request_id: RequestId
    target_id: RequestId


class AskStatus(_Message, frozen=True):
    """Answered by `Status`."""

    request_id: RequestId


class Observe(_Message, frozen=True):
    """Watch the monologue: `ThoughtBegan`, `ThoughtToken`, `ThoughtEnded` until cancelled. Begins with the running
    thought so far, if there is one."""

    request_id: RequestId


class AskThoughts(_Message, frozen=True):
    """The log of the monologue since a time (unix seconds). Answered by `Thoughts`."""

    request_id: RequestId
    since: float
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 50


class Consolidate(_Message, frozen=True):
    """Deep sleep on the most salient unprocessed experiences. `Progress`, then `Consolidated`."""

    request_id: RequestId
    limit: Annotated[int, msgspec.Meta(ge=1)] | None = None


class AskMemory(_Message, frozen=True):
    """Answered by `MemoryStats`."""

    request_id: RequestId


class Search(_Message, frozen=True):
    """Recall without reinforcing (R-29). Answered by `Found`."""

    request_id: RequestId
    query: Text
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 10


class Inspect(_Message, frozen=True):
    """Answered by `EpisodeDetail`. `episode_id` may be the beginning of one."""

    request_id: RequestId
    episode_id: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]


class AskConfig(_Message, frozen=True):
    """The settings in force, secrets masked. Answered by `Config`."""

    request_id: RequestId


class ApplyConfig(_Message, frozen=True):
    """Read config.toml again and take over what can change while awake. Answered by `ConfigApplied`."""

    request_id: RequestId


class ImportedTurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of a past conversation. `said_at` in unix seconds."""

    said_at: float
    speaker: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    text: Text


class Import(_Message, frozen=True):
    """A part of a past conversation, in order. `Progress`, then `Imported`. With `is_last` it is slept on (light)."""

    request_id: RequestId
    source: Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
    turns: Annotated[list[ImportedTurn], msgspec.Meta(max_length=1000)]
    is_last: bool


class Sleep(_Message, frozen=True):
    """Stop thinking, consolidate (60 s at most), close. Answered by `Progress` and, before the end, `Ok`."""

    request_id: RequestId


class AskModels(_Message, frozen=True):
    """Which model each role uses and why, and what else there is. Answered by `ModelsOverview`."""

    request_id: RequestId


class ProbeModels(_Message, frozen=True):
    """One question to the model of each role, or of `role` alone, as any call is made: reserved first, settled after.
    `Progress`, then `ModelsProbed`."""

    request_id: RequestId
    role: Annotated[str, msgspec.Meta(max_length=20)] = ""


class AskUsage(_Message, frozen=True):
    """Answered by `UsageReport`."""

    request_id: RequestId
    days: Annotated[int, msgspec.Meta(ge=1, le=366)] = 30


Request = (
    Hello | Attach | Detach | Say | Cancel | AskStatus | Observe | AskThoughts | Consolidate | AskMemory | Search
    | Inspect | AskConfig | ApplyConfig | Import | Sleep | AskModels | ProbeModels
    | AskUsage
)  # fmt: skip


# --- what the daemon answers -----------------------------------------------------------------------------------------


class Welcome(_Message, frozen=True):
    """The daemon's half of the greeting. A client of another protocol version says so and leaves."""

    version: int
    reveries: str
    pid: int
    mind: str
    awake_since: float


class Ok(_Message, frozen=True):
    request_id: int


class Failed(_Message, frozen=True):
    """The request did not succeed. `code` is a ReveriesError's, `message` says what happened, `advice` what to do."""

    request_id: int
    code: str
    message: str
    advice: str


class Progress(_Message, frozen=True):
    """Long work goes on. `total` 0: not known."""

    request_id: int
    what: str
    done: int
    total: int


class SaidTurn(msgspec.Struct, frozen=True):
    """A turn as it is stored."""

    turn_id: str
    speaker: str
    is_owner: bool
    text: str
    said_at: float
    is_partial: bool


class Attached(_Message, frozen=True):
    """`turns` are the last ones of the conversation, oldest first; `earlier_count` more came before them."""

    request_id: int
    conversation_id: str
    began_at: float
    turns: list[SaidTurn]
    earlier_count: int
    notices: list[str]


class RecalledItem(msgspec.Struct, frozen=True):
    """An episode that surfaced for this turn. `was_told` says whether it fitted into the model's context."""

    episode_id: str
    summary: str
    energy: float
    happened_at: float
    quote: str
    quote_speaker: str
    was_told: bool


class Recalled(_Message, frozen=True):
    request_id: int
    items: list[RecalledItem]


class Token(_Message, frozen=True):
    """The next piece of the reply."""

    request_id: int
    text: str


class Stored(_Message, frozen=True):
    """The owner's words (`what` "words") or the whole exchange (`what` "exchange") are on the disk: sent after COMMIT
    returned, never before."""

    request_id: int
    what: str
    turn_id: str


class Replied(_Message, frozen=True):
    """The end of a `Say`. `reason`: stop, length, cancelled, tripped or failed. `explanation` is for the owner."""

    request_id: int
    turn_id: str
    text: str
    reason: str
    explanation: str
    model: str
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    first_token_seconds: float
    seconds: float


class Spoken(_Message, frozen=True):
    """request_id 0: a turn was stored in the conversation, by whichever client."""

    request_id: int
    turn: SaidTurn


class StateChanged(_Message, frozen=True):
    """request_id 0: what the mind does now, e.g. "thinking", "settled", "talking", "consolidating", "asleep"."""

    request_id: int
    state: str
    detail: str


class ThoughtBegan(_Message, frozen=True):
    request_id: int
    thought_id: str
    reason: str
    so_far: str


class ThoughtToken(_Message, frozen=True):
    """The next piece. `skipped` counts pieces that this observer was too slow for."""

    request_id: int
    text: str
    skipped: int


class ThoughtEnded(_Message, frozen=True):
    request_id: int
    thought_id: str
    reason: str
    explanation: str
    tokens: int


class ThoughtEntry(msgspec.Struct, frozen=True):
    """A line of the monologue's log, which retention never touches (RA-5)."""

    thought_id: str
    began_at: float
    ended_at: float
    why_began: str
    why_ended: str
    text: str
    tokens: int
    recalled: list[str]


class Thoughts(_Message, frozen=True):
    request_id: int
    thoughts: list[ThoughtEntry]


class Consolidated(_Message, frozen=True):
    """What a pass did. `log` has one line for each experience."""

    request_id: int
    run_id: str
    processed: int
    created: int
    merged: int
    fallbacks: int
    left: int
    seconds: float
    was_interrupted: bool
    log: list[str]


class MemoryStats(_Message, frozen=True):
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


class FoundTurn(msgspec.Struct, frozen=True):
    turn_id: str
    episode_id: str
    speaker: str
    said_at: float
    text: str
    score: float


class FoundEpisode(msgspec.Struct, frozen=True):
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


class Found(_Message, frozen=True):
    """`turns`: the source turns that answer the cue best, ranked over all episodes."""

    request_id: int
    episodes: list[FoundEpisode]
    turns: list[FoundTurn]
    edges_touched: int
    seconds: float


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


class EpisodeDetail(_Message, frozen=True):
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


class Config(_Message, frozen=True):
    request_id: int
    toml: str
    source: str


class ConfigApplied(_Message, frozen=True):
    """`needs_restart`: keys whose new value counts from the next wake on."""

    request_id: int
    changed: list[str]
    needs_restart: list[str]


class Imported(_Message, frozen=True):
    request_id: int
    stored: int
    known_already: int
    episodes: int


class ModelUse(msgspec.Struct, frozen=True):
    role: str
    model: str
    state: str


class UsageToday(msgspec.Struct, frozen=True):
    role: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    dollars: float
    token_limit: int


class Status(_Message, frozen=True):
    """R-18, R-49, R-146. `health` is "ok" only while everything that was acknowledged is being stored (H3)."""

    request_id: int
    reveries: str
    pid: int
    home: str
    awake_since: float
    health: str
    problems: list[str]
    state: str
    state_detail: str
    conversation_turns: int
    attached_clients: int
    thinking_enabled: bool
    last_thought_at: float
    last_consolidation: str
    memory: MemoryStats
    models: list[ModelUse]
    usage: list[UsageToday]
    dollars_month: float
    tripwire: dict[str, int]
    notices: list[str]
    sqlite_version: str
    loop_lag_p99_ms: float
    loop_lag_max_ms: float
    embedding_model: str = ""
    """The embedder of the settings."""
    embedding_serving: str = ""
    """The one whose vectors recall compares: another until every text has a new one."""
    embedding_done: int = 0
    """Texts that have a vector of `embedding_model`, of `embedding_total`."""
    embedding_total: int = 0
    embedding_waits: str = ""
    """Why nothing happens now with those that have none."""


class ModelPrice(msgspec.Struct, frozen=True):
    """US dollars for a million tokens. `is_known` false: not listed, so it counts at the dearest that there is."""

    input_dollars: float
    output_dollars: float
    is_known: bool


class RoleUse(msgspec.Struct, frozen=True):
    """A role's model ("provider/name") and why it is this one. `context_tokens` 0: not known, or none."""

    role: str
    model: str
    reason: str
    fallbacks: list[str]
    state: str
    leaves_machine: bool
    price: ModelPrice
    context_tokens: int


class WeightsOffer(msgspec.Struct, frozen=True):
    """Weights that can run here: of the manifest, or (no licence given) a GGUF file that the settings name."""

    name: str
    kind: str
    about: str
    licence: str
    size_bytes: int
    is_here: bool


class OllamaOffer(msgspec.Struct, frozen=True):
    """A model of the owner's Ollama. `leaves_machine`: Ollama hands it on to somebody else's computer."""

    name: str
    size_bytes: int
    leaves_machine: bool


class HostedOffer(msgspec.Struct, frozen=True):
    """A hosted provider with the models it would use: only ever by the owner's explicit choice.

    `key_found_in` names the setting or the environment variable that has a key; empty: none has. The dollars are
    computed: for an hour of talk (40 turns), and what thinking and sleep could use in a day at the most.
    """

    provider: str
    conversation_model: str
    conversation_price: ModelPrice
    background_model: str
    background_price: ModelPrice
    key_found_in: str
    hour_of_talk_dollars: float
    background_day_dollars: float


class AnswerCount(msgspec.Struct, frozen=True):
    """How often a model kept to the form it was asked for: at once, after one repair, or not."""

    model: str
    valid: int
    repaired: int
    failed: int


class ModelsOverview(_Message, frozen=True):
    """`ollama_url` with `ollama_answers` false: nobody answered there within a second. `cores` and `ram_bytes` are of
    the machine that the mind runs on."""

    request_id: int
    roles: list[RoleUse]
    weights: list[WeightsOffer]
    ollama_url: str
    ollama_answers: bool
    ollama: list[OllamaOffer]
    hosted: list[HostedOffer]
    is_hosted_installed: bool
    answers: list[AnswerCount]
    cores: int
    ram_bytes: int
    dollars_per_day: float
    dollars_per_month: float


class ModelProbe(msgspec.Struct, frozen=True):
    """What one question to a role's model came to. `answer`: valid, repaired or failed, as for `AnswerCount`; vectors
    for the embedding; empty when there was none, and then `error` and `advice` say why.

    `load_seconds`: until a model of this machine was in memory. `dollars`: what it did cost, or, without
    `is_usage_known`, what stays reserved for it.
    """

    role: str
    model: str
    answer: str
    load_seconds: float
    first_token_seconds: float
    tokens_per_second: float
    seconds: float
    prompt_tokens: int
    completion_tokens: int
    reserved_dollars: float
    dollars: float
    is_usage_known: bool
    error: str
    advice: str


class ModelsProbed(_Message, frozen=True):
    """`answers`: of all questions that were ever asked with a form, this test's among them."""

    request_id: int
    probes: list[ModelProbe]
    answers: list[AnswerCount]


class UsedModel(msgspec.Struct, frozen=True):
    """What one role used of one model. `worst_case_*`: the part whose usage nobody told, which counts in full.

    `unsettled_tokens` are worst cases of calls that run or were never settled; they count beside the others.
    """

    role: str
    model: str
    calls: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    unsettled_tokens: int
    dollars: float
    running_calls: int
    worst_case_calls: int
    worst_case_dollars: float


class UsageLimit(msgspec.Struct, frozen=True):
    """A limit: `limit` and `used` are tokens, or dollars where `is_money`. `role` is empty for the limit of all."""

    key: str
    role: str
    span: str
    is_money: bool
    limit: float
    used: float
    renews_at: float


class UsedDay(msgspec.Struct, frozen=True):
    """A local day of all language models; `day` is "2026-11-21"."""

    day: str
    calls: int
    tokens: int
    dollars: float


class UsageReport(_Message, frozen=True):
    """What models used today and this month, against the limits; `days` end with today (R-49, G1)."""

    request_id: int
    now: float
    price_version: str
    today: list[UsedModel]
    month: list[UsedModel]
    limits: list[UsageLimit]
    days: list[UsedDay]


Frame = (
    Welcome | Ok | Failed | Progress | Attached | Recalled | Token | Stored | Replied | Spoken | StateChanged
    | ThoughtBegan | ThoughtToken | ThoughtEnded | Thoughts | Consolidated | MemoryStats | Found | EpisodeDetail
    | Config | ConfigApplied | Imported | Status | ModelsOverview | ModelsProbed
    | UsageReport
)  # fmt: skip


# --- framing ---------------------------------------------------------------------------------------------------------

_encoder = msgspec.msgpack.Encoder()
_requests = msgspec.msgpack.Decoder(Request)
_frames = msgspec.msgpack.Decoder(Frame)


def encode(message: Request | Frame) -> bytes:
    """Length and map. Raises ProtocolError when it would be larger than a frame may be."""
    body = _encoder.encode(message)
    if len(body) > MAX_FRAME_BYTES:
        raise ProtocolError(f"A message of {len(body)} bytes is larger than {MAX_FRAME_BYTES}.")
    return _HEADER.pack(len(body)) + body


def decode_request(body: bytes) -> Request:
    """One request. Raises ProtocolError when it is none."""
    request: Request = _decode(_requests.decode, body)
    return request


def decode_frame(body: bytes) -> Frame:
    """One frame. Raises ProtocolError when it is none."""
    frame: Frame = _decode(_frames.decode, body)
    return frame


def _decode(decoder: Callable[[bytes], _T], body: bytes) -> _T:
    try:
        return decoder(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise ProtocolError(f"A message could not be read: {error}.") from error


class ByteReader(Protocol):
    """What `read_body` needs of asyncio.StreamReader."""

    async def readexactly(self, n: int) -> bytes: ...


async def read_body(reader: ByteReader) -> bytes:
    """The next frame's map, undecoded.

    Raises ProtocolError for a length that is 0 or too large; asyncio.IncompleteReadError at the end.
    """
    (length,) = _HEADER.unpack(await reader.readexactly(_HEADER.size))
    if not 0 < length <= MAX_FRAME_BYTES:
        raise ProtocolError(f"A message says it has {length} bytes; 1 to {MAX_FRAME_BYTES} are allowed.")
    return await reader.readexactly(length)
