"""An open document whose pages have words at places: PDF, slides, pictures."""

from collections.abc import Iterator
from typing import Protocol

from reveries.errors import DocumentFault
from reveries.knowledge.reading.content import PageContent
from reveries.knowledge.reading.cut import cut_pages
from reveries.knowledge.reading.layout import Box, CutPage, DocumentSummary
from reveries.knowledge.reading.quotes import locate_quote
from reveries.tools.reading_child.png import encode_png
from reveries.tools.reading_child.refusal import RefusalError


class PageSource(Protocol):
    """The pages of one file."""

    @property
    def page_count(self) -> int: ...

    def read_page(self, number: int) -> PageContent: ...

    def draw_pixels(self, number: int, dpi: float) -> tuple[bytes, int, int]:
        """RGB rows, width and height. Raises RefusalError where pages have no picture."""
        ...


class PagedDocument:
    """Cuts and draws the pages of one file."""

    def __init__(self, source: PageSource, summary: DocumentSummary) -> None:
        self._source = source
        self.summary = summary

    def read_pages(self, first_page: int, unreadable: frozenset[int]) -> Iterator[CutPage]:
        """Cut all pages, as what a page stands under depends on those before it, and give those from `first_page`."""
        numbers = range(1, self._source.page_count + 1)
        contents = (PageContent(at, 612, 792) if at in unreadable else self._source.read_page(at) for at in numbers)
        for page in cut_pages(contents):
            if page.number >= first_page:
                yield page

    def recognise(self, number: int) -> CutPage:
        from reveries.tools.reading_child.recognition import recognise_page

        self._check(number)
        content = recognise_page(self._source, self._source.read_page(number))
        return next(iter(cut_pages([content])))

    def draw_page(self, number: int, dpi: int) -> bytes:
        self._check(number)
        return encode_png(*self._source.draw_pixels(number, dpi), 3)

    def locate(self, number: int, quote: str) -> tuple[Box, ...]:
        self._check(number)
        return locate_quote(self._source.read_page(number), quote)

    def _check(self, number: int) -> None:
        if not 1 <= number <= self._source.page_count:
            raise RefusalError(DocumentFault.NO_PAGE, f"has no page {number}: it has {self._source.page_count}")
