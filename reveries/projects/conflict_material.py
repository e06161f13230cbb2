"""The contradictions of a project's notes that were found already, as prompts say them. Pure."""

from typing import Final

from reveries.knowledge.facts.model import Fact
from reveries.projects.facts_view import ProjectFacts
from reveries.safe_text import one_line

_MOST: Final = 10
_LINE_CHARS: Final = 160
MOST_CONFLICT_CHARS: Final = 2_400


def describe_open_conflicts(project_facts: ProjectFacts) -> tuple[str, frozenset[str]]:
    """Return the surest open contradictions, two lines with their places each, and who else wrote in those lines; empty
    without any."""
    records: list[str] = []
    sources = frozenset[str]()
    for conflict in project_facts.conflicts[:_MOST]:
        record = f"- {_describe(conflict.a)}\n  {_describe(conflict.b)}"
        if sum(map(len, records)) + len(record) > MOST_CONFLICT_CHARS:
            break
        records.append(record)
        sources |= project_facts.bases_of((fact.document, fact.line) for fact in (conflict.a, conflict.b))[1]
    return "\n".join(records), sources


def _describe(fact: Fact) -> str:
    return f"{one_line(fact.document, 80)}:{fact.line}: “{one_line(fact.text, _LINE_CHARS)}”"
