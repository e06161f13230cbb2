"""What the daemon answers about itself and the conversation."""

import msgspec

from reveries.protocol.message import Message


class Welcome(Message, frozen=True):
    """The daemon's half of the greeting. A client of another protocol version says so and leaves."""

    version: int
    reveries: str
    pid: int
    mind: str
    awake_since: float


class Ok(Message, frozen=True):
    request_id: int


class Failed(Message, frozen=True):
    """The request did not succeed. `code` is a ReveriesError's, `message` says what happened, `advice` what to do."""

    request_id: int
    code: str
    message: str
    advice: str


class Progress(Message, frozen=True):
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


class Attached(Message, frozen=True):
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


class Recalled(Message, frozen=True):
    request_id: int
    items: list[RecalledItem]


class Token(Message, frozen=True):
    """The next piece of the reply."""

    request_id: int
    text: str


class Stored(Message, frozen=True):
    """The owner's words (`what` "words") or the whole exchange (`what` "exchange") are on the disk: sent after COMMIT
    returned, never before."""

    request_id: int
    what: str
    turn_id: str


class Replied(Message, frozen=True):
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


class Spoken(Message, frozen=True):
    """request_id 0: a turn was stored in the conversation, by whichever client."""

    request_id: int
    turn: SaidTurn


class StateChanged(Message, frozen=True):
    """request_id 0: what the mind does now, e.g. "thinking", "settled", "talking", "consolidating", "asleep"."""

    request_id: int
    state: str
    detail: str


class Config(Message, frozen=True):
    request_id: int
    toml: str
    source: str


class ConfigApplied(Message, frozen=True):
    """`needs_restart`: keys whose new value counts from the next wake on."""

    request_id: int
    changed: list[str]
    needs_restart: list[str]


class Remembered(Message, frozen=True):
    """Sent after COMMIT. `stored`: whether the words are new; `episodes`: how many were made of what waited for
    sleep."""

    request_id: int
    stored: bool
    episodes: int


class Imported(Message, frozen=True):
    request_id: int
    stored: int
    known_already: int
    episodes: int
    erased: int | msgspec.UnsetType = msgspec.UNSET
    """Sent where there are any: lines that the owner had erased. They are not taken in again."""
