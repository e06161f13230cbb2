"""Draws the places on a page onto its picture: outlines of boxes in a PNG as the reading child writes it. Pure.

That writer filters no row (ISO/IEC 15948, filter type 0), so no image library is needed.
"""

import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import Final

from reveries.protocol import PlaceBox

_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_CHANNELS: Final = {0: 1, 2: 3, 6: 4}
_COLOUR: Final = (0xD0, 0x20, 0x20, 0xFF)
_GREY: Final = 0x30
_LINE_PIXELS: Final = 2


def outline_boxes(png: bytes, boxes: Iterable[PlaceBox]) -> bytes:
    """Return the picture with an outline of each box. Raises ValueError for a PNG of another kind."""
    width, height, colour_type, lines = _read_png(png)
    channels = _CHANNELS[colour_type]
    ink = bytes([_GREY]) if channels == 1 else bytes(_COLOUR[:channels])
    row_bytes = 1 + width * channels
    for box in boxes:
        left, right = _pixel(box.x, width), _pixel(box.x + box.width, width)
        top, bottom = _pixel(box.y, height), _pixel(box.y + box.height, height)
        for row in range(top, bottom + 1):
            is_edge = row - top < _LINE_PIXELS or bottom - row < _LINE_PIXELS
            for start, end in ((left, right),) if is_edge else _sides(left, right):
                begin = row * row_bytes + 1 + start * channels
                lines[begin : begin + (end - start + 1) * channels] = ink * (end - start + 1)
    header = struct.pack(">IIBBBBB", width, height, 8, colour_type, 0, 0, 0)
    content = zlib.compress(bytes(lines), 3)
    return _SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", content) + _chunk(b"IEND", b"")


def _sides(left: int, right: int) -> tuple[tuple[int, int], tuple[int, int]]:
    thick = min(_LINE_PIXELS - 1, right - left)
    return (left, left + thick), (right - thick, right)


def _pixel(part: float, size: int) -> int:
    return min(size - 1, max(0, round(part * size)))


def _read_png(png: bytes) -> tuple[int, int, int, bytearray]:
    """Return width, height, colour type, and the rows, each after its filter byte."""
    if not png.startswith(_SIGNATURE):
        raise ValueError("This is no PNG.")
    width = height = colour_type = 0
    content = b""
    for name, part in _read_chunks(png):
        if name == b"IHDR":
            width, height, depth, colour_type, *_ = struct.unpack(">IIBBBBB", part)
            if depth != 8 or colour_type not in _CHANNELS:
                raise ValueError("Only pictures with eight bits a channel are drawn on.")
        elif name == b"IDAT":
            content += part
    lines = bytearray(zlib.decompress(content))
    row_bytes = 1 + width * _CHANNELS.get(colour_type, 0)
    if len(lines) != row_bytes * height or any(lines[::row_bytes]):
        raise ValueError("Only pictures with unfiltered rows are drawn on.")
    return width, height, colour_type, lines


def _read_chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(_SIGNATURE)
    while at + 8 <= len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += 12 + length


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
