"""The cut: from the contents of pages to pages with pointers. No model takes part; the same file gives the same."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

from reveries.knowledge.reading.blocks import Block, flatten, join_lines
from reveries.knowledge.reading.content import Line, PageContent, Rectangle, is_within
from reveries.knowledge.reading.layout import Box, CutPage, CutPointer, PlacedBox, PointerKind, TextSource
from reveries.knowledge.reading.lines import form_lines
from reveries.knowledge.reading.overleaf import PageDraft, join_overleaf
from reveries.knowledge.reading.page_kind import TITLE_CHARACTERS, Headings, kind_of_page
from reveries.knowledge.reading.pictures import picture_share
from reveries.knowledge.reading.references import find_references
from reveries.knowledge.reading.rules import Grid, find_grids, find_rules
from reveries.knowledge.reading.running_lines import find_printed_number, find_running_lines
from reveries.knowledge.reading.sheets import discipline_of, is_sheet, read_sheet
from reveries.knowledge.reading.tables import Table, read_grid
from reveries.knowledge.reading.text_page import cut_text_page

_NEIGHBOURS: Final = 2
_OUTLINE_LINES: Final = 40
_FEWEST_CUT: Final = 2
_NARROW_PAGE: Final = 900.0
_BESIDE_SHARE: Final = 0.2
_BESIDE_POINTS: Final = 40.0
"""On a page of a book a table is all that its rows hold; on a large sheet there is more to its sides."""
_FEW_CHARACTERS: Final = 200
_PICTURE_PAGE_SHARE: Final = 0.4
_UNREADABLE_SHARE: Final = 0.2


@dataclass(slots=True)
class _Prepared:
    content: PageContent
    lines: list[Line]
    tables: list[Table]
    frames: list[Rectangle]


def cut_pages(contents: Iterable[PageContent]) -> Iterator[CutPage]:
    """Cut pages in their order. A page is known when the next two are read, or when a table has ended that goes on."""
    headings = Headings()
    waiting: list[PageDraft] = []
    for draft in _draft_pages(contents, headings):
        if waiting and not join_overleaf(waiting, draft):
            yield from map(_finish, waiting)
            waiting = []
        waiting.append(draft)
    yield from map(_finish, waiting)


def _draft_pages(contents: Iterable[PageContent], headings: Headings) -> Iterator[PageDraft]:
    window: deque[_Prepared | None] = deque([None] * (2 * _NEIGHBOURS + 1), maxlen=2 * _NEIGHBOURS + 1)
    ahead: Iterator[_Prepared | None] = chain(map(_prepare, contents), [None] * _NEIGHBOURS)
    for prepared in ahead:
        window.append(prepared)
        current = window[_NEIGHBOURS]
        if current is not None:
            neighbours = [other for other in window if other is not None and other is not current]
            yield _draft(current, neighbours, headings)


def _prepare(content: PageContent) -> _Prepared:
    rules = find_rules(content)
    lines = form_lines(content, rules)
    page = _Prepared(content, lines, [], [])
    for grid in sorted(find_grids(content, rules), key=lambda grid: -grid.place.area):
        if any(is_within(grid.place, table.place) for table in page.tables) or _cuts_words(grid, content):
            continue
        inside = [line for line in lines if line.angle == 0 and is_within(line, grid.place)]
        table = read_grid(grid, inside) if grid.is_table else None
        if table is not None:
            page.tables.append(table)
        elif inside:
            page.frames.append(grid.place)
    return page


def _cuts_words(grid: Grid, page: PageContent) -> bool:
    """Whether words stand across its sides, or rows go on beside them: shading and ornament, not a table's border."""
    place, sides = grid.place, (grid.place.left, grid.place.right)
    upright = (word for word in page.words if word.angle == 0)
    rows = [word for word in upright if place.top <= (word.top + word.bottom) / 2 <= place.bottom]
    cut = sum(word.left < side - 1 and word.right > side + 1 for word in rows for side in sides)
    reach = _BESIDE_SHARE * page.width if page.width < _NARROW_PAGE else _BESIDE_POINTS
    beside = sum(0 <= place.left - word.right < reach or 0 <= word.left - place.right < reach for word in rows)
    return cut >= _FEWEST_CUT or (beside > _FEWEST_CUT and 2 * beside > len(grid.rows))


def _draft(page: _Prepared, neighbours: list[_Prepared], headings: Headings) -> PageDraft:
    content = page.content
    if is_sheet(content, page.lines):
        return _draft_sheet(page)
    running = find_running_lines(content, page.lines, [(other.content, other.lines) for other in neighbours])
    taken = set(map(id, running))
    blocks = cut_text_page(content, [line for line in page.lines if id(line) not in taken], page.tables)
    label = content.label or find_printed_number(running, content.number)
    section = headings.section_of(content, blocks)
    return PageDraft(content, page.lines, blocks, running, label, kind_of_page(content, blocks), section)


def _draft_sheet(page: _Prepared) -> PageDraft:
    tables = [Block(PointerKind.TABLE, table.place, table.lines, table) for table in page.tables]
    taken = {id(line) for table in page.tables for line in table.lines}
    free = [line for line in page.lines if id(line) not in taken]
    sheet = read_sheet(page.content, free, tables, page.frames)
    for block in tables:
        block.title = block.title or _first_row_title(block)
    label = sheet.label or page.content.label
    return PageDraft(page.content, page.lines, sheet.blocks, [], label, sheet.kind, discipline_of(label))


def _first_row_title(block: Block) -> str:
    first = next((cell for row in (block.table.rows if block.table else []) for cell in row if cell), "")
    return flatten(first)[:TITLE_CHARACTERS]


# --- what is handed on -----------------------------------------------------------------------------------------------


def _finish(draft: PageDraft) -> CutPage:
    page = draft.content
    shown = (
        block for block in draft.blocks if block.lines or block.head or block.table or block.kind is PointerKind.PICTURE
    )
    pointers = tuple(_make_pointer(block, draft) for block in shown)
    text = _page_text(draft)
    return CutPage(
        number=page.number,
        label=draft.label,
        section=draft.section,
        kind=draft.kind,
        width=round(page.width, 2),
        height=round(page.height, 2),
        rotation=page.rotation,
        text=text,
        text_from=page.text_from,
        reflection=outline_of(pointers),
        cross_references=find_references(text),
        pointers=pointers,
        needs_recognition=_needs_recognition(page),
    )


def _make_pointer(block: Block, draft: PageDraft) -> CutPointer:
    text = block.text
    boxes = [_place(draft.content, place) for place in block.places]
    for piece in draft.pieces.get(id(block), ()):
        same_head = block.table is not None and piece.table.rows[:1] == block.table.rows[:1]
        rows = piece.table.rows[1:] if same_head else piece.table.rows
        text += "\n" + Table(piece.table.place, rows, piece.table.columns).text
        boxes.append(_place(piece.page, piece.table.place))
    title = flatten(block.title) or title_from(text)
    return CutPointer(title[:TITLE_CHARACTERS], block.kind, text, tuple(boxes), find_references(text))


def _place(page: PageContent, place: Rectangle) -> PlacedBox:
    left, top = max(0.0, place.left / page.width), max(0.0, place.top / page.height)
    right, bottom = min(1.0, place.right / page.width), min(1.0, place.bottom / page.height)
    box = Box(round(left, 5), round(top, 5), round(max(0.0, right - left), 5), round(max(0.0, bottom - top), 5))
    return PlacedBox(page.number, box)


def title_from(text: str) -> str:
    """The first words of a text that has no title."""
    words = flatten(text).split(" ")
    return " ".join(words[:9]) + (" ..." if len(words) > 9 else "")


def outline_of(pointers: Iterable[CutPointer]) -> str:
    """One line a pointer."""
    lines = [f"{pointer.kind.value.replace('_', ' ')}: {pointer.title}" for pointer in pointers if pointer.title]
    more = len(lines) - _OUTLINE_LINES
    return "\n".join(lines[:_OUTLINE_LINES] + ([f"... and {more} more"] if more > 0 else []))


def _page_text(draft: PageDraft) -> str:
    """All lines in reading order, and what of the page belongs to a pointer of a page before."""
    middle = draft.content.height / 2
    placed = {id(line) for block in draft.blocks for line in (*block.head, *block.lines)}
    placed |= {id(line) for line in (draft.moved.lines if draft.moved else ())} | set(map(id, draft.running))
    parts = [
        join_lines([line for line in draft.running if line.top < middle]),
        draft.moved.text if draft.moved else "",
        *(block.text for block in draft.blocks),
        join_lines([line for line in draft.lines if id(line) not in placed]),
        join_lines([line for line in draft.running if line.top >= middle]),
    ]
    return "\n\n".join(part for part in parts if part)


def _needs_recognition(page: PageContent) -> bool:
    """No text, or little beside large pictures, or letters that mean nothing."""
    if page.text_from is TextSource.OCR:
        return False
    letters = "".join(word.text for word in page.words)
    if not letters:
        return bool(page.pictures or page.drawings)
    unreadable = sum(char == "\ufffd" or "\ue000" <= char <= "\uf8ff" for char in letters)
    if unreadable > _UNREADABLE_SHARE * len(letters):
        return True
    return len(letters) < _FEW_CHARACTERS and picture_share(page) > _PICTURE_PAGE_SHARE
