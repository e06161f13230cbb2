"""`reveries project know`, `chunks`, `relations` and `graph`: what a project knows, its relations and conflicts."""

from typing import TYPE_CHECKING, Final

import click

from reveries import protocol
from reveries.client.answers import json_option, page_of, print_answer
from reveries.client.features.project_wording import describe_day
from reveries.client.file_option import PathToCreate
from reveries.client.render import Page, Part, Style, line, paragraph
from reveries.client.wording import moment, plural
from reveries.protocol import ChunkEntry, Chunks, ProjectConflicts, RelationEntry
from reveries.safe_text import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from reveries.protocol import NoteAnswer

_SHOWN_CHARS = 600
_FOUND = 10
_LISTED = 50
_READING_SECONDS = 45.0
"""A model may read the lines that come nearest: 30 s at most."""
_BESIDE_ANSWERS = 3
"""Pieces of knowledge shown below lines that answer; all of them with --why."""
_NOT_SURE: Final = {
    "open": "The notes leave it open, as the first of these lines says:",
    "unsure": "No line surely says it. The nearest:",
    "not_said": "The notes do not say it.",
}
"""What is shown above the lines of a verdict; of what is said the lines stand alone."""
_SETTLED = {
    "recency": "The later one is valid: it is newer.",
    "authority": "The earlier one is valid: its source is more reliable.",
    "owner": "You settled it.",
    "none": "Both are valid.",
}
_FOUND_BY = {
    "likeness": "not verified: similar, but with a different number or a negation",
    "rule": "the same statement with another value",
    "model": "found by a model",
    "stated": "stated in a text",
}


_LISTED_DOCUMENTS = 6
_PLACE_CHARS = 400


@click.command("know")
@click.argument("name")
@click.argument("query", required=False, default="")
@click.option("--why", "with_why", is_flag=True, help="How each was found: by meaning, words or relations.")
@click.option("--as-of", "as_of", type=click.DateTime(["%Y-%m-%d"]), default=None, help="What was known on that day.")
@json_option(protocol.Chunks)
def know_command(name: str, query: str, with_why: bool, as_of: "datetime | None", as_json: bool) -> None:
    """Answer QUERY from the notes of a project, each line with its place and day, or say that they do not say it; then
    show what it knows about it. Questions about the work ("what is blocked?"), decisions and relations ("what
    contradicts ...?") are answered from those. Without QUERY: what it learned last. Searching changes nothing."""
    from reveries.client.sync_call import ask_mind

    until = 0.0 if as_of is None else find_end_of_day(as_of)
    limit = _FOUND if query else _LISTED
    answer = ask_mind(
        lambda new_id: protocol.AskChunks(new_id, name, query[:1000], limit, until),
        protocol.Chunks,
        seconds=_READING_SECONDS,
    )
    print_answer(answer, as_json, lambda: know_page(answer, with_why=with_why))


def find_end_of_day(day: "datetime") -> float:
    """Return the last millisecond of a local day, in unix seconds, at least 1. Where clocks change, a day has 23 or 25
    hours."""
    from datetime import datetime, timedelta

    last = datetime.max - timedelta(days=2)  # The last day whose end has unix seconds in every time zone.
    # 0 would stand for "now", and no project is older than unix time.
    return max(1.0, (min(day, last) + timedelta(days=1)).timestamp() - 0.001)


@click.command("chunks")
@click.argument("name")
@click.option("--limit", type=click.IntRange(1, 500), default=_LISTED, show_default=True, help="The most to show.")
@json_option(protocol.Chunks)
def list_chunks_command(name: str, limit: int, as_json: bool) -> None:
    """Show the latest pieces of knowledge of a project."""
    from reveries.client.sync_call import ask_mind

    answer = ask_mind(lambda new_id: protocol.AskChunks(new_id, name, "", limit), protocol.Chunks)
    print_answer(answer, as_json, lambda: chunks_page(answer.chunks))


@click.command("relations")
@click.argument("name")
@click.option("--of", "chunk_id", default="", metavar="ID", help="Only those of this piece.")
@click.option("--archived", is_flag=True, help="Also those archived because of contradictions.")
@click.option("--restore", "restore", default="", metavar="ID", help="Restore an archived relation.")
@json_option(protocol.ProjectRelations)
def list_relations_command(name: str, chunk_id: str, archived: bool, restore: str, as_json: bool) -> None:
    """Show how pieces of knowledge are related: which supports, contradicts or replaces which."""
    from reveries.client.sync_call import ask_mind

    if restore:
        answer = ask_mind(
            lambda new_id: protocol.RestoreRelation(new_id, name, restore[:100]), protocol.ProjectRelations
        )
    else:
        answer = ask_mind(
            lambda new_id: protocol.AskRelations(new_id, name, chunk_id[:100], archived), protocol.ProjectRelations
        )
    print_answer(answer, as_json, lambda: relations_page(answer.relations))


@click.command("graph")
@click.argument("name")
@click.option("--svg", type=PathToCreate(dir_okay=False), default=None, help="The file to write.")
@click.option(
    "--limit",
    type=click.IntRange(1, 200),
    default=60,
    show_default=True,
    help="The most relations to draw, strongest first.",
)
@json_option(protocol.ProjectRelations, help="Print one JSON object: the relations.")
def draw_knowledge_command(name: str, svg: str | None, limit: int, as_json: bool) -> None:
    """Draw a picture of what a project knows: pieces of knowledge and their relations."""
    from pathlib import Path

    from reveries.client.knowledge_picture import draw_knowledge_svg
    from reveries.client.picture import write_picture
    from reveries.client.render import say, show_json
    from reveries.client.sync_call import ask_mind
    from reveries.errors import UsageError

    if not (svg or as_json):
        raise UsageError("Say where to save the picture.", advice="For example: reveries project graph NAME --svg FILE")
    answer = ask_mind(lambda new_id: protocol.AskRelations(new_id, name, limit=limit), protocol.ProjectRelations)
    if svg:
        write_picture(Path(svg), draw_knowledge_svg(name, answer.relations).encode("utf-8"))
    show_json(answer) if as_json else say(f"{svg}: {plural(len(answer.relations), 'relation')}.")


# --- pages ------------------------------------------------------------------------------------------------------------


@page_of(protocol.Chunks, "what its notes say")
def know_page(answer: Chunks, *, with_why: bool = False) -> Page:
    """Render what the notes say, the answer from the work, then the knowledge, then the relations asked for."""
    # Where a document says it, that the notes do not is no news.
    page = [] if answer.places and answer.verdict == "not_said" else note_answers_rows(answer)
    page += places_rows(answer)
    page += paragraph(answer.message, indent=2) if answer.message else []
    if page and answer.verdict and answer.chunks:
        page += [line(), line(Part("  Nearest in all that it knows:", "strong"))]
    if answer.chunks or not page:
        shown = answer.chunks[:_BESIDE_ANSWERS] if answer.answers and not with_why else answer.chunks
        page += chunks_page(shown, with_why=with_why)
    if answer.relations:
        page += [line(), *relations_page(answer.relations)]
    return page


def places_rows(answer: Chunks) -> Page:
    """Render where something that fits stands in documents; or which were looked at."""
    if not answer.looked_at:
        return []
    if not answer.places:
        names = ", ".join(one_line(name, 80) for name in answer.looked_at[:_LISTED_DOCUMENTS])
        more = len(answer.looked_at) - _LISTED_DOCUMENTS
        return [
            line(Part(f"  Not in these documents: looked at {names}{f' and {more} more' if more > 0 else ''}", "warn"))
        ]
    page: Page = [line(Part("  In the documents:", "strong"))]
    for place in answer.places:
        where = f"{one_line(place.document, 120)}, page {one_line(place.page_label, 60)}"
        title = f"  {one_line(place.title, 80)}" if place.title else ""
        page.append(line(Part(f"  {place.short_id}", "accent"), Part(f"  {where}"), Part(title, "dim")))
        page += paragraph(one_line(place.text, _PLACE_CHARS), indent=6)
    first = answer.places[0]
    shown = f"reveries document show {first.short_id.partition('.')[0]} --page {first.page_number} --pointers"
    return [*page, line(Part(f"  Open the first: {shown}", "dim")), line()]


def note_answers_rows(answer: Chunks) -> Page:
    """Render the lines that answer, what holds first, or those that come nearest; or say that none does. Nothing for
    what is no question."""
    if not answer.verdict:
        return []
    reader = Part(f"  read by {one_line(answer.reader)}", "dim") if answer.reader else Part("")
    heading = _NOT_SURE.get(answer.verdict, "")
    page = [line(Part(f"  {heading}", "warn"), reader)] if heading else []
    is_said = answer.verdict == "said"
    for place, item in enumerate(answer.answers):
        page += _note_answer_rows(item, is_first=is_said and place == 0)
    return page + ([line(reader)] if answer.reader and not heading else [])


def _note_answer_rows(answer: "NoteAnswer", *, is_first: bool) -> Page:
    owner = "  your answer" if answer.is_owner else ""
    standing = {"replaced": "  replaced since", "cancelled": "  called off"}.get(answer.standing, "")
    written = f", {describe_day(answer.written_on)}" if answer.written_on else ""
    source = Part(f"  {one_line(answer.document, 120)}:{answer.line}{written}", "dim")
    value = f"{answer.value} {answer.unit}" if answer.unit else describe_day(answer.value)
    style: Style = "accent" if is_first and not standing else ""
    head = line(Part(f"  {value or '·'}", style), source, Part(owner, "accent"), Part(standing, "warn"))
    return [head, *paragraph(answer.text, indent=6, style="" if is_first else "dim")]


def chunks_page(chunks: list[ChunkEntry], *, with_why: bool = False) -> Page:
    """Render pieces of knowledge with their sources."""
    if not chunks:
        return [line("  It knows nothing about that yet.")]
    page: Page = []
    for chunk in chunks:
        origin = "" if not chunk.sources else ", from a text not written by you"
        head = line(
            Part(f"  {one_line(chunk.chunk_id)[:8]}", "accent"),
            Part(f"  {one_line(chunk.type)}, {one_line(chunk.confidence)}{origin}", "dim"),
            Part(f"  {one_line(chunk.title)}" if chunk.title else ""),
        )
        page += [head, *paragraph(_cut_text(chunk.content), indent=4)]
        if chunk.fell_because:
            page += paragraph(f"no longer valid: {chunk.fell_because}", indent=4, style="warn")
        if chunk.superseded_by:
            page += paragraph(f"replaced by {one_line(chunk.superseded_by)[:8]}", indent=4, style="warn")
        if with_why and chunk.why:
            page += paragraph(f"why: {chunk.why}", indent=4, style="dim")
    return page


def relations_page(relations: "Sequence[RelationEntry]") -> Page:
    """One block per relation: from, type, to."""
    if not relations:
        return [line("  There are no relations yet.")]
    page: Page = []
    for relation in relations:
        state = f", archived: {one_line(relation.archived)}" if relation.archived else ""
        origin = "found" if relation.is_implicit else "stated"
        head = (
            Part(f"  {one_line(relation.relation_id)[:8]}", "accent"),
            Part(f"  {origin}, {relation.weight:.2f}{state}", "dim"),
        )
        page.append(line(*head))
        page += paragraph(f"{one_line(relation.from_id)[:8]} {relation.from_text}", indent=4)
        page.append(line(Part(f"      {one_line(relation.type).replace('_', ' ')}", "strong")))
        page += paragraph(f"{one_line(relation.to_id)[:8]} {relation.to_text}", indent=4)
    return page


@page_of(protocol.ProjectConflicts)
def conflicts_page(answer: ProjectConflicts) -> Page:
    """Render both sides of each conflict, and how it was settled."""
    page: Page = []
    for conflict in answer.conflicts:
        found_by = _FOUND_BY.get(conflict.found_by, one_line(conflict.found_by))
        head = Part(f"  {one_line(conflict.conflict_id)[:8]}", "accent")
        page.append(line(head, Part(f"  {one_line(conflict.project)}: {found_by}", "dim")))
        for name, chunk in (("A", conflict.older), ("B", conflict.newer)):
            page += paragraph(f"{name}  “{one_line(chunk.content, 300)}”", indent=4)
            page.append(line(Part(f"       {one_line(chunk.chunk_id)[:8]}, {moment(chunk.created_at)}", "dim")))
        settled = _SETTLED.get(conflict.settled, "")
        page.append(
            line(
                Part(
                    f"    {settled or 'Open: if it is sure of the conflict, it asks you the next time it works.'}",
                    "dim",
                )
            )
        )
    return page


def _cut_text(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1].rstrip() + "…"
