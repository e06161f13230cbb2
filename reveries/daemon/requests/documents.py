"""Requests about the files that projects read."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from reveries import protocol
from reveries.daemon.mind import Mind
from reveries.daemon.requests.frames import pointer_entry
from reveries.daemon.requests.registry import Call, handles
from reveries.errors import DocumentError, DocumentFault, NotFoundError, UsageError
from reveries.knowledge.pages import Page, read_pages, read_pointers
from reveries.projects.document_library import DocumentStanding, count_pending
from reveries.projects.model import Project
from reveries.safe_text import one_line, plain

_NAME_CHARS: Final = 200
_LOOK_SECONDS: Final = 1.0
_SMALLER: Final = (1.0, 0.6, 0.35, 0.2)
"""A picture that is too large for a message is drawn at a part of the resolution."""
_MOST_PNG_BYTES: Final = protocol.MAX_FRAME_BYTES - 512 * 1024


@handles(protocol.AddDocument)
async def add_document(call: Call, request: protocol.AddDocument) -> protocol.DocumentAdded:
    path = Path(request.path)
    if not path.is_absolute():
        raise UsageError(f"{path.name[:80]!r} is no absolute path.", advice="Name the file with its folder.")
    project = await call.mind.projects.store.find(request.project)
    library = call.mind.documents.library
    call.report_progress("keeping the file", 0, 0)
    added = await library.add(project, path, is_own=request.is_own)
    call.mind.documents.consider()
    standing = next(item for item in await library.standings(project) if item.document.id == added.document.id)
    return protocol.DocumentAdded(
        request.request_id, one_line(project.name), document_line(standing), added.addition.value
    )


@handles(protocol.AskDocuments)
async def list_documents(call: Call, request: protocol.AskDocuments) -> protocol.Documents:
    project = await call.mind.projects.store.find(request.project)
    return await _documents_frame(call.mind, request.request_id, project)


@handles(protocol.AwaitDocuments)
async def await_documents(call: Call, request: protocol.AwaitDocuments) -> protocol.Documents:
    """Report progress until nothing of the project's documents is left to read."""
    mind = call.mind
    project = await mind.projects.store.find(request.project)
    progressed = asyncio.Event()
    with mind.documents.progressed.subscribed(progressed.set):
        while True:
            progressed.clear()
            standings = await mind.documents.library.standings(project)
            done, total = sum(item.counts.pages for item in standings), sum(_expected(item) for item in standings)
            waits_for_pictures = any(item.counts.to_recognise for item in standings)
            if not count_pending(standings) and not waits_for_pictures and not await _count_to_embed(mind, project):
                return await _documents_frame(mind, request.request_id, project)
            call.report_progress("reading pages", done, total)
            async with asyncio.TaskGroup() as tasks:
                waiting = tasks.create_task(progressed.wait(), name="documents-progressed")
                await asyncio.wait((waiting,), timeout=_LOOK_SECONDS)
                waiting.cancel()


@handles(protocol.AskDocument)
async def show_document(call: Call, request: protocol.AskDocument) -> protocol.DocumentPages:
    project, standing = await _find(call, request.project, request.document)
    document = standing.document
    first, last = (request.page, request.page) if request.page else (1, 2**31)
    pages = await read_pages(call.mind.database, document, first, last)
    if request.page and not pages:
        raise NotFoundError(
            f"Page {request.page} of {one_line(document.name, _NAME_CHARS)} is not read.",
            advice=f"{standing.counts.pages} pages are: reveries document show {one_line(document.name, 80)}",
        )
    pointers = await read_pointers(call.mind.database, page_ids=[page.id for page in pages]) if request.page else []
    return protocol.DocumentPages(
        request.request_id,
        one_line(project.name),
        document_line(standing),
        [page_entry(page, with_text=bool(request.page)) for page in pages],
        [pointer_entry(pointer, document.name, standing.number) for pointer in pointers],
    )


@handles(protocol.AskPageImage)
async def draw_page(call: Call, request: protocol.AskPageImage) -> protocol.PageImage:
    _, standing = await _find(call, request.project, request.document)
    document = standing.document
    path = await asyncio.to_thread(call.mind.documents.library.find_file, document)
    if path is None:
        raise DocumentError(
            f"The file of {one_line(document.name, _NAME_CHARS)} is not in the home any more.",
            advice="Add it again. Its text is still there: reveries document show",
            fault=DocumentFault.MISSING,
        )
    reader = await call.mind.documents.open_reader()
    for part in _SMALLER:
        png = await reader.page_image(path, request.page, max(20, int(request.dpi * part)), document.media_type)
        if len(png) <= _MOST_PNG_BYTES:
            break
    else:
        raise UsageError("The picture of this page is too large to send.", advice="With a smaller --dpi.")
    pages = await read_pages(call.mind.database, document, request.page, request.page)
    pointers = await read_pointers(call.mind.database, page_ids=[page.id for page in pages])
    entries = [pointer_entry(pointer, document.name, standing.number) for pointer in pointers]
    return protocol.PageImage(request.request_id, png, entries)


@handles(protocol.RetryDocument)
async def retry_document(call: Call, request: protocol.RetryDocument) -> protocol.Documents:
    project, standing = await _find(call, request.project, request.document)
    await call.mind.documents.library.retry(standing)
    call.mind.documents.consider()
    return await _documents_frame(call.mind, request.request_id, project)


@handles(protocol.RemoveDocument)
async def remove_document(call: Call, request: protocol.RemoveDocument) -> protocol.Documents:
    project, standing = await _find(call, request.project, request.document)
    fallen = await call.mind.documents.library.remove(project, standing)
    call.mind.projects.consider()
    name = one_line(standing.document.name, _NAME_CHARS)
    places = "1 place" if fallen == 1 else f"{fallen:,} places"
    message = f"{name} is out, with {places}. What rests on them is held when the project is worked on."
    return await _documents_frame(call.mind, request.request_id, project, message)


async def _find(call: Call, project_name: str, document: str) -> tuple[Project, DocumentStanding]:
    project = await call.mind.projects.store.find(project_name)
    return project, await call.mind.documents.library.find(project, document)


async def _documents_frame(mind: Mind, request_id: int, project: Project, message: str = "") -> protocol.Documents:
    standings = await mind.documents.library.standings(project)
    pace = mind.documents.pace.pages_a_second if count_pending(standings) else 0.0
    return protocol.Documents(
        request_id,
        one_line(project.name),
        [document_line(item) for item in standings],
        round(pace, 1),
        await _count_to_embed(mind, project) if standings else 0,
        message,
    )


async def _count_to_embed(mind: Mind, project: Project) -> int:
    named = {"project_id": project.id, "model_id": mind.knowledge.embedder_id}
    [row] = await mind.database.rows("pages.count_without_vector", named)
    return int(row["number"])


def _expected(standing: DocumentStanding) -> int:
    return max(standing.document.page_count, standing.counts.pages)


def document_line(standing: DocumentStanding) -> protocol.DocumentLine:
    """Convert a document to its frame part."""
    document, counts = standing.document, standing.counts
    return protocol.DocumentLine(
        document_id=document.id,
        number=standing.number,
        name=one_line(document.name, _NAME_CHARS),
        path=one_line(document.path, 1000),
        media_type=one_line(document.media_type, _NAME_CHARS),
        bytes=document.bytes,
        version=document.version,
        is_own=document.is_trusted,
        added_at=document.added_at,
        reading=document.reading.value,
        failure=document.failure.value if document.failure is not None else "",
        pages=counts.pages,
        page_count=document.page_count,
        to_recognise=counts.to_recognise,
        unrecognised=counts.unrecognised,
    )


def page_entry(page: Page, *, with_text: bool) -> protocol.PageEntry:
    """Convert a page to its frame part."""
    return protocol.copy_fields(
        protocol.PageEntry,
        page,
        label=one_line(page.label, _NAME_CHARS),
        section=one_line(page.section, _NAME_CHARS),
        text=plain(page.text) if with_text else "",
        outline=plain(page.outline),
        cross_references=_lines(page.cross_references),
    )


def _lines(texts: Sequence[str]) -> list[str]:
    return [one_line(text, _NAME_CHARS) for text in texts]
