"""Which tasks the notes of a project propose: open boxes, things to do, and what to do on a day ahead. Pure.

What an offer, a notice or a message says is no task: without a box or a mark only a line that begins, or in German and
Dutch ends, as a request does proposes one. Better too few than wrong.
"""

import re
from collections.abc import Sequence
from datetime import date
from typing import Final

from reveries.knowledge.facts.lines import CHAT_STAMP
from reveries.knowledge.facts.model import Bound, Day, DayStatus, Fact, FactKind
from reveries.knowledge.facts.open_ends import is_done, is_to_do
from reveries.knowledge.facts.vocabulary import VOCABULARY, alternation
from reveries.projects.facts_view import ProjectFacts
from reveries.projects.proposal_store import NewProposal
from reveries.projects.steering_words import STEERING_WORDS
from reveries.safe_text import one_line

_TITLE_CHARS: Final = 160
MOST_PROPOSALS: Final = 300
"""Of one project; those with the nearest days first."""
_MARK: Final = re.compile(
    rf"^\W*(?:{alternation(VOCABULARY.words('marks'))}(?!\w)|{alternation(VOCABULARY.words('to_do'))}\s*:)\s*[:\-–]?\s*",
    re.IGNORECASE,
)
_BOX: Final = re.compile(r"^\s*(?:[☐□]|\[\s?\])\s*")
_POLITE: Final = "please|bitte|s'il (?:te|vous) plaît|por favor|per favore|alsjeblieft|vennligst"
_BEGINS: Final = re.compile(
    rf"^\W*(?:(?:{_POLITE}),?\s+)?{alternation([*STEERING_WORDS.words('need'), *STEERING_WORDS.words('act')])}(?!\w)"
    r"(?!\s*(?:[:\d#]|(?:with|no|from|is|was|will|has|mit|avec|con|met|med)\b))",
    re.IGNORECASE,
)
_LAST_VERBS: Final = [verb for name in ("de", "nl") for verb in STEERING_WORDS.languages[name]["act"]]
_VERB_LAST: Final = re.compile(
    rf"(?<!\bzu\s)(?<!\bte\s)(?<!\w){alternation(_LAST_VERBS)}"
    r"(?=\s*[.!]?\s*$|,?\s+(?:bis|spätestens|vor|tot|voor|uiterlijk)\b)",
    re.IGNORECASE,
)
_OTHERS_DO: Final = re.compile(
    r"^\W*(?:die|der|das|sie|wir|ihr|er|es|zij|ze|wij|we|jullie|hij|de|het)\b|(?<!\w)(?:will|wird"
    r"|werden|kann|können|soll|sollen|darf|dürfen|möchte|möchten|muss|müssen|wollen|wollten|sollten|sollte|könnten|hätten|würde|würden|wil"
    r"|willen|kan|kunnen|zal|zullen|mag|mogen|moet|moeten)(?!\w)",
    re.IGNORECASE,
)


def propose_tasks(project_facts: ProjectFacts, today: date) -> list[NewProposal]:
    """Return a proposal for each line that leaves something to do."""
    lines: dict[tuple[str, int], list[Fact]] = {}
    for fact in project_facts.facts:
        if not project_facts.documents[fact.document].is_answer:
            lines.setdefault((fact.document, fact.line), []).append(fact)
    proposals = [
        proposal for facts in lines.values() if (proposal := _propose(project_facts, facts, today)) is not None
    ]
    proposals.sort(key=lambda item: (not item.due, item.due))
    return list({(item.document, item.source_line): item for item in reversed(proposals[:MOST_PROPOSALS])}.values())


def _propose(project_facts: ProjectFacts, facts: Sequence[Fact], today: date) -> NewProposal | None:
    """Return what one line proposes, if anything."""
    first = facts[0]
    raw = project_facts.documents[first.document].text.split("\n")[first.line - 1]
    if is_done(raw):
        return None
    ahead = sorted(fact.day.value for fact in facts if fact.day is not None and _is_ahead(fact.day, today))
    is_left_to_do = any(fact.kind is FactKind.OPEN for fact in facts) and is_to_do(raw)
    title = _strip_marks(first.text)
    if not title or (title.endswith("?") and _MARK.match(first.text)):
        return None
    if not (is_left_to_do or (ahead and not CHAT_STAMP.match(raw) and _asks_owner_to_do(title))):
        return None
    part = project_facts.part_of(first)
    return NewProposal(
        title=one_line(title, _TITLE_CHARS),
        due=ahead[0] if ahead else "",
        document=first.document,
        line=first.line,
        source_line=one_line(first.text),
        foreign_sources=part.foreign_sources if part is not None else frozenset(),
    )


def _strip_marks(text: str) -> str:
    """Return what is to be done, without the box or the word that marks it as such."""
    return _MARK.sub("", _BOX.sub("", text)).strip()


def _asks_owner_to_do(text: str) -> bool:
    """Whether a line begins or ends as something that its reader has to do."""
    return _BEGINS.match(text) is not None or (_VERB_LAST.search(text) is not None and not _OTHERS_DO.search(text))


def _is_ahead(day: Day, today: date) -> bool:
    """Whether something is to happen on one day ahead; what holds from a day on, or lasts, is nothing to do."""
    is_one_day = day.first == day.last and day.bound is not Bound.FROM
    return is_one_day and day.status_on(today) is DayStatus.AHEAD
