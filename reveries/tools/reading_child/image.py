"""A picture as a document of one page: its words come by OCR alone."""

import functools
from collections.abc import Iterator
from pathlib import Path

from reveries.errors import DocumentFault
from reveries.knowledge.reading.content import PageContent
from reveries.knowledge.reading.cut import cut_pages
from reveries.knowledge.reading.layout import (
    Box,
    CutPage,
    DocumentForm,
    DocumentSummary,
    PageKind,
    TextSource,
)  # fmt: skip
from reveries.knowledge.reading.quotes import locate_quote
from reveries.tools.reading_child.pdf import PdfFile
from reveries.tools.reading_child.png import encode_png
from reveries.tools.reading_child.recognition import convert_image
from reveries.tools.reading_child.refusal import RefusalError


class ImageDocument:
    """The picture is made a PDF with its words beneath it, once it is drawn or recognised."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.summary = DocumentSummary(DocumentForm.IMAGE, 1, "")

    def read_pages(self, first_page: int, unreadable: frozenset[int]) -> Iterator[CutPage]:
        if first_page <= 1:
            yield CutPage(
                1, "", "", PageKind.PICTURE, 0.0, 0.0, 0, "", TextSource.NONE, "", (), (), needs_recognition=True
            )

    def recognise(self, number: int) -> CutPage:
        return next(iter(cut_pages([self._content(number)])))

    def draw_page(self, number: int, dpi: int) -> bytes:
        self._check(number)
        return encode_png(*self._pdf.draw_pixels(1, dpi), 3)

    def locate(self, number: int, quote: str) -> tuple[Box, ...]:
        return locate_quote(self._content(number), quote)

    def _content(self, number: int) -> PageContent:
        self._check(number)
        content = self._pdf.read_page(1)
        content.text_from = TextSource.OCR
        return content

    @functools.cached_property
    def _pdf(self) -> PdfFile:
        return PdfFile(convert_image(Path(self._path)))

    def _check(self, number: int) -> None:
        if number != 1:
            raise RefusalError(DocumentFault.NO_PAGE, f"has no page {number}: it is one picture")
