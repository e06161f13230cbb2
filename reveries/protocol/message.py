"""Base classes of the messages, and the messages that belong to no particular subject."""

from typing import Annotated

import msgspec

PROTOCOL_VERSION = 1
MAX_FRAME_BYTES = 4 * 1024 * 1024
MAX_TEXT_CHARS = 1_000_000
SAFE_MODE = "safe mode"
"""The value of `Status.state` in safe mode: awake for inspection only."""

RequestId = Annotated[int, msgspec.Meta(ge=1, le=2**53)]
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_TEXT_CHARS)]
When = Annotated[str, msgspec.Meta(max_length=100)]
RunId = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="t", tag=str.lower):
    """Base of all messages: a map with the message's name under `t`."""


class Request(Message, frozen=True):
    """Base of what a client sends; each kind is registered with `@request`."""

    request_id: RequestId


class Frame(Message, frozen=True):
    """Base of what the daemon sends."""


class Answer(Frame, frozen=True):
    """A frame that answers a request; `request_id` 0: a notification to all attached clients."""

    request_id: int


class Hello(Message, frozen=True):
    """The first frame of a connection."""

    version: int
    client: Annotated[str, msgspec.Meta(max_length=100)]


class Welcome(Frame, frozen=True):
    """The daemon's answer to `Hello`. A client with another protocol version reports that and disconnects."""

    version: int
    reveries: str
    pid: int
    mind: str
    awake_since: float


class Ok(Answer, frozen=True):
    """The request succeeded and has no further result."""


class Failed(Answer, frozen=True):
    """The request failed. `code` is that of a ReveriesError, `message` says what happened, `advice` what to do."""

    code: str
    message: str
    advice: str


class Progress(Answer, frozen=True):
    """Progress of a long request. `total` 0: not known."""

    what: str
    done: int
    total: int
