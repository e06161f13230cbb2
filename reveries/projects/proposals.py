"""Which tasks the notes of a project propose: open boxes, things to do, and lines with a day ahead. Pure."""

from collections.abc import Sequence
from datetime import date
from typing import Final

from reveries.knowledge.facts.model import Bound, Day, DayStatus, Fact, FactKind
from reveries.knowledge.facts.open_ends import is_done, is_to_do
from reveries.projects.facts_view import ProjectFacts
from reveries.projects.proposal_store import NewProposal
from reveries.safe_text import one_line

_TITLE_CHARS: Final = 160
MOST_PROPOSALS: Final = 300
"""Of one project; those with the nearest days first."""


def propose_tasks(found: ProjectFacts, today: date) -> list[NewProposal]:
    """Return a proposal for each line that leaves something to do, or names a day ahead."""
    lines: dict[tuple[str, int], list[Fact]] = {}
    for fact in found.facts:
        if not found.documents[fact.document].is_answer:
            lines.setdefault((fact.document, fact.line), []).append(fact)
    proposals = [proposal for facts in lines.values() if (proposal := _propose(found, facts, today)) is not None]
    proposals.sort(key=lambda item: (not item.due, item.due))
    return list({(item.document, item.source_line): item for item in reversed(proposals[:MOST_PROPOSALS])}.values())


def _propose(found: ProjectFacts, facts: Sequence[Fact], today: date) -> NewProposal | None:
    """Return what one line proposes, if anything."""
    first = facts[0]
    raw = found.documents[first.document].text.split("\n")[first.line - 1]
    if is_done(raw):
        return None
    ahead = sorted(fact.day.value for fact in facts if fact.day is not None and _is_ahead(fact.day, today))
    is_left_to_do = any(fact.kind is FactKind.OPEN for fact in facts) and is_to_do(raw)
    if not ahead and not is_left_to_do:
        return None
    part = found.part_of(first)
    return NewProposal(
        title=one_line(first.text, _TITLE_CHARS),
        due=ahead[0] if ahead else "",
        document=first.document,
        line=first.line,
        source_line=one_line(first.text),
        foreign_sources=part.foreign_sources if part is not None else frozenset(),
    )


def _is_ahead(day: Day, today: date) -> bool:
    """Whether something is to happen on one day ahead; what holds from a day on, or lasts, is nothing to do."""
    is_one_day = day.first == day.last and day.bound is not Bound.FROM
    return is_one_day and day.status_on(today) is DayStatus.AHEAD
