"""Pages of documents and the pointers on them, as rows. A pointer is a chunk that has a place on a page.

A batch of pages is stored in one transaction and may be stored again: a page that is there is passed over. A pointer of
an earlier version, or of the same page before its picture was read, keeps its id where its text stands unchanged.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from reveries.db.checksums import checksum
from reveries.db.database import Reader, Transaction
from reveries.db.typed_rows import read_row
from reveries.knowledge.documents import Document
from reveries.knowledge.model import ChunkSource, ChunkType, Confidence, NewChunk
from reveries.knowledge.reading.layout import Box, CutPage, CutPointer, PlacedBox, TextSource
from reveries.knowledge.store import put_chunk
from reveries.safe_text import one_line

_CONTEXT_CHARS = 120
_TITLE_CHARS = 200


class Recognition(StrEnum):
    """What is to be done about a page whose picture may hold words that its text lacks."""

    NONE = "none"
    PENDING = "pending"
    COMPLETE = "complete"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Page:
    """A stored page."""

    id: str
    document_id: str
    version: int
    number: int
    label: str
    section: str
    kind: str
    width: float
    height: float
    rotation: int
    text: str
    text_from: TextSource
    recognition: Recognition
    outline: str
    cross_references: tuple[str, ...]

    @property
    def shown_label(self) -> str:
        """What is printed on it, or else its number."""
        return self.label or str(self.number)


@dataclass(frozen=True, slots=True)
class Pointer:
    """A stored pointer that stands."""

    id: str
    project_id: str
    document_id: str
    page_id: str
    page_number: int
    page_label: str
    position: int
    kind: str
    title: str
    text: str
    cross_references: tuple[str, ...]
    foreign_sources: frozenset[str]
    boxes: tuple[PlacedBox, ...] = ()

    @property
    def shown_label(self) -> str:
        """What is printed on its page, or else the page's number."""
        return self.page_label or str(self.page_number)


@dataclass(frozen=True, slots=True)
class PageCounts:
    """How many pages of a document are stored, and what is left to do with them."""

    pages: int = 0
    to_recognise: int = 0
    unrecognised: int = 0
    last: int = 0
    """The number of the last page that was read."""
    earlier: int = 0
    """Pages of the version before, while a newer one is read."""


def situate(document: str, page: CutPage, title: str) -> str:
    """Return the line that situates a pointer where it is embedded and searched: document › section › page: title."""
    section = f" › {one_line(page.section, _CONTEXT_CHARS)}" if page.section else ""
    label = one_line(page.label, _CONTEXT_CHARS) or str(page.number)
    where = f"{one_line(document, _CONTEXT_CHARS)}{section} › page {label}"
    return f"{where}: {one_line(title, _TITLE_CHARS)}" if title else where


async def store_pages(
    transaction: Transaction,
    document: Document,
    pages: Iterable[CutPage],
    sources: frozenset[str],
    now: float,
    new_id: Callable[[], str],
) -> list[str]:
    """Store a batch of pages with their pointers; return the ids of the pages that were not there."""
    stored: list[str] = []
    earlier = await _earlier_pointers(transaction, document) if document.version > 1 else {}
    for page in pages:
        page_id = new_id()
        if not await transaction.run("pages.put", _page_row(page, page_id, document)):
            continue
        await _store_pointers(transaction, document, page, page_id, earlier, sources, now, new_id)
        stored.append(page_id)
    return stored


async def store_recognised(
    transaction: Transaction,
    document: Document,
    page_id: str,
    page: CutPage,
    sources: frozenset[str],
    now: float,
    new_id: Callable[[], str],
) -> list[str]:
    """Store what the picture of a page says in place of what was read of it before; return the ids of pointers that it
    has no more."""
    earlier = await _earlier_pointers(transaction, document, page_id)
    row = _page_row(page, page_id, document) | {"recognition": Recognition.COMPLETE.value}
    await transaction.run("pages.replace_text", row)
    await _store_pointers(transaction, document, page, page_id, earlier, sources, now, new_id)
    left = [name for names in earlier.values() for name in names]
    for name in left:
        await transaction.run("pages.detach", {"id": name})
    return left


async def finish_version(transaction: Transaction, document: Document) -> list[str]:
    """Drop the pages of earlier versions; return the ids of standing pointers that the new one has no more."""
    named = {"document_id": document.id, "version": document.version}
    left = [str(row["id"]) for row in await transaction.rows("pages.pointers_left", named)]
    await transaction.run("pages.drop_of_document", named)
    return left


async def read_pages(source: Reader, document: Document, first: int = 1, last: int = 2**31) -> list[Page]:
    """The pages of a document from number `first` to `last`; of the version before while none of the newest is read."""
    named = {"document_id": document.id, "version": document.version, "first": first, "last": last}
    rows = await source.rows("pages.of_document", named)
    if not rows and document.version > 1:
        rows = await source.rows("pages.of_document", named | {"version": document.version - 1})
    return [read_row(Page, row) for row in rows]


async def read_named_pages(source: Reader, ids: Iterable[str]) -> dict[str, Page]:
    """Pages by id."""
    rows = await source.rows("pages.named", {"ids": json.dumps(sorted(set(ids)))})
    return {str(row["id"]): read_row(Page, row) for row in rows}


async def read_pointers(source: Reader, *, ids: Iterable[str] = (), page_ids: Iterable[str] = ()) -> list[Pointer]:
    """The pointers with these ids, and those on these pages, that stand; by document, page and place on it."""
    named = {"ids": json.dumps(sorted(set(ids))), "page_ids": json.dumps(sorted(set(page_ids)))}
    rows = await source.rows("pages.pointers", named)
    boxes: dict[str, list[PlacedBox]] = defaultdict(list)
    for row in await source.rows("pages.boxes", {"ids": json.dumps([str(row["id"]) for row in rows])}):
        box = Box(row["x"], row["y"], row["width"], row["height"])
        boxes[str(row["pointer_id"])].append(PlacedBox(row["page_number"], box))
    return [read_row(Pointer, row, boxes=tuple(boxes[str(row["id"])])) for row in rows]


async def count_pages(source: Reader, project_id: str) -> dict[str, PageCounts]:
    """For each document of a project, by id."""
    rows = await source.rows("pages.counts", {"project_id": project_id})
    return {str(row["id"]): read_row(PageCounts, row) for row in rows}


async def last_page_read(source: Reader, document: Document) -> int:
    """The number of the last page of the newest version that is stored; 0 if none is."""
    [row] = await source.rows("pages.last_number", {"document_id": document.id, "version": document.version})
    return int(row["number"])


async def _store_pointers(
    transaction: Transaction,
    document: Document,
    page: CutPage,
    page_id: str,
    earlier: dict[str, list[str]],
    sources: frozenset[str],
    now: float,
    new_id: Callable[[], str],
) -> None:
    for position, pointer in enumerate(page.pointers, 1):
        title = situate(document.name, page, pointer.title)
        if names := earlier.get(pointer.text):
            chunk_id = names.pop(0)
            row = {"id": chunk_id, "title": title, "checksum": checksum(title, pointer.text)}
            await transaction.run("pages.retitle_chunk", row)
            await transaction.run("pages.drop_boxes", {"pointer_id": chunk_id})
        else:
            chunk_id = new_id()
            chunk = _new_chunk(document, title, pointer, sources, now)
            await put_chunk(transaction, document.project_id, chunk_id, chunk, now, with_names=False)
        await transaction.run("pages.put_pointer", _pointer_row(pointer, chunk_id, page_id, position))
        boxes = [_box_row(chunk_id, number, placed) for number, placed in enumerate(pointer.boxes, 1)]
        await transaction.run_many("pages.put_box", boxes)


async def _earlier_pointers(transaction: Transaction, document: Document, page_id: str = "") -> dict[str, list[str]]:
    """By text, the ids of pointers whose place may be taken over."""
    named = {"document_id": document.id, "version": document.version, "page_id": page_id}
    by_text: dict[str, list[str]] = defaultdict(list)
    for row in await transaction.rows("pages.earlier_pointers", named):
        by_text[str(row["content"])].append(str(row["id"]))
    return by_text


def _new_chunk(document: Document, title: str, pointer: CutPointer, sources: frozenset[str], now: float) -> NewChunk:
    return NewChunk(
        content=pointer.text,
        type=ChunkType.RESOURCE,
        confidence=Confidence.VERIFIED,
        source=ChunkSource.USER if document.is_trusted else ChunkSource.RESEARCH,
        title=title,
        foreign_sources=sources,
        valid_from=now,
        document_id=document.id,
    )


def _page_row(page: CutPage, page_id: str, document: Document) -> dict[str, object]:
    return {
        "id": page_id,
        "document_id": document.id,
        "version": document.version,
        "number": page.number,
        "label": page.label,
        "section": page.section,
        "kind": page.kind.value,
        "width": page.width,
        "height": page.height,
        "rotation": page.rotation,
        "text": page.text,
        "text_from": page.text_from.value,
        "recognition": (Recognition.PENDING if page.needs_recognition else Recognition.NONE).value,
        "outline": page.reflection,
        "cross_references": json.dumps(page.cross_references, ensure_ascii=False),
        "checksum": checksum(page.text),
    }


def _pointer_row(pointer: CutPointer, chunk_id: str, page_id: str, position: int) -> dict[str, object]:
    return {
        "chunk_id": chunk_id,
        "page_id": page_id,
        "position": position,
        "kind": pointer.kind.value,
        "title": pointer.title,
        "cross_references": json.dumps(pointer.cross_references, ensure_ascii=False),
    }


def _box_row(chunk_id: str, position: int, placed: PlacedBox) -> dict[str, object]:
    box = placed.box
    return {
        "pointer_id": chunk_id, "position": position, "page_number": placed.page,
        "x": _part(box.x), "y": _part(box.y), "width": _part(box.width), "height": _part(box.height),
    }  # fmt: skip


def _part(value: float) -> float:
    """Return a fraction of a page; a box may stand a hair over its edge."""
    return min(1.0, max(0.0, value))
