"""A draft that is put together from the notes, without a model: the lines about what was asked for, days, sums, open
ends, what does not go together, and contacts. It says what it rests on and words nothing. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from reveries.knowledge.facts.model import Fact, FactKind
from reveries.projects.draft_store import NewDraft
from reveries.projects.facts_view import ProjectFacts
from reveries.projects.model import DraftMaker, WorkTask
from reveries.projects.note_answers import find_related_lines
from reveries.projects.timeline import add_tables, build_timeline
from reveries.safe_text import one_line

_LINE_CHARS: Final = 240
_MOST_LINES: Final = 40
"""Of one part."""
CONTACT: Final = re.compile(
    r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+|(?<![\w/.,-])\+?\d(?:[\s/()-]*\d){7,14}(?![\w/])"
)
_EMPTY: Final = "The notes say nothing about it that a rule could find."


@dataclass(frozen=True, slots=True)
class _DraftRow:
    """A line of the draft, and the place that it rests on."""

    text: str
    document: str = ""
    line: int = 0

    def describe(self) -> str:
        place = f" ({self.document}:{self.line})" if self.document else ""
        return f"- {one_line(self.text, _LINE_CHARS)}{place}"


def assemble_draft(
    project_facts: ProjectFacts, tasks: Sequence[WorkTask], wish: str, project: str, today: date
) -> NewDraft:
    """Return a draft of what the notes say about `wish`; of all that they say, where they have none of its words."""
    related = find_related_lines(project_facts, wish)
    places = {(line.document, line.number) for line in related}
    parts: list[tuple[str, list[_DraftRow]]] = [
        ("What the notes say about it", [_DraftRow(line.raw.strip(), line.document, line.number) for line in related]),
        ("Days", list(_days(project_facts, tasks, today, places))),
        ("Sums", list(_sums(project_facts, places))),
        ("Open", [_row(fact) for fact in project_facts.facts if fact.kind is FactKind.OPEN and _is_in(fact, places)]),
        ("What does not go together", list(_conflicts(project_facts, places))),
        ("Contacts", list(_contacts(project_facts, places))),
    ]
    shown = [(title, rows[:_MOST_LINES]) for title, rows in parts if rows]
    bases = {(row.document, row.line) for _, rows in shown for row in rows if row.document}
    head = (
        f"Put together by rules from the notes of {one_line(project)} on {today.isoformat()}; no model worded it. "
        f"It rests on {len(bases)} lines, each named behind its words."
    )
    body = [f"## {title}\n\n" + "\n".join(row.describe() for row in rows) for title, rows in shown] or [_EMPTY]
    content = "\n\n".join([f"# {one_line(wish, _LINE_CHARS)}", head, *body]) + "\n"
    chunk_ids, sources = project_facts.bases_of(bases)
    return NewDraft(wish, content, (), chunk_ids, sources, DraftMaker.RULES)


def _row(fact: Fact) -> _DraftRow:
    return _DraftRow(fact.text, fact.document, fact.line)


def _is_in(fact: Fact, places: set[tuple[str, int]]) -> bool:
    return not places or (fact.document, fact.line) in places


def _days(
    project_facts: ProjectFacts, tasks: Sequence[WorkTask], today: date, places: set[tuple[str, int]]
) -> Iterator[_DraftRow]:
    for entry in build_timeline(project_facts, tasks, today):
        if not places or (entry.document, entry.line) in places:
            yield _DraftRow(f"{entry.value} ({entry.due.value}): {entry.text}", entry.document, entry.line)


def _sums(project_facts: ProjectFacts, places: set[tuple[str, int]]) -> Iterator[_DraftRow]:
    """Sums of the tables that have a line about it."""
    documents = {document for document, _ in places}
    for item in add_tables(project_facts):
        if not places or item.document in documents:
            subject = f"{item.subject}: " if item.subject else ""
            yield _DraftRow(f"{subject}{item.value:,.2f} {item.unit}, {item.count} rows", item.document, item.line)


def _conflicts(project_facts: ProjectFacts, places: set[tuple[str, int]]) -> Iterator[_DraftRow]:
    for pair in project_facts.conflicts:
        if _is_in(pair.a, places) or _is_in(pair.b, places):
            yield from (_row(pair.a), _row(pair.b))


def _contacts(project_facts: ProjectFacts, places: set[tuple[str, int]]) -> Iterator[_DraftRow]:
    """Lines with a mail address or a telephone number, of the documents that speak of it."""
    documents = {document for document, _ in places} or set(project_facts.documents)
    for name in sorted(documents):
        for number, raw in enumerate(project_facts.documents[name].text.splitlines(), 1):
            if CONTACT.search(raw):
                yield _DraftRow(raw.strip(), name, number)
