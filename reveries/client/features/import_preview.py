"""What is in a file of past conversations, as the owner is shown it before anything is stored."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from reveries.client.answers import page_of
from reveries.client.render import Page, Part, Style, line, paragraph
from reveries.client.wording import moment, plural
from reveries.safe_text import one_line

if TYPE_CHECKING:
    from reveries.client.past.parsed import ParsedFile
    from reveries.client.past.people import Person

_SHOWN = 12
_NAME_CHARS = 40
_WHERE_CHARS = 160


class FoundPerson(msgspec.Struct, frozen=True):
    """One sender of a file. `author`: owner, mind, assistant, attached (a file, or a forwarded text), or somebody."""

    name: str
    turns: int
    author: str
    why: str
    """Why it counts as the owner: "you chose it", "owner.name", or "the file says so"; else empty."""


class LeftOut(msgspec.Struct, frozen=True):
    """What is in the file and is nothing that somebody said, with its count."""

    what: str
    count: int


class ImportPreview(msgspec.Struct, frozen=True):
    """What was found in a file. Nothing is stored. Times in unix seconds."""

    form: str
    conversations: int
    turns: int
    first_at: float
    last_at: float
    people: list[FoundPerson]
    doubts: list[str]
    """What was decided without certainty, and how to decide otherwise."""
    unread: list[str]
    """What could not be read: where, and why. It is left out; the rest is imported."""
    left_out: list[LeftOut]
    not_speakers: list[str]
    """Words before a colon in a transcript that were not taken for speakers."""

    @property
    def has_owner(self) -> bool:
        return any(person.author == "owner" for person in self.people)


def describe_import(parsed: "ParsedFile", people: Sequence["Person"]) -> ImportPreview:
    """Describe what a reader found."""
    times = [message.said_at for conversation in parsed.conversations for message in conversation.messages]
    return ImportPreview(
        form=parsed.form,
        conversations=sum(bool(conversation.messages) for conversation in parsed.conversations),
        turns=len(times),
        first_at=min(times, default=0.0),
        last_at=max(times, default=0.0),
        people=[FoundPerson(person.name, person.turns, person.author, person.why or "") for person in people],
        doubts=list(dict.fromkeys(parsed.doubts)),
        unread=parsed.unread,
        left_out=[LeftOut(what, count) for what, count in parsed.left_out.most_common() if count],
        not_speakers=list(dict.fromkeys(parsed.ignored_names)),
    )


@page_of(ImportPreview, "in the file; to store it: /import --yes FILE")
def preview_page(preview: ImportPreview) -> Page:
    """Render what is in a file, and what to do where that is wrong."""
    several = f", {plural(preview.conversations, 'conversation')}" if preview.conversations > 1 else ""
    page = [
        line(Part(f"{preview.form}{several}: {plural(preview.turns, 'turn')}", "strong")),
        line(Part(f"  from {moment(preview.first_at)} to {moment(preview.last_at)}")),
        *_people_rows(preview.people),
        *_owner_rows(preview),
    ]
    for doubt in preview.doubts:
        page += paragraph(doubt, style="warn")
    if preview.not_speakers:
        names = ", ".join(one_line(name, _NAME_CHARS) for name in preview.not_speakers[:_SHOWN])
        page += paragraph(f"Not taken for speakers: {names}. To choose them: --speakers NAMES", style="dim")
    if preview.unread:
        page.append(line(Part(f"  {plural(len(preview.unread), 'part')} cannot be read and will be left out:", "warn")))
        page += [line(Part(f"    {one_line(entry, _WHERE_CHARS)}")) for entry in preview.unread[:_SHOWN]]
        page += _more_rows(len(preview.unread))
    for entry in preview.left_out:
        page.append(line(Part(f"  left out: {entry.count:,} {entry.what}", "dim")))
    return page


def _people_rows(people: Sequence[FoundPerson]) -> Page:
    rows: Page = []
    for person in people[:_SHOWN]:
        name = one_line(person.name, _NAME_CHARS)
        style: Style = "good" if person.author == "owner" else ""
        rows.append(line(Part(f"  {name:<24}", "accent"), Part(f"{person.turns:>8,}  "), Part(_role(person), style)))
    return rows + _more_rows(len(people))


def _role(person: FoundPerson) -> str:
    match person.author:
        case "owner":
            return f"you ({person.why})"
        case "mind":
            return "this mind"
        case "assistant":
            return "an assistant"
        case "attached":
            return "a file or a forwarded text"
    return "somebody else"


def _owner_rows(preview: ImportPreview) -> Page:
    """Say what it means that nobody, or a name of the owner's choice, is the owner."""
    if preview.has_owner:
        return []
    return paragraph(
        "Nobody in this file is known to be you: all of it would be remembered as other people's words, which give no "
        "orders. If one of them is you: --me NAME (or, for every import: reveries config set owner.name NAME)",
        style="warn",
    )


def _more_rows(number: int) -> Page:
    return (
        [line(Part(f"    and {number - _SHOWN:,} more (all of them: --dry-run --json)", "dim"))]
        if number > _SHOWN
        else []
    )
