"""A PDF as an open document."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from reveries.errors import DocumentFault
from reveries.knowledge.reading.layout import DocumentForm, DocumentSummary
from reveries.tools.reading_child.paged_document import PagedDocument
from reveries.tools.reading_child.pdf import PdfFile
from reveries.tools.reading_child.refusal import RefusalError

_TAIL_BYTES: Final = 2_048
_PAGE_TREE_BYTES: Final = 1_000_000
_NO_PAGES: Final = re.compile(rb"/Count\s+0\b")
_A_PAGE: Final = re.compile(rb"/Type\s*/Page\b")


def open_pdf(path: str) -> PagedDocument:
    """Open a PDF. Raises RefusalError."""
    try:
        file = PdfFile(path)
    except RefusalError as error:
        if error.fault is DocumentFault.DAMAGED and not _has_end(Path(path)):
            what = "is damaged: its end is missing, so it was not fetched or copied whole"
            raise RefusalError(DocumentFault.TRUNCATED, what, "Fetch it again.") from error
        if error.fault is DocumentFault.DAMAGED and _counts_no_page(Path(path)):
            raise RefusalError(DocumentFault.EMPTY, "has no pages", "Export it again.") from error
        raise
    summary = DocumentSummary(DocumentForm.PDF, file.page_count, file.title, tuple(_list_remarks(Path(path), file)))
    return PagedDocument(file, summary)


def _list_remarks(path: Path, file: PdfFile) -> Iterator[str]:
    if not _has_end(path):
        yield "The file is damaged: its end is missing. What can be read is read."
    if file.attachment_count:
        several = "Another file is" if file.attachment_count == 1 else f"{file.attachment_count} other files are"
        yield f"{several} attached inside this PDF and not read."


def _counts_no_page(path: Path) -> bool:
    with path.open("rb") as file:
        content = file.read(_PAGE_TREE_BYTES)
    return _NO_PAGES.search(content) is not None and _A_PAGE.search(content) is None


def _has_end(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        return b"%%EOF" in file.read()
