"""A document once it is read: pages, pointers and where each stands. These cross the pipe of the reading child.

All places are fractions of the page as a reader sees it (after its crop box and its rotation), from the top left.
"""

from collections.abc import AsyncGenerator
from enum import StrEnum
from pathlib import Path
from typing import Protocol

import msgspec


class Box(msgspec.Struct, frozen=True, array_like=True):
    """A rectangle on a page, as fractions (0 to 1) of its width and height."""

    x: float
    y: float
    width: float
    height: float


class PlacedBox(msgspec.Struct, frozen=True, array_like=True):
    """A rectangle on one page of a document."""

    page: int
    """Counted from 1, as a viewer does; not the printed number."""
    box: Box


class PointerKind(StrEnum):
    """What kind of piece of a page a pointer is, as far as the cut can tell."""

    PARAGRAPH = "paragraph"
    LIST = "list"
    TABLE = "table"
    SCHEDULE = "schedule"
    """A table with a title on a drawing: rooms, doors, materials."""
    DETAIL = "detail"
    """A region of a drawing: lines with their labels."""
    NOTES = "notes"
    """Notes of a drawing or slide, the legend of a sheet."""
    PICTURE = "picture"
    """A picture or chart, with its caption where it has one."""
    TITLE_BLOCK = "title_block"
    """The field of a drawing that names the sheet, its number and its revision."""


class PageKind(StrEnum):
    """What a page mostly is, as far as the cut can tell."""

    TEXT = "text"
    TABLE = "table"
    PICTURE = "picture"
    PLAN = "plan"
    SCHEDULE = "schedule"
    DETAILS = "details"
    """A sheet of several drawings."""
    SLIDE = "slide"
    SPREADSHEET = "spreadsheet"
    EMPTY = "empty"
    """Nothing was read on it."""


class TextSource(StrEnum):
    """Where the text of a page comes from."""

    LAYER = "layer"
    """From the file itself."""
    OCR = "ocr"
    """Read from the picture of the page."""
    NONE = "none"
    """The file has none, and the picture was not read."""


class CutPointer(msgspec.Struct, frozen=True):
    """A piece of a page that can be understood, and shown, on its own."""

    title: str
    kind: PointerKind
    text: str
    """As it stands on the page; rows of a table are lines, their cells divided by ` | `."""
    boxes: tuple[PlacedBox, ...]
    """Where it stands. A table that goes on overleaf has boxes on several pages. Empty: the format knows no places."""
    cross_references: tuple[str, ...] = ()
    """Other places that it names, as it names them: `S-101`, `detail 4/A3.01`, `section 5.2`."""


class CutPage(msgspec.Struct, frozen=True):
    """One page, sheet, slide, chapter or section of a document, cut into pointers."""

    number: int
    """Counted from 1."""
    label: str
    """The printed number or the number of the sheet (`ii`, `A2.01`), the name of a sheet or chapter; may be empty."""
    section: str
    """The series or the headings that it stands under (`Architectural`, `2 Methods › 2.1 Data`); may be empty."""
    kind: PageKind
    width: float
    """In points (1/72 inch), as it is seen; 0 where the format knows no pages of a size."""
    height: float
    rotation: int
    """By how many degrees the file turns the page to be seen: 0, 90, 180 or 270."""
    text: str
    """All that can be seen on the page, verbatim, in reading order. Quotes are checked against it."""
    text_from: TextSource
    reflection: str
    """The outline of the page: what stands on it, in one line a pointer."""
    cross_references: tuple[str, ...]
    pointers: tuple[CutPointer, ...]
    """Each belongs to the page on which it begins."""
    needs_recognition: bool = False
    """Its picture may hold words that its text lacks: read it with `DocumentReader.recognise` when there is time."""


class DocumentForm(StrEnum):
    """The format of a file, found from what stands in it, not from its name."""

    PDF = "pdf"
    DOCX = "docx"
    PPTX = "pptx"
    HTML = "html"
    EPUB = "epub"
    WORKBOOK = "workbook"
    """XLSX, XLSM, XLSB, XLS or ODS."""
    CSV = "csv"
    EMAIL = "email"
    IMAGE = "image"
    MARKDOWN = "markdown"
    TEXT = "text"


class DocumentSummary(msgspec.Struct, frozen=True):
    """What is known of a document before its pages are cut."""

    form: DocumentForm
    page_count: int
    title: str
    """As the file itself states it; may be empty."""
    remarks: tuple[str, ...] = ()
    """Sentences for the owner: what is not read (attachments, hidden sheets), what is damaged."""


class DocumentReader(Protocol):
    """Reads files of others. Every method raises DocumentError, whose `fault` and sentence say what is wrong."""

    async def inspect(self, path: Path, media_type: str = "") -> DocumentSummary:
        """Find the format and count the pages. `media_type` is what a sender said it is; it may be empty or wrong."""
        ...

    def read(self, path: Path, media_type: str = "", *, first_page: int = 1) -> AsyncGenerator[CutPage]:
        """Cut the pages from `first_page` on, in order, each as soon as it is known. The same file gives the same."""
        ...

    async def recognise(self, path: Path, page: int, media_type: str = "") -> CutPage:
        """Read one page from its picture (OCR, some seconds). Its `text_from` is OCR even if no word was found."""
        ...

    async def page_image(self, path: Path, page: int, dpi: int = 100, media_type: str = "") -> bytes:
        """The picture of a page as PNG. A page that would be larger than the reader's limit is drawn smaller."""
        ...

    async def locate(self, path: Path, page: int, quote: str, media_type: str = "") -> tuple[Box, ...]:
        """Where a quote stands on a page, a box a line; empty where it does not stand there."""
        ...
