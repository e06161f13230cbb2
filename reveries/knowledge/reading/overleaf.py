"""Tables that go on overleaf: one pointer with a box on each of its pages."""

from dataclasses import dataclass, field
from typing import Final

from reveries.knowledge.reading.blocks import Block
from reveries.knowledge.reading.content import Line, PageContent
from reveries.knowledge.reading.layout import PageKind
from reveries.knowledge.reading.tables import Table

_MOST_PIECES: Final = 4
"""A table that goes on over more pages begins anew."""
_LOW: Final = 0.72
_HIGH: Final = 0.25
"""A table that goes on ends below the first of these shares of a page, and its next piece begins above the second."""
_SAME_COLUMN_SHARE: Final = 0.02


@dataclass(slots=True)
class TablePiece:
    """A part of a table on a later page."""

    page: PageContent
    table: Table


@dataclass(slots=True)
class PageDraft:
    """A page whose last table may still go on overleaf."""

    content: PageContent
    lines: list[Line]
    blocks: list[Block]
    running: list[Line]
    label: str
    kind: PageKind
    section: str
    pieces: dict[int, list[TablePiece]] = field(default_factory=dict)
    """By the identity of a block of this page."""
    moved: Table | None = None
    """The table at its top that belongs to a pointer of a page before."""


def join_overleaf(waiting: list[PageDraft], draft: PageDraft) -> bool:
    """Whether the last table of the pages before goes on as the first block of this page; it is moved there then."""
    table = draft.blocks[0].table if draft.blocks else None
    if table is None or len(waiting) >= _MOST_PIECES:
        return False
    first, key, last_table = _open_table(waiting)
    if first is None or last_table is None or not _continues(last_table, waiting[-1].content, table, draft.content):
        return False
    first.pieces.setdefault(key, []).append(TablePiece(draft.content, table))
    draft.moved = table
    draft.blocks = draft.blocks[1:]
    return True


def _open_table(waiting: list[PageDraft]) -> tuple[PageDraft | None, int, Table | None]:
    """The table at the end of the last page, with the page on which it began."""
    last = waiting[-1]
    if last.blocks:
        block = last.blocks[-1]
        return (last, id(block), block.table) if block.table is not None else (None, 0, None)
    for draft in reversed(waiting):  # The last page holds nothing but a piece of a table.
        for key, pieces in draft.pieces.items():
            if pieces[-1].page is last.content:
                return draft, key, pieces[-1].table
    return None, 0, None


def _continues(table: Table, page: PageContent, piece: Table, following: PageContent) -> bool:
    """The same columns at the same places, up to the end of one page and from the top of the next."""
    if table.place.bottom < _LOW * page.height or piece.place.top > _HIGH * following.height:
        return False
    if len(table.columns) != len(piece.columns) or abs(page.width - following.width) > 1:
        return False
    pairs = zip(table.columns, piece.columns, strict=True)
    return sum(abs(left - right) < _SAME_COLUMN_SHARE * page.width for left, right in pairs) >= 0.7 * len(table.columns)
