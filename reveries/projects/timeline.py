"""What is overdue, due and ahead in a project on a day, and what its tables add up to. Pure."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from itertools import groupby
from typing import Final

from reveries.knowledge.facts.model import Bound, DayStatus, Fact, FactKind
from reveries.projects.facts_view import ProjectFacts
from reveries.projects.model import TaskStatus, WorkTask
from reveries.protocol import Due, TableSum, TimelineEntry
from reveries.safe_text import one_line

DUE_DAYS: Final = 7
"""What happens within so many days is due."""
_OVERDUE_DAYS: Final = 90
"""What was due longer ago is history."""
_FEWEST_ADDED: Final = 2
_TOTAL: Final = re.compile(
    r"\b(?:(?:sub|sous-|zwischen|end|teil|del)?(?:total(?:e|t|en)?|sum(?:me|ma)?|totaal)|somme|suma|altogether|"
    r"gesamt\w*|insgesamt|in all|à payer|budget|balance|saldo|solde)\b",
    re.IGNORECASE,
)
"""A row that adds others up already is not added again."""
_MONEY_BACK: Final = re.compile(
    r"\b(?:refund\w*|reimburse\w*|credit note|discount|gutschrift|(?:rück)?erstatt\w*|rückzahlung|rabatt|skonto|"
    r"rembours\w*|avoir|remise|reembolso|devoluci[oó]n|abono|descuento|rimbors\w*|nota di credito|sconto|"
    r"terugbetal\w*|teruggave|restitutie|korting|refusjon|tilbakebetal\w*)\b",
    re.IGNORECASE,
)
"""Such a row runs against the others. Where it has no minus, nobody can tell which way it is meant."""


def build_timeline(project_facts: ProjectFacts, tasks: Sequence[WorkTask], today: date) -> list[TimelineEntry]:
    """Return what is overdue, due within a week, and ahead, by day. What was called off is not in it."""
    open_lines = {(fact.document, fact.line) for fact in project_facts.facts if fact.kind is FactKind.OPEN}
    days = [
        fact
        for fact in project_facts.facts
        if fact.day is not None and not fact.day.is_cancelled and not project_facts.is_outdated(fact)
    ]
    entries = [
        TimelineEntry(due, fact.value, one_line(fact.text), fact.document, fact.line)
        for fact in days
        if (due := _due_of_fact(fact, today, is_open=(fact.document, fact.line) in open_lines)) is not None
    ]
    entries += [
        TimelineEntry(_due_on(date.fromisoformat(task.due[:10]), today), task.due, one_line(task.title), "", 0)
        for task in tasks
        if task.due and task.status not in (TaskStatus.DONE, TaskStatus.DROPPED)
    ]
    unique = {(entry.value, entry.text): entry for entry in entries}
    return sorted(unique.values(), key=lambda entry: (entry.value, entry.document, entry.line))


def _due_of_fact(fact: Fact, today: date, *, is_open: bool) -> Due | None:
    assert fact.day is not None
    if fact.day.status_on(today) is DayStatus.AHEAD:
        return _due_on(fact.day.last if fact.day.bound is Bound.BY else fact.day.first, today)
    is_missed = is_open and (today - fact.day.last).days <= _OVERDUE_DAYS
    return Due.OVERDUE if is_missed else None


def _due_on(day: date, today: date) -> Due:
    if day < today:
        return Due.OVERDUE
    return Due.DUE if day <= today + timedelta(days=DUE_DAYS) else Due.AHEAD


def add_tables(project_facts: ProjectFacts) -> list[TableSum]:
    """Return the sums of tables, by document and currency. A row with several amounts, or one that says a total, is not
    added, and neither is what stands in running text or a list: there is no telling whether that belongs together. A
    sum with a refund that has no minus is not shown."""
    sums: list[TableSum] = []
    for name, facts in groupby(project_facts.facts, key=lambda fact: fact.document):
        amounts = [fact for fact in facts if fact.kind is FactKind.AMOUNT]
        lines = project_facts.documents[name].text.split("\n")
        for rows in _rows_of_tables(name, lines):
            sums += _sums_of_rows(name, lines, [fact for fact in amounts if fact.line in rows])
    return sums


def _rows_of_tables(name: str, lines: Sequence[str]) -> list[range]:
    """Return the line numbers of each table of a document."""
    if name.lower().endswith((".csv", ".tsv")):
        return [range(1, len(lines) + 1)]
    marked = [number for number, line in enumerate(lines, 1) if line.lstrip().startswith("|")]
    begins = [number for number in marked if number - 1 not in marked]
    ends = [number for number in marked if number + 1 not in marked]
    return [range(begin, end + 1) for begin, end in zip(begins, ends, strict=True)]


def _sums_of_rows(name: str, lines: Sequence[str], amounts: Sequence[Fact]) -> Iterator[TableSum]:
    counts = Counter(fact.line for fact in amounts)
    added = [fact for fact in amounts if counts[fact.line] == 1 and not _TOTAL.search(fact.text)]
    for unit in sorted({fact.unit or "" for fact in added}):
        of_unit = [fact for fact in added if fact.unit == unit and fact.quantity is not None]
        if len(of_unit) >= _FEWEST_ADDED and not any(map(_is_unsigned_refund, of_unit)):
            total = round(sum(fact.quantity.number for fact in of_unit if fact.quantity is not None), 2)
            subject = _heading_above(lines, of_unit[0].line)
            yield TableSum(subject, total, unit, len(of_unit), name, of_unit[0].line)


def _is_unsigned_refund(fact: Fact) -> bool:
    return fact.quantity is not None and fact.quantity.number > 0 and _MONEY_BACK.search(fact.text) is not None


def _heading_above(lines: Sequence[str], line: int) -> str:
    heading = next((text for text in reversed(lines[: line - 1]) if text.lstrip().startswith("#")), "")
    return one_line(heading.lstrip("# ").strip(), 80)
