"""What crosses the pipe between the daemon and the reading child: frames of msgpack behind their length."""

import struct
from typing import Final

import msgspec

from reveries.errors import DocumentFault
from reveries.knowledge.reading.layout import Box, CutPage, DocumentSummary

LENGTH: Final = struct.Struct(">I")
MOST_FRAME_BYTES: Final = 64_000_000


class InspectRequest(msgspec.Struct, frozen=True, tag="inspect"):
    """Answered by a summary."""


class ReadRequest(msgspec.Struct, frozen=True, tag="read"):
    """Answered by the pages from `first_page` on, and by an end."""

    first_page: int
    unreadable: tuple[int, ...] = ()
    """Pages that ended the child before: they are passed over."""


class RecogniseRequest(msgspec.Struct, frozen=True, tag="recognise"):
    """Answered by a page."""

    page: int


class ImageRequest(msgspec.Struct, frozen=True, tag="image"):
    """Answered by a picture."""

    page: int
    dpi: int


class LocateRequest(msgspec.Struct, frozen=True, tag="locate"):
    """Answered by places."""

    page: int
    quote: str


Request = InspectRequest | ReadRequest | RecogniseRequest | ImageRequest | LocateRequest


class PageFrame(msgspec.Struct, frozen=True, tag="page"):
    page: CutPage


class SummaryFrame(msgspec.Struct, frozen=True, tag="summary"):
    summary: DocumentSummary


class ImageFrame(msgspec.Struct, frozen=True, tag="image"):
    png: bytes


class PlacesFrame(msgspec.Struct, frozen=True, tag="places"):
    boxes: tuple[Box, ...]


class RefusalFrame(msgspec.Struct, frozen=True, tag="refusal"):
    fault: DocumentFault
    what: str
    advice: str


class EndFrame(msgspec.Struct, frozen=True, tag="end"):
    """All pages were sent."""


Frame = PageFrame | SummaryFrame | ImageFrame | PlacesFrame | RefusalFrame | EndFrame

encode = msgspec.msgpack.Encoder().encode
decode_request = msgspec.msgpack.Decoder(Request).decode
decode_frame = msgspec.msgpack.Decoder(Frame).decode


def pack(message: Request | Frame) -> bytes:
    """A message behind its length."""
    content = encode(message)
    return LENGTH.pack(len(content)) + content
