"""An open document without pages of a size: its blocks are read once, when it is opened."""

from collections.abc import Iterator

from reveries.errors import DocumentFault
from reveries.knowledge.reading.flow import FlowBlock, cut_flow
from reveries.knowledge.reading.layout import Box, CutPage, DocumentForm, DocumentSummary, PageKind
from reveries.knowledge.reading.quotes import fold_quote
from reveries.tools.reading_child.refusal import RefusalError


class FlowDocument:
    """Cuts the blocks of one file."""

    def __init__(
        self,
        form: DocumentForm,
        blocks: Iterator[FlowBlock] | list[FlowBlock],
        *,
        title: str = "",
        remarks: tuple[str, ...] = (),
        kind: PageKind = PageKind.TEXT,
        size: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        self._pages = list(cut_flow(blocks, kind, size=size, by_label=kind is PageKind.SLIDE))
        if not self._pages:
            raise RefusalError(DocumentFault.EMPTY, "holds no text", "Look whether it is the file you mean.")
        self.summary = DocumentSummary(form, len(self._pages), title, remarks)

    def read_pages(self, first_page: int, unreadable: frozenset[int]) -> Iterator[CutPage]:
        yield from (page for page in self._pages[first_page - 1 :] if page.number not in unreadable)

    def recognise(self, number: int) -> CutPage:
        return self._page(number)

    def draw_page(self, number: int, dpi: int) -> bytes:
        self._page(number)
        what = f"has no pages that can be drawn: it is read as text ({dpi} dpi were asked for)"
        raise RefusalError(DocumentFault.NO_PAGE, what, "Its words are shown instead.")

    def locate(self, number: int, quote: str) -> tuple[Box, ...]:
        folded = fold_quote(quote)
        holders = (pointer for pointer in self._page(number).pointers if folded in fold_quote(pointer.text))
        return next((tuple(placed.box for placed in pointer.boxes) for pointer in holders if folded), ())

    def _page(self, number: int) -> CutPage:
        if not 1 <= number <= len(self._pages):
            raise RefusalError(DocumentFault.NO_PAGE, f"has no page {number}: it has {len(self._pages)}")
        return self._pages[number - 1]
