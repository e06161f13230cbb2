"""A message as bytes, and back: 4 bytes of length, big-endian, and one MessagePack map."""

import functools
import struct
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from reveries.errors import ProtocolError
from reveries.protocol.message import MAX_FRAME_BYTES, Frame, Hello, Message, Request
from reveries.protocol.registry import frames_type, requests_type

_HEADER = struct.Struct(">I")
_encoder = msgspec.msgpack.Encoder()


def encode(message: Message) -> bytes:
    """Length and map. Raises ProtocolError when it would be larger than a frame may be."""
    body = _encoder.encode(message)
    if len(body) > MAX_FRAME_BYTES:
        raise ProtocolError(f"A message of {len(body)} bytes is larger than {MAX_FRAME_BYTES}.")
    return _HEADER.pack(len(body)) + body


def decode_request(body: bytes) -> Hello | Request:
    """One request. Raises ProtocolError when it is none."""
    request: Hello | Request = _decode(_request_decoder(), body)
    return request


def decode_frame(body: bytes) -> Frame:
    """One frame. Raises ProtocolError when it is none."""
    frame: Frame = _decode(_frame_decoder(), body)
    return frame


@functools.cache
def _request_decoder() -> Callable[[bytes], Any]:
    return msgspec.msgpack.Decoder(requests_type()).decode


@functools.cache
def _frame_decoder() -> Callable[[bytes], Any]:
    return msgspec.msgpack.Decoder(frames_type()).decode


def _decode(decode: Callable[[bytes], Any], body: bytes) -> Any:
    try:
        return decode(body)
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
