"""Writes a draft when the owner asks for one: a capable model words it in one request, with a source for each claim
that code checks; with any other model it is put together from the notes. A draft is never progress, and no file of the
owner's."""

import asyncio
import contextlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Final

import msgspec

from reveries.errors import ModelAnswerError, UsageError
from reveries.knowledge.facts.days import DateOrder, find_days
from reveries.knowledge.facts.model import Fact
from reveries.knowledge.facts.numbers import read_figures
from reveries.knowledge.facts.quantities import mask
from reveries.llm.tier import Tier
from reveries.projects.draft_page import assemble_draft
from reveries.projects.draft_store import NewDraft
from reveries.projects.facts_view import ProjectFacts
from reveries.projects.model import DraftMaker, Project
from reveries.projects.note_answers import find_related_lines
from reveries.projects.store import ProjectStore
from reveries.projects.work_model import WorkModel
from reveries.prompts import prompt
from reveries.safe_text import one_line, plain

_ANSWER_TOKENS: Final = 2_500
_MOST_CLAIMS: Final = 40
_QUOTE_CHARS: Final = 400
_FIGURES: Final = re.compile(r"(?<![\w.,])\d[\d.,'’\u202f]*\d|(?<![\w.,])\d(?![\w])")


class DraftClaim(msgspec.Struct, frozen=True):
    claim: Annotated[str, msgspec.Meta(max_length=_QUOTE_CHARS)]
    document: Annotated[str, msgspec.Meta(max_length=300)]
    line: int
    quote: Annotated[str, msgspec.Meta(max_length=_QUOTE_CHARS)]


class WordedDraft(msgspec.Struct, frozen=True):
    text: Annotated[str, msgspec.Meta(min_length=1, max_length=20_000)]
    claims: Annotated[list[DraftClaim], msgspec.Meta(max_length=_MOST_CLAIMS)]


@dataclass(frozen=True, slots=True)
class _Material:
    """The lines that a model was shown."""

    text: str
    places: set[tuple[str, int]]
    is_cut: bool


async def write_draft(store: ProjectStore, model: WorkModel, project: Project, wish: str, owner: str) -> str:
    """Write and store a draft; return its id. Raises UsageError, and a ModelError if the model cannot be
    asked."""
    project_facts = await store.read_facts(project.id)
    if not project_facts.documents:
        raise UsageError(f"{project.name} has no notes to make a draft of.", advice="Give it a folder, or add a file.")
    today = date.fromtimestamp(store.now)
    draft = None
    if model.tier is Tier.CAPABLE:
        with contextlib.suppress(ModelAnswerError):  # What the rules put together says that no model worded it.
            draft = await _word_draft(model, project_facts, project, wish, owner, today)
    if draft is None:
        tasks = await store.tasks.of_project(project.id)
        draft = await asyncio.to_thread(assemble_draft, project_facts, tasks, wish, project.name, today)
    async with store.transaction() as transaction:
        draft_id = await store.drafts.put(transaction, project.id, draft)
        await store.log.put(transaction, project.id, "draft.written", one_line(wish, 200))
    return draft_id


async def _word_draft(
    model: WorkModel, project_facts: ProjectFacts, project: Project, wish: str, owner: str, today: date
) -> NewDraft:
    material = await asyncio.to_thread(show_material, project_facts, wish, model.context_chars)
    text = prompt(
        "write_draft", owner=owner, project=one_line(project.name), wish=wish, today=today.isoformat(),
        material=material.text,
    )  # fmt: skip
    answer = await model.require("draft", text, WordedDraft, tokens=_ANSWER_TOKENS)
    return await asyncio.to_thread(
        check_draft, project_facts, wish, answer, material.places, today, is_cut=material.is_cut
    )


def check_draft(
    project_facts: ProjectFacts,
    wish: str,
    answer: WordedDraft,
    shown: set[tuple[str, int]],
    today: date,
    *,
    is_cut: bool = False,
) -> NewDraft:
    """Return a model's draft with its sources, and what of it has none: claims whose quote stands nowhere, days and
    numbers that neither the wish nor the notes have. Pure."""
    sourced = [(claim, place) for claim in answer.claims if (place := _find_quote(project_facts, claim)) is not None]
    doubts = [
        f"no line says: {one_line(claim.claim, 200)}"
        for claim in answer.claims
        if not _find_quote(project_facts, claim)
    ]
    doubts += [f"in no note: {value}" for value in find_unknown_values(answer.text, project_facts, wish, today)]
    if is_cut:
        doubts.append("not all notes fitted into the request")
    rows = [
        f"- {one_line(claim.claim, 200)}: “{one_line(claim.quote, 200)}” ({document}:{line})"
        for claim, (document, line) in sourced
    ]
    content = plain(answer.text).strip() + "\n\n## Sources\n\n" + ("\n".join(rows) or "None.") + "\n"
    # What has no source may still rest on any line that the model saw.
    places = {place for _, place in sourced} if sourced and not doubts else shown
    chunk_ids, _ = project_facts.bases_of(places)
    _, sources = project_facts.bases_of(shown)
    return NewDraft(wish, content, tuple(doubts), chunk_ids, sources, DraftMaker.MODEL)


def show_material(project_facts: ProjectFacts, wish: str, most_chars: int) -> _Material:
    """Return as many lines of the notes as fit, each with its number: the owner's answers first, then the documents
    that speak of the wish."""
    lines: list[str] = []
    places: set[tuple[str, int]] = set()
    left = most_chars
    related = list(dict.fromkeys(line.document for line in find_related_lines(project_facts, wish)))
    order = {name: place for place, name in enumerate(related)}
    documents = sorted(
        project_facts.documents.values(),
        key=lambda document: (not document.is_answer, order.get(document.name, len(order)), document.name),
    )
    for document in documents:
        head = f"\n{one_line(document.name, 300)}\n"
        for number, raw in enumerate(document.text.splitlines(), 1):
            row = f"{head}{number}: {raw.rstrip()}\n"
            if not raw.strip():
                continue
            if len(row) > left:
                return _Material("".join(lines), places, is_cut=True)
            lines.append(row)
            places.add((document.name, number))
            left -= len(row)
            head = ""
    return _Material("".join(lines), places, is_cut=False)


def _find_quote(project_facts: ProjectFacts, claim: DraftClaim) -> tuple[str, int] | None:
    """Return the line that a claim quotes: the named one, else another of its document."""
    document = project_facts.documents.get(claim.document)
    quote = one_line(claim.quote).casefold()
    if document is None or not quote:
        return None
    fitting = [n for n, raw in enumerate(document.text.splitlines(), 1) if quote in one_line(raw).casefold()]
    return (document.name, min(fitting, key=lambda number: abs(number - claim.line))) if fitting else None


def find_unknown_values(text: str, project_facts: ProjectFacts, wish: str, today: date) -> list[str]:
    """Return the days and numbers of `text` that neither the notes nor the owner's wish have. Pure."""
    known_text = "\n".join((wish, *(document.text for document in project_facts.documents.values())))
    days = _days_of(project_facts.facts) | {today}
    mentions = find_days(text, today, DateOrder.of(text))
    unknown = [
        text[mention.start : mention.end]
        for mention in mentions
        if mention.is_written_out and mention.first not in days
    ]
    numbers = {_number(match.group()) for match in _FIGURES.finditer(known_text)}
    numbers |= {fact.quantity.number for fact in project_facts.facts if fact.quantity is not None}
    without_days = mask(text, [(mention.start, mention.end) for mention in mentions])
    unknown += [
        match.group()
        for match in _FIGURES.finditer(without_days)
        if len(match.group()) > 1 and _number(match.group()) not in numbers
    ]
    return list(dict.fromkeys(one_line(value) for value in unknown))


def _days_of(facts: Sequence[Fact]) -> set[date]:
    return {day for fact in facts if fact.day is not None for day in (fact.day.first, fact.day.last)}


def _number(figures: str) -> float | None:
    return read_figures(figures.strip(".,'’"))
