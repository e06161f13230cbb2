"""PNG without an image library: rows of RGB or grey bytes, deflated (ISO/IEC 15948)."""

import struct
import zlib
from typing import Final

_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_COLOUR_TYPES: Final = {1: 0, 3: 2, 4: 6}


def encode_png(pixels: bytes, width: int, height: int, channels: int) -> bytes:
    """`pixels` are rows without padding; `channels` is 1 (grey), 3 (RGB) or 4 (RGBA)."""
    row = width * channels
    lines = b"".join(b"\0" + pixels[at : at + row] for at in range(0, row * height, row))
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOUR_TYPES[channels], 0, 0, 0)
    return _SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(lines, 3)) + _chunk(b"IEND", b"")


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
