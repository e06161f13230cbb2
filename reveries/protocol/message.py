"""What every message is made of, and the few that belong to no subject."""

from typing import Annotated

import msgspec

PROTOCOL_VERSION = 1
MAX_FRAME_BYTES = 4 * 1024 * 1024
MAX_TEXT_CHARS = 1_000_000
SAFE_MODE = "safe mode"
"""The state (`Status.state`) of a mind that shows what it knows and does nothing else."""

RequestId = Annotated[int, msgspec.Meta(ge=1, le=2**53)]
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_TEXT_CHARS)]
When = Annotated[str, msgspec.Meta(max_length=100)]
RunId = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="t", tag=str.lower):
    """A map with its name under `t`."""


class Request(Message, frozen=True):
    """What a client asks; each kind is registered with `@request`."""

    request_id: RequestId


class Frame(Message, frozen=True):
    """What the daemon sends."""


class Answer(Frame, frozen=True):
    """A frame that belongs to a request; `request_id` 0: to none, all attached clients are told it."""

    request_id: int


class Hello(Message, frozen=True):
    """The first frame of a connection."""

    version: int
    client: Annotated[str, msgspec.Meta(max_length=100)]


class Welcome(Frame, frozen=True):
    """The daemon's half of the greeting. A client of another protocol version says so and leaves."""

    version: int
    reveries: str
    pid: int
    mind: str
    awake_since: float


class Ok(Answer, frozen=True):
    """It is done, and there is nothing to tell of it."""


class Failed(Answer, frozen=True):
    """The request did not succeed. `code` is a ReveriesError's, `message` says what happened, `advice` what to do."""

    code: str
    message: str
    advice: str


class Progress(Answer, frozen=True):
    """Long work goes on. `total` 0: not known."""

    what: str
    done: int
    total: int
