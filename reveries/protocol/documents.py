"""Messages about the files that projects read: adding them, how far they are read, their pages and places on them."""

from typing import Annotated, Literal

import msgspec

from reveries.protocol.message import Answer, Progress, Request
from reveries.protocol.project_notes import ProjectName
from reveries.protocol.registry import request

DocumentName = Annotated[str, msgspec.Meta(min_length=1, max_length=500)]


class PlaceBox(msgspec.Struct, frozen=True):
    """A rectangle on a page: fractions of its width and height, from the top left."""

    page: int
    """From 1."""
    x: float
    y: float
    width: float
    height: float


class CitationEntry(msgspec.Struct, frozen=True):
    """What a reply rests on in a document. `state`: on_page, and only then it may be opened as a proof; not_on_page:
    the quote, or a number of the sentence, does not stand there; not_offered: the model made the id up;
    not_in_documents: nothing fits the question, and `document` names those that were looked at. `made_by`: the model
    cited it, or rules found it for a model that does not cite."""

    short_id: str
    state: Literal["on_page", "not_on_page", "not_offered", "not_in_documents"]
    made_by: Literal["model", "rules"]
    document: str
    page_number: int
    page_label: str
    quote: str
    boxes: list[PlaceBox]
    pointer_id: str = ""
    """Empty unless it was offered."""


class DocumentLine(msgspec.Struct, frozen=True):
    """A document, and how far it is read."""

    document_id: str
    number: int
    """Its place among the documents of its project: 3 in d3.p12.b2."""
    name: str
    path: str
    """Where it lay when it was added."""
    media_type: str
    bytes: int
    version: int
    is_own: bool
    added_at: float
    reading: Literal["pending", "processing", "complete", "failed"]
    failure: str
    """Why it could not be read, for example `encrypted`; empty unless `failed`."""
    pages: int
    """How many are read."""
    page_count: int
    """How many it has; 0: not known yet."""
    to_recognise: int
    """Pages whose picture is still to be read."""
    unrecognised: int
    """Pages whose picture could not be read."""


class Documents(Answer, frozen=True):
    """The documents of a project, oldest first. `pages_a_second`: how fast pages were read lately; 0: not measured."""

    project: str
    documents: list[DocumentLine]
    pages_a_second: float = 0.0
    to_embed: int = 0
    """Places that are found by their words already, and by their meaning soon."""
    message: str = ""


class DocumentAdded(Answer, frozen=True):
    """`addition`: present: the same file is there already, and nothing was stored."""

    project: str
    document: DocumentLine
    addition: Literal["new", "newer", "present"]


class PointerEntry(msgspec.Struct, frozen=True):
    """A place in a document that can be understood on its own."""

    pointer_id: str
    short_id: str
    """For example d3.p12.b2: the second place on page 12 of the third document."""
    document: str
    page_number: int
    page_label: str
    """What is printed on the page, or else its number."""
    kind: str
    title: str
    text: str
    """Verbatim."""
    boxes: list[PlaceBox]
    cross_references: list[str]
    is_tainted: bool
    """Somebody else wrote it."""


class PageEntry(msgspec.Struct, frozen=True):
    """A page of a document."""

    number: int
    label: str
    section: str
    kind: str
    width: float
    """In points; 0: the format knows no size."""
    height: float
    text: str
    """Verbatim."""
    text_from: Literal["layer", "ocr", "none"]
    recognition: Literal["none", "pending", "complete", "failed"]
    outline: str
    cross_references: list[str]


class DocumentPages(Answer, frozen=True):
    """`pages`: the one that was asked for, or of all pages the outlines, without their text."""

    project: str
    document: DocumentLine
    pages: list[PageEntry]
    pointers: list[PointerEntry]


class PageImage(Answer, frozen=True):
    """The picture of a page as PNG, with the places on it."""

    png: bytes
    pointers: list[PointerEntry]


@request(answer=DocumentAdded, before=(Progress,))
class AddDocument(Request, frozen=True):
    """Have a project read a file; `path` is absolute. It is kept in the home, and read in the background. Answered by
    `DocumentAdded`."""

    project: ProjectName
    path: Annotated[str, msgspec.Meta(min_length=1, max_length=4096)]
    is_own: bool = False
    """The owner wrote it: what is derived from it is trusted."""


@request(answer=Documents, safe=True, large=True)
class AskDocuments(Request, frozen=True):
    """The documents of a project. Answered by `Documents`."""

    project: ProjectName


@request(answer=DocumentPages, safe=True, large=True)
class AskDocument(Request, frozen=True):
    """A document: its pages, or one page with the places on it. Answered by `DocumentPages`."""

    project: ProjectName
    document: DocumentName
    """Its name, a unique part of it, or d3."""
    page: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 0
    """From 1; 0: all."""


@request(answer=PageImage, large=True)
class AskPageImage(Request, frozen=True):
    """The picture of a page. Answered by `PageImage`."""

    project: ProjectName
    document: DocumentName
    page: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    dpi: Annotated[int, msgspec.Meta(ge=20, le=300)] = 100


@request(answer=Documents, before=(Progress,))
class AwaitDocuments(Request, frozen=True):
    """Wait until all documents of a project are read. Answered by `Progress`, in pages, and `Documents`."""

    project: ProjectName


@request(answer=Documents)
class RetryDocument(Request, frozen=True):
    """Read a document that failed again, from the page at which it failed, and the pictures of pages that could not be
    read. Answered by `Documents`."""

    project: ProjectName
    document: DocumentName


@request(answer=Documents)
class RemoveDocument(Request, frozen=True):
    """Take a document out: nothing finds it any more, its file and pages are deleted, and what rests on it is held.
    Answered by `Documents`."""

    project: ProjectName
    document: DocumentName
