"""Blocks: what a page is divided into before its blocks become pointers."""

import re
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Final

from reveries.knowledge.reading.content import Line, Rectangle, bounds_of
from reveries.knowledge.reading.layout import PointerKind
from reveries.knowledge.reading.tables import Table

_SAME_SIZE: Final = 1.2
_WIDEST_GAP: Final = 1.1
"""Between two lines of a paragraph, in heights of its type, where the page has no usual gap."""
_WIDER_GAP: Final = 0.35
_HEADING_CHARACTERS: Final = 140
_LARGER: Final = 1.1
_LOOSE: Final = 1.35
_LIST_ITEM: Final = re.compile(r"(?:[•●▪■◦‣∙·*–—-]|\(?(?:\d{1,2}|[a-zA-Z]|[ivx]{1,4})[.)])\s+\S")
_CAPTION: Final = re.compile(
    r"(?:table|figure|fig|chart|exhibit|graph|plate|image|tabelle|abbildung|abb|tableau|tabla)\.?\s*[\dA-Z]",
    re.IGNORECASE,
)


@dataclass(slots=True, eq=False)
class Block:
    """A piece of a page with one place."""

    kind: PointerKind
    place: Rectangle
    lines: list[Line] = field(default_factory=list)
    table: Table | None = None
    is_heading: bool = False
    title: str = ""
    head: list[Line] = field(default_factory=list)
    """Lines above a table that belong to it: its name, its units."""
    pieces: list[Rectangle] = field(default_factory=list)
    """The places of the blocks that were joined to this one; empty for one block."""

    @property
    def text(self) -> str:
        body = self.table.text if self.table else join_lines(self.lines)
        return "\n".join(part for part in (join_lines(self.head), body) if part)

    @property
    def places(self) -> list[Rectangle]:
        """One rectangle, or one for each piece where a common one would cover much that is not of the block."""
        covered = sum(piece.area for piece in self.pieces)
        return self.pieces if self.place.area > _LOOSE * covered > 0 else [self.place]

    def join(self, other: "Block") -> None:
        """Take in the lines of another block below it."""
        self.pieces = [*(self.pieces or [self.place]), *(other.pieces or [other.place])]
        self.lines = [*self.lines, *other.lines]
        self.place = bounds_of([self.place, other.place])

    @property
    def size(self) -> float:
        return median(line.size for line in self.lines) if self.lines else 0.0


def join_lines(lines: list[Line]) -> str:
    """Lines of a paragraph as they stand, one below the other."""
    return "\n".join(line.text for line in lines)


def flatten(text: str) -> str:
    """A title on one line."""
    return " ".join(text.split())


def form_blocks(lines: list[Line]) -> list[Block]:
    """Lines of one column, joined where they stand close below each other in the same type."""
    blocks: list[list[Line]] = []
    usual_gap = _find_usual_gap(lines)
    for line in sorted(lines, key=lambda line: (line.top + line.bottom, line.left)):
        for block in reversed(blocks[-6:]):
            if _goes_on(block, line, usual_gap):
                block.append(line)
                break
        else:
            blocks.append([line])
    return [_make_block(block) for block in blocks]


def is_caption(text: str) -> bool:
    return _CAPTION.match(text) is not None


def mark_headings(blocks: list[Block], body_size: float) -> None:
    """Short blocks in larger or bold type are headings of what follows."""
    bold_share = sum(block.lines[0].is_bold for block in blocks if block.lines) / max(1, len(blocks))
    for block in blocks:
        text = flatten(block.text)
        if block.table or not block.lines or len(block.lines) > 3 or not 2 < len(text) <= _HEADING_CHARACTERS:
            continue
        if text.startswith("(") or (text.endswith((".", ",", ";")) and not re.match(r"\d", text)):
            continue
        letters = sum(char.isalpha() for char in text)
        larger = block.size > _LARGER * body_size
        bold = block.lines[0].is_bold and bold_share < 0.7
        block.is_heading = (larger or bold) and letters >= 3 and letters > 0.4 * len(text)


def _find_usual_gap(lines: list[Line]) -> float | None:
    """The usual gap between two lines of this column, as a share of the type; None with too few to tell."""
    ordered = sorted(lines, key=lambda line: line.top)
    gaps = [
        (below.top - above.bottom) / above.size
        for above, below in pairwise(ordered)
        if below.top > above.top + 0.5 * above.size and below.top - above.bottom < 1.5 * above.size
    ]
    return median(gaps) if len(gaps) >= 5 else None


def _goes_on(block: list[Line], line: Line, usual_gap: float | None) -> bool:
    last = block[-1]
    if last.angle != line.angle or max(last.size, line.size) > _SAME_SIZE * min(last.size, line.size):
        return False
    if abs(line.top - last.top) < 0.5 * last.size:  # The same row, divided at a wide space.
        return 0 <= line.left - last.right < 2.5 * last.size
    gap = (line.top - last.bottom) / last.size
    limit = _WIDEST_GAP if usual_gap is None else usual_gap + _WIDER_GAP
    if not -1.0 < gap < limit:
        return False
    if line.is_bold != last.is_bold and len(block) <= 2 and len({part.is_bold for part in block}) == 1:
        return False
    around = bounds_of(block[-3:])
    shared = min(line.right, around.right) - max(line.left, around.left)
    return shared > 0.3 * min(line.width, around.width)


def _make_block(lines: list[Line]) -> Block:
    items = sum(_LIST_ITEM.match(line.text) is not None for line in lines)
    kind = (
        PointerKind.LIST
        if items >= 2 or (items and len(lines) > 1 and 3 * items >= len(lines))
        else PointerKind.PARAGRAPH
    )
    return Block(kind, bounds_of(lines), lines)
