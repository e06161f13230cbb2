"""A message as bytes, and back: 4 bytes of length, big-endian, and one MessagePack map."""

import struct
from collections.abc import Callable
from typing import Protocol, TypeVar

import msgspec

from reveries.errors import ProtocolError
from reveries.protocol.backup_frames import BackupRestored, Backups, MindMoved
from reveries.protocol.checkup_frames import Checkup
from reveries.protocol.forget_frames import Forgotten
from reveries.protocol.frames import (
    Attached,
    Config,
    ConfigApplied,
    Failed,
    Imported,
    Ok,
    Progress,
    Recalled,
    Remembered,
    Replied,
    Spoken,
    StateChanged,
    Stored,
    Token,
    Welcome,
)
from reveries.protocol.hand_frames import EpisodeCorrected, EpisodeHeld
from reveries.protocol.looking_frames import (
    Neighbourhood,
    SelfHistory,
    SelfModelShown,
    Timeline,
    ToldContext,
    Why,
)
from reveries.protocol.memory_frames import EpisodeDetail, Found, MemoryStats
from reveries.protocol.message import MAX_FRAME_BYTES
from reveries.protocol.model_frames import ModelsOverview, ModelsProbed, UsageReport
from reveries.protocol.requests import Request
from reveries.protocol.safety_frames import Help, Wellbeing
from reveries.protocol.sleep_frames import (
    Contradictions,
    SleepAnswered,
    SleepLog,
    SleepPreview,
    SleepRunDetail,
    SleepUndone,
)
from reveries.protocol.status_frames import Status, Trouble
from reveries.protocol.talk_frames import Conversations, PastWords, Switched, TakenBack, Turns
from reveries.protocol.thought_frames import (
    Consolidated,
    Notes,
    ThinkingControlled,
    ThinkingReleased,
    ThoughtBegan,
    ThoughtEnded,
    ThoughtMarked,
    Thoughts,
    ThoughtToken,
)

_T = TypeVar("_T")
_HEADER = struct.Struct(">I")

Frame = (
    Welcome | Ok | Failed | Progress | Attached | Recalled | Token | Stored | Replied | Spoken | StateChanged
    | ThoughtBegan | ThoughtToken | ThoughtEnded | Thoughts | Consolidated | MemoryStats | Found | EpisodeDetail
    | Config | ConfigApplied | Imported | Status | Trouble | ModelsOverview | ModelsProbed
    | EpisodeHeld | EpisodeCorrected
    | UsageReport | ThinkingControlled | ThinkingReleased | ThoughtMarked | Notes
    | SleepLog | SleepRunDetail | SleepPreview | SleepUndone | SleepAnswered | Contradictions
    | Help | Wellbeing | Checkup | Backups | BackupRestored | MindMoved | Remembered
    | Conversations | Turns | PastWords | TakenBack | Switched | Forgotten
    | Why | Timeline | Neighbourhood | ToldContext | SelfModelShown | SelfHistory
)  # fmt: skip

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


async def read_body(reader: ByteReader, most_bytes: int = MAX_FRAME_BYTES) -> bytes:
    """The next frame's map, undecoded.

    Raises ProtocolError for a length that is 0 or over `most_bytes`; asyncio.IncompleteReadError at the end.
    """
    (length,) = _HEADER.unpack(await reader.readexactly(_HEADER.size))
    if not 0 < length <= most_bytes:
        raise ProtocolError(f"A message says it has {length} bytes; 1 to {most_bytes} are allowed.")
    return await reader.readexactly(length)
