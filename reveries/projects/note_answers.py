"""Answers questions from the notes of a project without a model: the line that says it, or those that come nearest.
Pure.

A line answers if it, with what stands around it, has the words that carry the question, and a value of the kind that
is asked for. What the notes leave open, called off or replaced is never the answer; an answer of the owner stands above
any note. Words show no more than that a line is near: where they do not suffice, the best lines are candidates.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Final

from reveries.knowledge.facts.note_lines import NoteLine, read_note_lines
from reveries.knowledge.facts.questions import Extreme, NoteQuestion, read_question
from reveries.knowledge.facts.replaced_values import says_changed
from reveries.projects.document_texts import texts_of
from reveries.projects.facts_view import ProjectFacts
from reveries.projects.note_search import Candidate, NoteSearch
from reveries.protocol import AnswerStanding, NoteAnswer

_LEAST_SURE: Final = 0.75
"""Of a question: what a line says that is told as its answer. One that says less is a candidate."""
_LEAST_OPEN: Final = 0.55
"""Of a question: what a line says that leaves it open."""
_NEAR_SCORE: Final = 0.75
"""Of the best score: a line from here on may be the same thing, told again or anew."""
_LEAST_RELATED: Final = 0.2
_RELATED_SHARE: Final = 0.5
"""Of the best score: a line from here on belongs into a draft about the same."""
_MOST_ANSWERS: Final = 5
_MOST_SHOWN: Final = 3
"""Candidates that somebody is shown; a model reads more."""
_MOST_CANDIDATES: Final = 40
"""In four folders by another hand 29 of 32 right lines are among so many; among 8, 17."""


class NoteVerdict(StrEnum):
    SAID = "said"
    OPEN = "open"
    """A note asks the same, or says that it is not known."""
    UNSURE = "unsure"
    """Some lines come near, and nothing tells whether one of them answers."""
    NOT_SAID = "not_said"
    """No line has a word of it, or a model that read the nearest lines found the answer in none."""


@dataclass(frozen=True, slots=True)
class NoteAnswers:
    """What the notes say to a question, best first."""

    verdict: NoteVerdict
    answers: tuple[NoteAnswer, ...] = ()
    """For `OPEN` first the line that leaves it open, then the nearest ones, as for `UNSURE`."""
    model: str = ""
    """The name of the model that read the lines; empty: rules alone."""


def answer_from_notes(project_facts: ProjectFacts, question: str, today: date) -> NoteAnswers:
    """Return what the notes say to `question`. One that does not ask about what has been means days from `today` on."""
    asked = read_question(question)
    lines = read_note_lines(texts_of(project_facts.documents.values()))
    if not asked.words or not lines:
        return NoteAnswers(NoteVerdict.NOT_SAID)
    search = NoteSearch(asked, lines, project_facts.facts, today)
    candidates = _rank(project_facts, search, lines)
    is_sure = bool(candidates) and candidates[0].score >= _LEAST_SURE
    answers = _order(project_facts, asked, candidates)[:_MOST_ANSWERS] if is_sure else []
    nearest = answers or _describe(project_facts, candidates[:_MOST_SHOWN])
    if any(answer.standing is not AnswerStanding.CANCELLED for answer in answers):
        return NoteAnswers(NoteVerdict.SAID, tuple(answers))
    open_lines = [line for line in lines if search.is_open(line) and search.cover(line) >= _LEAST_OPEN]
    if open_lines:
        best = max(open_lines, key=search.cover)
        opened = _answer(project_facts, Candidate(best, None, search.cover(best), is_open=True), AnswerStanding.HOLDS)
        return NoteAnswers(NoteVerdict.OPEN, (opened, *nearest))
    if answers:
        return NoteAnswers(NoteVerdict.SAID, tuple(answers))
    return NoteAnswers(NoteVerdict.UNSURE if nearest else NoteVerdict.NOT_SAID, tuple(nearest))


def find_candidates(project_facts: ProjectFacts, question: str, today: date) -> list[NoteAnswer]:
    """Return the lines that a model reads to find the one that answers `question`: those that come nearest by their
    words, best first, then those that only have a value of the kind that is asked for."""
    asked = read_question(question)
    lines = read_note_lines(texts_of(project_facts.documents.values()))
    if not asked.words or not lines:
        return []
    search = NoteSearch(asked, lines, project_facts.facts, today)
    ranked = _rank(project_facts, search, lines)
    places = {(item.line.document, item.line.number) for item in ranked}
    others = (search.judge_kind(line) for line in lines if (line.document, line.number) not in places)
    wordless = sorted((item for item in others if item is not None), key=lambda item: -item.score)
    return _describe(project_facts, [*ranked, *wordless][:_MOST_CANDIDATES])


def _rank(project_facts: ProjectFacts, search: NoteSearch, lines: Sequence[NoteLine]) -> list[Candidate]:
    """Return what may answer, the likeliest first."""
    judged = (search.judge(line) for line in lines if not _is_asked(project_facts, line))
    candidates = [item for item in judged if item is not None and not item.is_open]
    return sorted(candidates, key=lambda item: (-item.score, item.line.document, item.line.number))


def find_related_lines(project_facts: ProjectFacts, wish: str) -> list[NoteLine]:
    """Return the lines that speak of what `wish` names, those that say most of it first; empty if none does."""
    asked = read_question(wish)
    lines = read_note_lines(texts_of(project_facts.documents.values()))
    if not asked.words or not lines:
        return []
    search = NoteSearch(asked, lines, project_facts.facts, date.min)
    scored = [(search.cover(line), line) for line in lines if search.names(line)]
    best = max((score for score, _ in scored), default=0.0)
    kept = [(score, line) for score, line in scored if score >= max(_LEAST_RELATED, best * _RELATED_SHARE)]
    return [line for _, line in sorted(kept, key=lambda item: (-item[0], item[1].document, item[1].number))]


def _is_asked(project_facts: ProjectFacts, line: NoteLine) -> bool:
    """Whether a line is only the question that the owner answered below it."""
    document = project_facts.documents[line.document]
    return document.is_answer and line.number < document.parts[0].first_line


def _order(project_facts: ProjectFacts, question: NoteQuestion, candidates: Sequence[Candidate]) -> list[NoteAnswer]:
    """Return the answers of `candidates`, of which the first is the best: what holds first, an answer of the owner
    above all."""
    answers = _describe(project_facts, [item for item in candidates if item.score >= candidates[0].score * _NEAR_SCORE])
    if question.extreme is not None:
        answers = _extreme_first(answers, question.extreme)
    return sorted(answers, key=lambda answer: (answer.standing is not AnswerStanding.HOLDS, not answer.is_owner))


def _describe(project_facts: ProjectFacts, candidates: Sequence[Candidate]) -> list[NoteAnswer]:
    return [_answer(project_facts, item, _standing(item, candidates, project_facts)) for item in candidates]


def _extreme_first(answers: Sequence[NoteAnswer], extreme: Extreme) -> list[NoteAnswer]:
    sign = 1 if extreme is Extreme.LEAST else -1
    return sorted(answers, key=lambda item: sign * float(item.value) if item.unit else math.inf)


def _standing(item: Candidate, others: Sequence[Candidate], project_facts: ProjectFacts) -> AnswerStanding:
    """Whether a candidate holds: neither called off, nor replaced by what another one says later."""
    if item.fact is None:
        return AnswerStanding.HOLDS
    if item.fact.day is not None and item.fact.day.is_cancelled:
        return AnswerStanding.CANCELLED
    is_replaced = project_facts.is_outdated(item.fact) or any(_replaces(other, item, project_facts) for other in others)
    return AnswerStanding.REPLACED if is_replaced else AnswerStanding.HOLDS


def _replaces(newer: Candidate, older: Candidate, project_facts: ProjectFacts) -> bool:
    a, b = newer.fact, older.fact
    if a is None or b is None or a.kind is not b.kind or a.value == b.value or a.written_on is None:
        return False
    documents = project_facts.documents
    if documents[newer.line.document].is_answer and not documents[older.line.document].is_answer:
        return True
    if not says_changed(a):
        return False
    # A day that the note itself gives; that of the file tells only when it was saved.
    is_older = b.written_on is not None and a.written_on > b.written_on
    return is_older or not (_is_dated(older, project_facts) or says_changed(b))


def _is_dated(item: Candidate, project_facts: ProjectFacts) -> bool:
    part = project_facts.documents[item.line.document].part_at(item.line.number)
    return item.fact is not None and part is not None and item.fact.written_on != part.written_on


def _answer(project_facts: ProjectFacts, item: Candidate, standing: AnswerStanding) -> NoteAnswer:
    document = project_facts.documents[item.line.document]
    part = document.part_at(item.line.number)
    fact = item.fact
    written_on = fact.written_on if fact is not None else part.written_on if part is not None else None
    return NoteAnswer(
        text=item.line.raw.strip(),
        document=item.line.document,
        line=item.line.number,
        value=fact.value if fact is not None else "",
        unit=fact.unit if fact is not None else None,
        written_on=written_on.isoformat() if written_on is not None else "",
        standing=standing,
        is_owner=document.is_answer,
        is_tainted=part is not None and bool(part.foreign_sources),
    )
