"""Texts without pages of a size (Word, web pages, books, mail, plain text): blocks become pages by their headings."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

import msgspec

from reveries.knowledge.reading.cut import outline_of, title_from
from reveries.knowledge.reading.layout import Box, CutPage, CutPointer, PageKind, PlacedBox, PointerKind, TextSource
from reveries.knowledge.reading.references import find_references
from reveries.knowledge.reading.tables import CELL_DIVIDER

_PAGE_CHARACTERS: Final = 3_500
"""A page of a printed book; a section that is longer is divided between its blocks."""
_FEWEST_CHARACTERS: Final = 600
"""A section that is shorter goes on the page of the one before."""
_POINTER_CHARACTERS: Final = 700
_LONGEST_POINTER: Final = 6_000
_TITLE_CHARACTERS: Final = 100
_PAGE_LEVELS: Final = 2
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True, slots=True)
class FlowBlock:
    """A heading (level 1 to 6), or a paragraph, list, table or note (level 0)."""

    kind: PointerKind
    text: str
    level: int = 0
    label: str = ""
    """Begins a page of this name: a chapter, a sheet of a workbook, a slide."""
    title: str = ""
    box: Box | None = None
    """Its place on the page, where the format knows one (slides)."""


@dataclass(slots=True)
class _Page:
    number: int
    label: str
    section: str
    pointers: list[CutPointer] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    open_pointer: bool = False
    """Whether the next paragraph may join the last pointer."""

    @property
    def length(self) -> int:
        return sum(map(len, self.parts))


def table_text(rows: Iterable[Iterable[str]]) -> str:
    """Rows as lines, cells divided as in every table."""
    lines = []
    for row in rows:
        cells = [" ".join(cell.split()) for cell in row]
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            lines.append(CELL_DIVIDER.join(cells))
    return "\n".join(lines)


def cut_flow(
    blocks: Iterable[FlowBlock],
    kind: PageKind = PageKind.TEXT,
    *,
    size: tuple[float, float] = (0.0, 0.0),
    by_label: bool = False,
) -> Iterator[CutPage]:
    """A chapter, a sheet and a long section begin a page; `by_label`: nothing else than a label does (slides)."""
    for page in _divide(blocks, by_label=by_label):
        text = "\n\n".join(page.parts)
        only_tables = bool(page.pointers) and all(pointer.kind is PointerKind.TABLE for pointer in page.pointers)
        yield CutPage(
            number=page.number,
            label=page.label,
            section=page.section,
            kind=PageKind.EMPTY if not text else PageKind.TABLE if only_tables and kind is PageKind.TEXT else kind,
            width=size[0],
            height=size[1],
            rotation=0,
            text=text,
            text_from=TextSource.LAYER,
            reflection=outline_of(page.pointers),
            cross_references=find_references(text),
            pointers=tuple(page.pointers),
        )


def _divide(blocks: Iterable[FlowBlock], *, by_label: bool) -> Iterator[_Page]:
    path: list[str] = []
    page: _Page | None = None
    number = 0
    for block in blocks:
        if block.level:
            path = [*path[: block.level - 1], _shorten(block.text)]
        if page is None or (bool(block.label) if by_label else _begins_page(block, page)):
            if page is not None:
                yield page
            number += 1
            page = _Page(number, block.label, " › ".join(filter(None, path)))
        if block.text:
            _put(page, block, path)
    if page is not None:
        yield page


def _begins_page(block: FlowBlock, page: _Page) -> bool:
    if block.label:
        return bool(page.parts or page.label)
    if 0 < block.level <= _PAGE_LEVELS:
        return page.length >= _FEWEST_CHARACTERS
    return page.length > 0 and page.length + len(block.text) > _PAGE_CHARACTERS


def _put(page: _Page, block: FlowBlock, path: list[str]) -> None:
    """Add a block to a page: a heading opens a pointer, paragraphs below it join it up to a length."""
    page.parts.append(block.text)
    title = block.title or (path[-1] if path else "")
    last = page.pointers[-1] if page.pointers else None
    text_kinds = (PointerKind.PARAGRAPH, PointerKind.LIST)
    joins = block.kind in text_kinds and not block.level and not block.title and block.box is None
    if last is not None and page.open_pointer and joins and len(last.text) + len(block.text) <= _POINTER_CHARACTERS:
        page.pointers[-1] = _pointer(last.title, block.kind, f"{last.text}\n{block.text}")
        return
    for piece in _pieces(block.text):
        pointer = _pointer(title or title_from(piece), block.kind, piece)
        if block.box is not None:
            pointer = msgspec.structs.replace(pointer, boxes=(PlacedBox(page.number, block.box),))
        page.pointers.append(pointer)
    page.open_pointer = bool(block.level) or joins


def _pointer(title: str, kind: PointerKind, text: str) -> CutPointer:
    return CutPointer(_shorten(title), kind, text, (), find_references(text))


def _pieces(text: str) -> Iterator[str]:
    """A text, divided between lines or sentences where it is too long for one pointer."""
    while len(text) > _LONGEST_POINTER:
        at = text.rfind("\n", 1, _LONGEST_POINTER)
        if at < 0:
            ends = [match.start() for match in _SENTENCE_END.finditer(text, 0, _LONGEST_POINTER)]
            at = ends[-1] if ends else _LONGEST_POINTER
        yield text[:at]
        text = text[at:].lstrip()
    yield text


def _shorten(text: str) -> str:
    return " ".join(text.split())[:_TITLE_CHARACTERS]
