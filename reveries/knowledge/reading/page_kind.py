"""What a page stands under, and what it mostly is."""

from reveries.knowledge.reading.blocks import Block, flatten
from reveries.knowledge.reading.content import PageContent
from reveries.knowledge.reading.layout import PageKind, PointerKind

TITLE_CHARACTERS = 100
_SLIDE_TYPE_SHARE = 1 / 40
"""Slides are set in type of at least this share of their height."""


class Headings:
    """The headings that a page stands under, by the size of their type, carried from page to page."""

    def __init__(self) -> None:
        self._stack: list[tuple[float, str]] = []

    def section_of(self, page: PageContent, blocks: list[Block]) -> str:
        before = [title for _, title in self._stack]
        first: list[str] | None = None
        for block in blocks:
            if not block.is_heading and not (block.lines and block.title and block.title == _first_line(block)):
                continue
            size = round(block.lines[0].size, 1)
            while self._stack and self._stack[-1][0] <= size:
                self._stack.pop()
            self._stack = [*self._stack[-2:], (size, block.title[:TITLE_CHARACTERS])]
            first = first or [title for _, title in self._stack]
        if page.headings:
            return " › ".join(page.headings)
        return " › ".join(first if first is not None else before)


def _first_line(block: Block) -> str:
    return flatten(block.lines[0].text)


def kind_of_page(page: PageContent, blocks: list[Block]) -> PageKind:
    if not blocks:
        return PageKind.EMPTY if not page.pictures else PageKind.PICTURE
    if page.is_slide or (page.width > 1.2 * page.height and _type_share(page) > _SLIDE_TYPE_SHARE):
        return PageKind.SLIDE
    area = {kind: sum(block.place.area for block in blocks if block.kind is kind) for kind in PointerKind}
    text = area[PointerKind.PARAGRAPH] + area[PointerKind.LIST]
    if area[PointerKind.TABLE] > max(text, area[PointerKind.PICTURE]):
        return PageKind.TABLE
    return PageKind.PICTURE if area[PointerKind.PICTURE] > 2 * text else PageKind.TEXT


def _type_share(page: PageContent) -> float:
    sizes = sorted(word.size for word in page.words)
    return sizes[len(sizes) // 2] / page.height if sizes else 0.0
