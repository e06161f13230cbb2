"""One open document of any format: what it is, its pages cut, and their pictures."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from reveries.errors import DocumentFault
from reveries.knowledge.reading.layout import Box, CutPage, DocumentForm, DocumentSummary
from reveries.tools.reading_child.format_detection import detect_form
from reveries.tools.reading_child.refusal import RefusalError


class OpenDocument(Protocol):
    """A document of one format. Methods raise RefusalError."""

    @property
    def summary(self) -> DocumentSummary: ...

    def read_pages(self, first_page: int, unreadable: frozenset[int]) -> Iterator[CutPage]: ...

    def recognise(self, number: int) -> CutPage: ...

    def draw_page(self, number: int, dpi: int) -> bytes: ...

    def locate(self, number: int, quote: str) -> tuple[Box, ...]: ...


def open_document(path: str, name: str, media_type: str) -> OpenDocument:
    """Open a file by what stands in it. Libraries of a format are loaded only for it."""
    form = detect_form(Path(path), name, media_type)
    if form is DocumentForm.PDF:
        from reveries.tools.reading_child.pdf_document import open_pdf

        return open_pdf(path)
    raise RefusalError(DocumentFault.UNKNOWN_FORMAT, f"is {form.value}, which is not read yet")
