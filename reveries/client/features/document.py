"""`reveries document`: files that a project reads, page by page: add them, see how far they are read, open a page."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import click

from reveries import protocol
from reveries.client.answers import json_option, page_of, print_answer
from reveries.client.file_option import PathToCreate
from reveries.client.render import Page, Part, Style, line, paragraph
from reveries.client.wording import plural, size
from reveries.protocol import DocumentAdded, DocumentLine, DocumentPages, Documents, PageEntry, PointerEntry
from reveries.safe_text import one_line

_MOST_FILES: Final = 10_000
_FAILURES: Final = {
    "missing": "its file is not in the home any more",
    "encrypted": "it needs a password: save it without one, and add it again",
    "empty": "there is nothing in it",
    "truncated": "its end is missing: copy it again",
    "damaged": "it is damaged",
    "wrong_suffix": "it is of another format than its name says",
    "unknown_format": "its format is not known",
    "too_large": "it is too large",
    "too_many_pages": "it has too many pages: split it",
    "no_page": "it has no page of that number",
    "too_slow": "it took too long",
    "crashed": "the program that reads it ended, three times",
    "cannot_recognise": "pictures of text cannot be read on this machine",
}
_project_option = click.option("--project", "project", default="", help="Without it: your only project.")


@click.group("document", short_help="Files that your projects read: add, list, show, remove.")
def command() -> None:
    """Files that a project reads page by page: PDF, and what else can be read. They stay on this machine.

    What stands in them is found by `project know` and in conversation, with the page and the place on it.
    """


@command.command("add")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@_project_option
@click.option("--own", "is_own", is_flag=True, help="You wrote it: what is derived from it is trusted.")
@click.option("--wait", "is_waiting", is_flag=True, help="Return when all of it is read.")
@json_option(protocol.Documents, takes_long=True)
def add_documents_command(paths: tuple[Path, ...], project: str, is_own: bool, is_waiting: bool, as_json: bool) -> None:
    """Add files, or all files below folders, to a project: reveries document add plans/*.pdf --project Canopy. A file
    that changed is a newer version of its document. They are read in the background: document list shows how far."""
    from reveries.client.progress import progress_bar
    from reveries.client.render import show
    from reveries.client.sync_call import ask_mind, ask_with_progress
    from reveries.errors import DocumentError

    name, files = project or _only_project(), list(_files_of(paths))
    refused = list[str]()
    with progress_bar("adding", as_json=as_json) as report:
        for done, file in enumerate(files):
            report(one_line(file.name, 80), done, len(files))
            try:
                make = partial(protocol.AddDocument, project=name, path=_absolute_path(file), is_own=is_own)
                added = ask_mind(make, protocol.DocumentAdded, seconds=None)
            except DocumentError as error:
                refused.append(error.message)
                if len(files) == 1:
                    raise
                continue
            if not as_json:
                show(added_page(added))
    if is_waiting:
        make_wait = partial(protocol.AwaitDocuments, project=name)
        answer = ask_with_progress(make_wait, protocol.Documents, "reading", as_json=as_json)
    else:
        answer = ask_mind(partial(protocol.AskDocuments, project=name), protocol.Documents)
    if as_json or is_waiting:
        print_answer(answer, as_json)
    if refused:
        show([row for why in refused for row in paragraph(why, style="warn")], err=True)
        raise click.exceptions.Exit(DocumentError.exit_code)


@command.command("list")
@_project_option
@json_option(protocol.Documents)
def list_documents_command(project: str, as_json: bool) -> None:
    """List the documents of a project: what is read, what waits, what failed and why."""
    from reveries.client.sync_call import ask_mind

    name = project or _only_project()
    print_answer(ask_mind(partial(protocol.AskDocuments, project=name), protocol.Documents), as_json)


@command.command("show")
@click.argument("name")
@_project_option
@click.option("--page", "page", type=click.IntRange(1), help="Only this page, with its text.")
@click.option("--pointers", "with_pointers", is_flag=True, help="With --page: the places on it, and where they are.")
@click.option("--png", "png", type=PathToCreate(path_type=Path, dir_okay=False), help="With --page: its picture.")
@click.option("--dpi", "dpi", type=click.IntRange(20, 300), default=100, show_default=True, help="Of the picture.")
@json_option(protocol.DocumentPages)
def show_document_command(
    name: str, project: str, page: int | None, with_pointers: bool, png: Path | None, dpi: int, as_json: bool
) -> None:
    """Show what was read of a document: the outline of its pages, or with --page one page. NAME is its name, a part of
    it, or d3. With --png FILE --pointers the places are drawn on the picture."""
    from reveries.client.sync_call import ask_mind
    from reveries.errors import UsageError

    if page is None and (png is not None or with_pointers):
        raise UsageError("A picture and places are of one page.", advice="Add --page 3.")
    in_project = project or _only_project()
    if png is not None and page is not None:
        _save_picture(in_project, name, page, png, dpi, with_pointers=with_pointers)
    make = partial(protocol.AskDocument, project=in_project, document=name, page=page or 0)
    answer = ask_mind(make, protocol.DocumentPages)
    print_answer(answer, as_json, partial(document_page, answer, with_pointers=with_pointers))


def _save_picture(project: str, name: str, page: int, png: Path, dpi: int, *, with_pointers: bool) -> None:
    from reveries.client.page_picture import outline_boxes
    from reveries.client.render import say
    from reveries.client.sync_call import ask_mind
    from reveries.errors import InputFileError

    make = partial(protocol.AskPageImage, project=project, document=name, page=page, dpi=dpi)
    answer = ask_mind(make, protocol.PageImage, seconds=None)
    picture = answer.png
    if with_pointers:
        boxes = [box for pointer in answer.pointers for box in pointer.boxes if box.page == page]
        picture = outline_boxes(picture, boxes)
    try:
        with png.open("xb") as file:
            file.write(picture)
    except FileExistsError as error:
        raise InputFileError(f"The file {png} exists already.", advice="Nothing is overwritten.") from error
    except OSError as error:
        raise InputFileError(
            f"The file {png} cannot be written: {error.strerror}.", advice="Choose another name."
        ) from error
    say(f"The picture of page {page}: {png}", err=True)


@command.command("retry")
@click.argument("name")
@_project_option
@json_option(protocol.Documents)
def retry_document_command(name: str, project: str, as_json: bool) -> None:
    """Read a document that failed again, from where it failed, and the pictures of pages that could not be read."""
    from reveries.client.sync_call import ask_mind

    make = partial(protocol.RetryDocument, project=project or _only_project(), document=name)
    print_answer(ask_mind(make, protocol.Documents), as_json)


@command.command("remove")
@click.argument("name")
@_project_option
@json_option(protocol.Documents)
def remove_document_command(name: str, project: str, as_json: bool) -> None:
    """Take a document out of its project: nothing finds it any more, and its file and pages are deleted. Your own file
    is not touched."""
    from reveries.client.sync_call import ask_mind

    make = partial(protocol.RemoveDocument, project=project or _only_project(), document=name)
    print_answer(ask_mind(make, protocol.Documents, seconds=None), as_json)


def _only_project() -> str:
    from reveries.client.features.projects import only_project

    return only_project()


def _absolute_path(file: Path) -> str:
    """Return the path as a text. Raises DocumentError for a name that is none in UTF-8."""
    from reveries.errors import DocumentError, DocumentFault

    path = str(file.resolve())
    try:
        path.encode()
    except UnicodeEncodeError as error:
        shown = path.encode(errors="replace").decode()
        raise DocumentError(
            f"The name of {shown} is in another encoding.", advice="Rename it.", fault=DocumentFault.MISSING
        ) from error
    return path


def _files_of(paths: tuple[Path, ...]) -> Iterator[Path]:
    """Yield the files, and those below folders; names that begin with a dot are passed over there. Raises
    UsageError."""
    from reveries.errors import UsageError

    count = 0
    for path in paths:
        below = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
        for file in below:
            if file != path and any(part.startswith(".") for part in file.relative_to(path).parts):
                continue
            count += 1
            if count > _MOST_FILES:
                raise UsageError(f"There are more than {_MOST_FILES:,} files.", advice="Add them a folder at a time.")
            yield file
    if not count:
        raise UsageError("There is no file in it.", advice="Name a file or a folder with files.")


# --- pages ------------------------------------------------------------------------------------------------------------


@page_of(protocol.DocumentAdded)
def added_page(added: DocumentAdded) -> Page:
    """One line: what became of the file."""
    name = one_line(added.document.name, 200)
    match added.addition:
        case "present":
            return paragraph(f"{name} is in {one_line(added.project)} already. Nothing was stored.")
        case "newer":
            words = f"{name}: version {added.document.version}. It is read now, and takes the place of the earlier one."
            return paragraph(words)
        case _:
            return paragraph(f"{name} is kept, and read now: reveries document list")


@page_of(protocol.Documents, "documents")
def documents_page(documents: Documents) -> Page:
    """A line per document, with what waits and what failed."""
    page: Page = paragraph(documents.message) if documents.message else []
    if not documents.documents:
        return page + paragraph(
            f"{one_line(documents.project)} reads no documents yet: reveries document add FILE --project NAME"
        )
    for entry in documents.documents:
        style, state = _describe_reading(entry)
        page.append(
            line(
                Part(f"  d{entry.number:<3}", "dim"),
                Part(one_line(entry.name, 200), "strong"),
                Part(f"  {state}", style),
                Part(f"  {size(entry.bytes)}{', version ' + str(entry.version) if entry.version > 1 else ''}", "dim"),
            )
        )
    waits = []
    if documents.pages_a_second:
        waits.append(f"{documents.pages_a_second:.1f} pages a second")
    if documents.to_embed:
        waits.append(f"{plural(documents.to_embed, 'place')} found by words already, soon by meaning")
    return page + (paragraph("; ".join(waits), style="dim") if waits else [])


def _describe_reading(entry: DocumentLine) -> tuple[Style, str]:
    read = f"{entry.pages} of {plural(entry.page_count, 'page')}" if entry.page_count else plural(entry.pages, "page")
    pictures = f", {plural(entry.to_recognise, 'picture')} of text to read" if entry.to_recognise else ""
    lost = f", {plural(entry.unrecognised, 'picture')} of text not read: document retry" if entry.unrecognised else ""
    match entry.reading:
        case "failed":
            return "bad", f"failed after {read}: {_FAILURES.get(entry.failure, entry.failure)}"
        case "complete":
            return ("warn" if lost else "good"), f"{plural(entry.pages, 'page')}{pictures}{lost}"
        case "pending":
            return "dim", f"waits{', ' + read if entry.pages else ''}"
        case _:
            return "accent", f"reading, {read}{pictures}"


@page_of(protocol.DocumentPages)
def document_page(answer: DocumentPages, *, with_pointers: bool = False) -> Page:
    """The outlines of all pages, or the text of one."""
    is_single = len(answer.pages) == 1 and bool(answer.pages[0].text)
    page: Page = [line(Part(one_line(answer.document.name, 200), "strong"))]
    for entry in answer.pages:
        page += _page_rows(entry, "" if with_pointers else entry.text if is_single else entry.outline)
    if with_pointers:
        for pointer in answer.pointers:
            page += pointer_rows(pointer)
    return page


def _page_rows(entry: PageEntry, text: str) -> Page:
    printed = f" ({one_line(entry.label, 60)})" if entry.label and entry.label != str(entry.number) else ""
    section = f"  {one_line(entry.section, 120)}" if entry.section else ""
    source = "  read from its picture" if entry.text_from == "ocr" else ""
    pending = "  its picture is still to be read" if entry.recognition == "pending" else ""
    rows: Page = [line(Part(f"  Page {entry.number}{printed}", "accent"), Part(f"{section}{source}{pending}", "dim"))]
    return rows + [row for part in text.splitlines() for row in paragraph(part, indent=4)]


def pointer_rows(pointer: PointerEntry) -> Page:
    """A place on a page: its id, what it is, where it is, and its words."""
    title = f" {one_line(pointer.title, 120)}" if pointer.title else ""
    rows: Page = [
        line(
            Part(f"  {pointer.short_id}", "accent"), Part(f"  {one_line(pointer.kind)}"), Part(title, "strong"),
            Part(f"  {describe_boxes(pointer)}", "dim"),
        )
    ]  # fmt: skip
    return rows + [row for part in pointer.text.splitlines() for row in paragraph(part, indent=4)]


def describe_boxes(pointer: PointerEntry) -> str:
    """Say where on its pages a pointer is, in percent from the top left."""
    return "; ".join(
        f"p. {box.page}: {box.x:.0%}, {box.y:.0%} to {box.x + box.width:.0%}, {box.y + box.height:.0%}"
        for box in pointer.boxes
    )
