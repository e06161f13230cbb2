"""`reveries project draft` and `project drafts`: texts made from the notes on request."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reveries import protocol
from reveries.client.answers import json_option, page_of, print_answer
from reveries.client.file_option import PathToCreate
from reveries.client.render import Page, Part, line, paragraph
from reveries.client.wording import moment
from reveries.safe_text import one_line

if TYPE_CHECKING:
    from reveries.protocol import DraftEntry, Drafts

_MAKERS = {"rules": "put together by rules, no model worded it", "model": "worded by a model, its quotes checked"}
_TO_OPTION = click.option(
    "--to", "file", type=PathToCreate(path_type=Path), help="Also write it to this file; an existing one is left alone."
)


@click.command("draft")
@click.argument("name")
@click.argument("what")
@_TO_OPTION
@json_option(protocol.Drafts)
def write_draft_command(name: str, what: str, file: Path | None, as_json: bool) -> None:
    """Make a draft from the notes, with its sources: reveries project draft Fair "letter to the insurance". A capable
    model words it; with any other it is put together from what the notes say. It is kept apart, and never counts as
    progress."""
    from reveries.client.sync_call import ask_mind

    answer = ask_mind(lambda new_id: protocol.WriteDraft(new_id, name, what), protocol.Drafts, seconds=None)
    _write_file(answer, file)
    print_answer(answer, as_json)


@click.command("drafts")
@click.argument("name")
@click.option("--show", "shown", default="", metavar="ID", help="Show this one whole.")
@click.option("--remove", "removed", default="", metavar="ID", help="Delete this one.")
@_TO_OPTION
@json_option(protocol.Drafts)
def list_drafts_command(name: str, shown: str, removed: str, file: Path | None, as_json: bool) -> None:
    """List the drafts of a project, newest first, and whether what they were made from has changed."""
    from reveries.client.sync_call import ask_mind

    if removed:
        answer = ask_mind(lambda new_id: protocol.DropDraft(new_id, name, removed), protocol.Drafts)
    else:
        answer = ask_mind(lambda new_id: protocol.AskDrafts(new_id, name, shown), protocol.Drafts)
    if shown:
        _write_file(answer, file)
    print_answer(answer, as_json, lambda: drafts_page(answer) if shown else _list_page(answer))


def _write_file(answer: "Drafts", file: Path | None) -> None:
    """Write a draft to a file of a new name. Raises InputFileError."""
    from reveries.client.owner_files import write_unique_file
    from reveries.client.render import say

    if file is None or not answer.drafts:
        return
    written = write_unique_file(file.expanduser().absolute(), answer.drafts[0].content, "draft.md")
    say(f"Written to {written}", err=True)


@page_of(protocol.Drafts, "drafts")
def drafts_page(answer: "Drafts") -> Page:
    """Render drafts whole."""
    page = [row for draft in answer.drafts for row in _draft_rows(draft)]
    return page or [line("  There are no drafts.")]


def _draft_rows(draft: "DraftEntry") -> Page:
    return [*_head_rows(draft), line(), *paragraph(draft.content, indent=2)]


def _list_page(answer: "Drafts") -> Page:
    page = [row for draft in answer.drafts for row in _head_rows(draft)]
    return page or [line("  There are no drafts.")]


def _head_rows(draft: "DraftEntry") -> Page:
    name = Part(f"  {one_line(draft.draft_id)[:8]}  ", "accent")
    page = [
        line(name, Part(one_line(draft.wish, 160), "strong")),
        line(Part(f"            {moment(draft.created_at)}, {_MAKERS[draft.made_by]}", "dim")),
    ]
    if draft.flagged_because:
        page += paragraph(f"may no longer hold: {draft.flagged_because}", indent=12, style="warn")
    return page + [row for doubt in draft.doubts for row in paragraph(doubt, indent=12, style="warn")]
