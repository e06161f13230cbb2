"""Encoding and decoding of frames: 4 bytes of length, big-endian, and one MessagePack map."""

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
    """Return the frame of `message`. Raises ProtocolError if it would be larger than MAX_FRAME_BYTES."""
    body = _encoder.encode(message)
    if len(body) > MAX_FRAME_BYTES:
        raise ProtocolError(f"A message of {len(body)} bytes is larger than {MAX_FRAME_BYTES}.")
    return _HEADER.pack(len(body)) + body


def decode_request(body: bytes) -> Hello | Request:
    """Decode a request. Raises ProtocolError if it is not a valid one."""
    request: Hello | Request = _decode(_request_decoder(), body)
    return request


def decode_frame(body: bytes) -> Frame:
    """Decode a frame from the daemon. Raises ProtocolError if it is not a valid one."""
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
    """The part of asyncio.StreamReader that `read_body` uses."""

    async def readexactly(self, n: int) -> bytes: ...


async def read_body(reader: ByteReader, most_bytes: int = MAX_FRAME_BYTES) -> bytes:
    """Read the next frame's map, undecoded.

    Raises ProtocolError if the length is 0 or over `most_bytes`; asyncio.IncompleteReadError at the end of the stream.
    """
    (length,) = _HEADER.unpack(await reader.readexactly(_HEADER.size))
    if not 0 < length <= most_bytes:
        raise ProtocolError(f"A message says it has {length} bytes; 1 to {most_bytes} are allowed.")
    return await reader.readexactly(length)
