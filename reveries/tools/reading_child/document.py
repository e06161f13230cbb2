"""One open document of any format: what it is, its pages cut, and their pictures."""

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from reveries.knowledge.reading.layout import Box, CutPage, DocumentForm, DocumentSummary
from reveries.tools.reading_child.format_detection import detect_form


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
    return _find_opener(form)(path)


def _find_opener(form: DocumentForm) -> Callable[[str], OpenDocument]:  # noqa: C901  # A table: each case loads its own library.
    opener: Callable[[str], OpenDocument]
    match form:
        case DocumentForm.PDF:
            from reveries.tools.reading_child.pdf_document import open_pdf as opener
        case DocumentForm.DOCX:
            from reveries.tools.reading_child.docx import open_docx as opener
        case DocumentForm.PPTX:
            from reveries.tools.reading_child.pptx import open_pptx as opener
        case DocumentForm.HTML:
            from reveries.tools.reading_child.html import open_html as opener
        case DocumentForm.EPUB:
            from reveries.tools.reading_child.epub import open_epub as opener
        case DocumentForm.WORKBOOK:
            from reveries.tools.reading_child.spreadsheets import open_workbook as opener
        case DocumentForm.CSV:
            from reveries.tools.reading_child.spreadsheets import open_csv as opener
        case DocumentForm.EMAIL:
            from reveries.tools.reading_child.mail import open_mail as opener
        case DocumentForm.IMAGE:
            from reveries.tools.reading_child.image import ImageDocument as opener
        case DocumentForm.MARKDOWN | DocumentForm.TEXT:
            from reveries.tools.reading_child.plain_text import open_text

            opener = functools.partial(open_text, form=form)
    return opener
