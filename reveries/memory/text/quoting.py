"""Quotes for a prompt: the piece of a text that a question asks for, and whole sentences. Pure."""

import itertools
from collections.abc import Sequence
from typing import Final

from reveries.index.terms import word_keys
from reveries.memory.text.extracts import sentences_of
from reveries.safe_text import format_record

_LEFT_OUT: Final = "…"
_PIECE_CHARS: Final = 160
"""A sentence longer than this, such as a list or a table, is taken apart between words."""
_NUMBER_WEIGHT: Final = 0.5
"""Of a piece with a number, beside one for each word of the question: what is asked for is often a number or a date."""


def quote_around(text: str, cue: str, limit_chars: int) -> str:
    """Return `text` on one line as a record; if that is longer than `limit_chars`, the piece that shares most with
    `cue`, with an ellipsis where something is left out."""
    if len(line := format_record(text, len(text))) <= limit_chars:
        return line
    pieces = _split(text)
    asked = word_keys(cue)
    weights = [_weight_of(piece, asked) for piece in pieces]
    first, last = _best_window([len(piece) + 1 for piece in pieces], weights, limit_chars - 2 * len(f"{_LEFT_OUT} "))
    before, after = _LEFT_OUT if first else "", _LEFT_OUT if last < len(pieces) else ""
    quoted = " ".join(filter(None, (before, *pieces[first:last], after)))
    return format_record(quoted, len(quoted))


def whole_sentences(text: str, limit_chars: int) -> str:
    """Return the first whole sentences of `text` that fit, on one line; of a first sentence that is too long, its first
    words. An ellipsis stands for what is left out: a reply that seems to end there would be wrong."""
    line = format_record(text, len(text))
    if len(line) <= limit_chars:
        return line
    room = limit_chars - len(f" {_LEFT_OUT}")
    lengths = itertools.accumulate(len(sentence) + 1 for sentence in sentences_of(line))
    end = max((length for length in lengths if length - 1 <= room), default=0)
    kept = line[:end].strip() if end else line[:room].rpartition(" ")[0] or line[:room]
    return f"{kept} {_LEFT_OUT}"


def _split(text: str) -> list[str]:
    """Split `text` into sentences, and long ones into pieces of whole words."""
    pieces: list[str] = []
    for sentence in sentences_of(text):
        line, start = " ".join(sentence.split()), 0
        while len(line) - start > _PIECE_CHARS:
            head = line[start : start + _PIECE_CHARS]
            head = head.rpartition(" ")[0] or head
            pieces.append(head.strip())
            start += len(head) + line.startswith(" ", start + len(head))
        pieces.append(line[start:])
    return [piece for piece in pieces if piece]


def _weight_of(piece: str, asked: frozenset[str]) -> float:
    has_number = any(char.isdigit() for char in piece)
    return len(asked & word_keys(piece)) + _NUMBER_WEIGHT * has_number


def _best_window(lengths: Sequence[int], weights: Sequence[float], limit_chars: int) -> tuple[int, int]:
    """Return the bounds of the run of pieces with the greatest weight that fits; the first of equal ones."""
    best, chosen = -1.0, (0, 1)
    length, weight, last = 0, 0.0, 0
    for first in range(len(lengths)):
        while last < len(lengths) and (last <= first or length + lengths[last] <= limit_chars):
            length, weight, last = length + lengths[last], weight + weights[last], last + 1
        if weight > best:
            best, chosen = weight, (first, last)
        length, weight = length - lengths[first], weight - weights[first]
    return chosen
