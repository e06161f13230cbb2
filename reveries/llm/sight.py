"""Whether a model sees pictures: what its name says, until `reveries models test` has shown it three numbers. Pure."""

import re
import struct
import zlib
from typing import Final

from reveries.llm.base import ChatMessage, ImagePart, Prompt, Role
from reveries.llm.provider_rules import rules_table

SIGHT_NUMBERS: Final = ("4071", "2936", "8525")
"""What the pictures of the test show. Nobody who does not see them guesses one."""
_DIGITS: Final = {
    "0": "01110 10001 10011 10101 11001 10001 01110",
    "1": "00100 01100 00100 00100 00100 00100 01110",
    "2": "01110 10001 00001 00110 01000 10000 11111",
    "3": "11111 00010 00100 00010 00001 10001 01110",
    "4": "00010 00110 01010 10010 11111 00010 00010",
    "5": "11111 10000 11110 00001 00001 10001 01110",
    "6": "00110 01000 10000 11110 10001 10001 01110",
    "7": "11111 00001 00010 00100 01000 01000 01000",
    "8": "01110 10001 10001 01110 10001 10001 01110",
    "9": "01110 10001 10001 01111 00001 00010 01100",
}
"""Rows of a digit, five dots wide."""
_DOT_PIXELS: Final = 10
_ANSWER_TOKENS: Final = 16


def assumed_to_see(name: str) -> bool:
    """Return whether a model that was not tested is taken to see, by its `name` ("provider/model"). An embedded model
    does not: the server is started without the file that it would need."""
    provider, _, model = name.partition("/")
    return provider != "embedded" and re.search(rules_table().seeing_models, model.lower()) is not None


def sight_prompt(role: Role, number: str, least_tokens: int = 0) -> Prompt:
    """Return the call that shows a number and asks for it."""
    ask = "The picture shows one number. Answer with that number and nothing else."
    return Prompt(role, (ChatMessage("user", ask, (draw_number(number),)),), max(_ANSWER_TOKENS, least_tokens), 0.0)


def is_number_read(number: str, answer: str) -> bool:
    """Whether the answer names the number, and no other."""
    return re.findall(r"\d+", re.sub(r"(?<=\d)[\s,.](?=\d)", "", answer)) == [number]


def draw_number(number: str) -> ImagePart:
    """Return a PNG with the number, black on white."""
    rows = [" ".join(_DIGITS[digit].split()[row] for digit in number) for row in range(7)]
    dots = ["", *(f" {row} " for row in rows), ""]
    width = len(dots[1]) * _DOT_PIXELS
    lines = [b"".join((b"\x00" if dot == "1" else b"\xff") * _DOT_PIXELS for dot in row) for row in dots[1:-1]]
    blank = b"\xff" * width
    pixels = [line for row in (blank, *lines, blank) for line in [row] * _DOT_PIXELS]
    data = zlib.compress(b"".join(b"\x00" + line for line in pixels))
    header = struct.pack(">IIBBBBB", width, len(pixels), 8, 0, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")
    return ImagePart("image/png", png, width, len(pixels))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
