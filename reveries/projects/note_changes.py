"""What changed in the notes of a project between two readings, value by value. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from reveries.knowledge.facts.model import Fact, FactKind
from reveries.projects.facts_view import ProjectFacts
from reveries.safe_text import one_line

_LEAST_LIKENESS: Final = 0.6
"""Of two lines that say the same of another value."""
_TEXT_CHARS: Final = 120


@dataclass(frozen=True, slots=True)
class NoteChange:
    """A line of a note that says another value than before, is gone, or came to a table."""

    document: str
    line: int
    """Where it stands now; 0: it is gone."""
    old_text: str
    """Empty: it is new."""
    new_text: str
    """Empty: it is gone."""

    def describe(self) -> str:
        """Say it in a sentence."""
        old, new = one_line(self.old_text, _TEXT_CHARS), one_line(self.new_text, _TEXT_CHARS)
        if not self.new_text:
            return f"{self.document}: “{old}” is gone"
        what = f"“{old}” is now “{new}”" if self.old_text else f"“{new}” is new"
        return f"{self.document}:{self.line}: {what}"


def compare_facts(before: ProjectFacts, after: ProjectFacts) -> list[NoteChange]:
    """Return the lines whose value changed, by document and line; a line that is new or gone is no change of one."""
    changes: dict[tuple[str, int], NoteChange] = {}
    for name in before.documents.keys() & after.documents.keys():
        if before.documents[name].text == after.documents[name].text:
            continue
        old, new = _facts_of(before, name), _facts_of(after, name)
        gone = [fact for fact in old if _key(fact) not in {_key(other) for other in new}]
        came = [fact for fact in new if _key(fact) not in {_key(other) for other in old}]
        for fact in came:
            if (earlier := _earlier(fact, gone)) is not None:
                changes[name, fact.line] = NoteChange(name, fact.line, earlier.text, fact.text)
    return [changes[key] for key in sorted(changes)]


def _facts_of(project_facts: ProjectFacts, name: str) -> list[Fact]:
    return [fact for fact in project_facts.facts if fact.document == name and fact.kind is not FactKind.OPEN]


def _key(fact: Fact) -> tuple[FactKind, str, str | None, str]:
    return fact.kind, fact.value, fact.unit, fact.text


def _earlier(fact: Fact, gone: Sequence[Fact]) -> Fact | None:
    """Return the fact of the same kind in the likest line that is gone."""
    likest = max(
        ((_likeness(fact.text, other.text), place) for place, other in enumerate(gone) if other.kind is fact.kind),
        default=(0.0, 0),
    )
    is_like = likest[0] >= _LEAST_LIKENESS and gone[likest[1]].value != fact.value
    return gone[likest[1]] if is_like else None


def _likeness(text: str, other: str) -> float:
    return SequenceMatcher(None, text.split(), other.split(), autojunk=False).ratio()
