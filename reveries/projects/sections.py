"""How a document is cut into sections. Pure."""

import hashlib
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt

from reveries.knowledge.model import ChunkSource, ChunkType, Confidence, NewChunk

_FRONT_MATTER = re.compile(r"---\n.*?\n---(?:\n|\Z)", re.DOTALL)
_MOST_CHARS = 1200
"""Of one chunk: a few paragraphs."""


def split_text(name: str, text: str, *, is_own: bool) -> list[NewChunk]:
    """Split a text at headings and blank lines; each piece carries the document's name and its heading. Pure.

    Text that the owner did not write is foreign: everything derived from it names this document."""
    sources = frozenset[str]() if is_own else frozenset({source_name(name)})
    return [
        NewChunk(
            content=section.text,
            type=ChunkType.RESOURCE,
            confidence=Confidence.VERIFIED,
            source=ChunkSource.USER if is_own else ChunkSource.RESEARCH,
            title=f"{name} › {section.heading}" if section.heading else name,
            foreign_sources=sources,
            first_line=section.first_line,
            lead=section.lead,
        )
        for section in _sections(text)
    ]


def source_name(name: str) -> str:
    """Return a document's foreign source id: a hash, because the name may contain words that are to be forgotten."""
    return "document:" + hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


@dataclass(frozen=True, slots=True)
class _Section:
    """A piece of a text, at most a few paragraphs long, and where it stands."""

    heading: str
    text: str
    first_line: int
    lead: str


def _sections(text: str) -> list[_Section]:
    """Split a text at headings and, where it gets long, at blank lines."""
    lines = text.splitlines()
    headings = _find_headings(lines)
    sections: list[_Section] = []
    heading, start, length, end = "", 0, 0, 0

    def close(stop: int) -> None:
        """Make a section of the lines from `start` to `stop`."""
        nonlocal start, length, end
        while start < stop and not lines[start].strip():
            start += 1
        if start < stop:
            lead = "\n".join(lines[end:start]).lstrip("\n")
            piece = "\n".join(lines[start:stop]).strip()
            for offset in range(0, len(piece), _MOST_CHARS):
                part = piece[offset : offset + _MOST_CHARS]
                sections.append(_Section(heading, part, start + 1, "" if offset else lead))
            end = start + piece.count("\n") + 1
        start, length = stop, 0

    for place, line in enumerate(lines):
        if (title := headings.get(place)) is not None:
            close(place)
            heading, start = title or heading, place + 1
        elif not line.strip() and length > _MOST_CHARS // 2:
            close(place)
        else:
            if length + len(line) > _MOST_CHARS:
                close(place)
            length += len(line) + 1
    close(len(lines))
    return sections


def _find_headings(lines: Sequence[str]) -> dict[int, str]:
    """Return the headings of a Markdown text by line number; "" for a line that underlines one. A `#` in
    code or in the properties at the beginning of a note is none."""
    text = "\n".join(lines)
    properties = front.end() if (front := _FRONT_MATTER.match(text)) else 0
    parser = MarkdownIt("commonmark")
    parser.core.ruler.enableOnly(["normalize", "block"])
    tokens = parser.parse("\n" * text.count("\n", 0, properties) + text[properties:])
    headings: dict[int, str] = {}
    for opening, inline in itertools.pairwise(tokens):
        # A line of dashes under a paragraph is mostly meant as a rule.
        if opening.type == "heading_open" and opening.level == 0 and opening.markup != "-" and opening.map:
            first, end = opening.map
            headings |= dict.fromkeys(range(first, end), "") | {first: " ".join(inline.content.split())}
    return headings
