"""A reader of documents without a child: pages are divided by form feeds, pointers by blank lines."""

from collections.abc import AsyncGenerator
from pathlib import Path

from reveries.errors import DocumentError, DocumentFault
from reveries.knowledge.reading.layout import (
    Box,
    CutPage,
    CutPointer,
    DocumentForm,
    DocumentSummary,
    PageKind,
    PlacedBox,
    PointerKind,
    TextSource,
)

WITHOUT_LAYER = "[picture] "
"""Begins a page that has no text layer: the rest is what its picture says."""
LOCKED = b"locked"


class ScriptedDocumentReader:
    """A DocumentReader of plain text. `fails_at`: the numbers of pages at which it crashes, each once."""

    def __init__(self) -> None:
        self.fails_at: list[int] = []
        self.read_pages: list[int] = []
        self.recognised: list[int] = []

    async def inspect(self, path: Path, media_type: str = "") -> DocumentSummary:
        return DocumentSummary(DocumentForm.PDF, len(_pages_of(path)), "")

    async def read(self, path: Path, media_type: str = "", *, first_page: int = 1) -> AsyncGenerator[CutPage]:
        for number, text in enumerate(_pages_of(path), 1):
            if number < first_page:
                continue
            if number in self.fails_at:
                self.fails_at.remove(number)
                raise DocumentError("The reader ended.", fault=DocumentFault.CRASHED)
            self.read_pages.append(number)
            is_picture = text.startswith(WITHOUT_LAYER)
            yield cut_page(number, "" if is_picture else text, needs_recognition=is_picture)

    async def recognise(self, path: Path, page: int, media_type: str = "") -> CutPage:
        self.recognised.append(page)
        text = _pages_of(path)[page - 1].removeprefix(WITHOUT_LAYER)
        return cut_page(page, text, text_from=TextSource.OCR)

    async def page_image(self, path: Path, page: int, dpi: int = 100, media_type: str = "") -> bytes:
        return b"\x89PNG page %d" % page

    async def locate(self, path: Path, page: int, quote: str, media_type: str = "") -> tuple[Box, ...]:
        return (Box(0.1, 0.1, 0.5, 0.02),) if quote in _pages_of(path)[page - 1] else ()


def cut_page(
    number: int, text: str, *, text_from: TextSource = TextSource.LAYER, needs_recognition: bool = False
) -> CutPage:
    """Cut a page at blank lines; a first line that ends with a colon is the title of its paragraph."""
    paragraphs = [paragraph for paragraph in text.split("\n\n") if paragraph.strip()]
    pointers = []
    for place, paragraph in enumerate(paragraphs):
        head, _, rest = paragraph.partition("\n")
        title, body = (head[:-1], rest) if head.endswith(":") and rest else ("", paragraph)
        box = Box(0.1, 0.1 + 0.8 * place / len(paragraphs), 0.8, 0.8 / len(paragraphs))
        pointers.append(CutPointer(title, PointerKind.PARAGRAPH, body, (PlacedBox(number, box),)))
    return CutPage(
        number=number, label="", section="", kind=PageKind.TEXT, width=612.0, height=792.0, rotation=0, text=text,
        text_from=TextSource.NONE if needs_recognition else text_from,
        reflection="\n".join(pointer.title or pointer.text[:40] for pointer in pointers), cross_references=(),
        pointers=tuple(pointers), needs_recognition=needs_recognition,
    )  # fmt: skip


def _pages_of(path: Path) -> list[str]:
    content = path.read_bytes()
    if content == LOCKED:
        raise DocumentError("It needs a password.", fault=DocumentFault.ENCRYPTED)
    return content.decode().split("\f")
