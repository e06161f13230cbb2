"""A capable model reads which of the lines that come nearest answers a question to the notes: words alone do not tell.

It chooses one of up to forty, or none, in one request: what comes out is a line of the notes, word for word. A small
model is not asked: what it took for the answer was wrong as often as right (docs/benchmarks/projects.md).
"""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any, Final, Literal

import msgspec

from reveries.errors import ModelError
from reveries.llm.base import Role
from reveries.llm.tier import Tier
from reveries.projects.facts_view import ProjectFacts
from reveries.projects.note_answers import NoteAnswers, NoteVerdict, answer_from_notes, find_candidates
from reveries.projects.work_model import WorkModel
from reveries.prompts import prompt
from reveries.protocol import AnswerStanding, NoteAnswer
from reveries.safe_text import one_line
from reveries.tools.results import fence

_LINE_CHARS: Final = 300
_QUESTION_CHARS: Final = 400
_SECONDS: Final = 30.0
"""The owner waits for it; then what rules say is shown."""
_ANSWER_TOKENS: Final = 60
_NONE: Final = "none"


async def read_answer(model: WorkModel, project_facts: ProjectFacts, question: str, today: date) -> NoteAnswers:
    """Return what the notes say to `question`: as a capable `model` reads the lines that come nearest, or by rules
    alone if it is too slow or fails. An answer of the owner stands above what a model reads."""
    by_rules = await asyncio.to_thread(answer_from_notes, project_facts, question, today)
    is_owners = by_rules.verdict is NoteVerdict.SAID and by_rules.answers[0].is_owner
    if is_owners or model.tier is not Tier.CAPABLE:
        return by_rules
    candidates = await asyncio.to_thread(find_candidates, project_facts, question, today)
    if not candidates:
        return by_rules
    with contextlib.suppress(TimeoutError, ModelError):
        async with asyncio.timeout(_SECONDS):
            return await _choose(model, by_rules, candidates, question, today)
    return by_rules


async def _choose(
    model: WorkModel, by_rules: NoteAnswers, candidates: Sequence[NoteAnswer], question: str, today: date
) -> NoteAnswers:
    """Let a model choose the line that answers, or none. Without a usable answer rules stand."""
    named = {f"l{number}": candidate for number, candidate in enumerate(candidates, 1)}
    text = prompt(
        "read_notes",
        asked=fence([one_line(question, _QUESTION_CHARS)]),
        lines=fence([f"{name}: {_say_line(candidate)}" for name, candidate in named.items()]),
        today=today.isoformat(),
    )
    choice = await model.ask("know", text, choice_type(tuple(named)), tokens=_ANSWER_TOKENS, role=Role.LEARNING)
    return read_choice(choice.line, named, by_rules, model.model.name) if choice is not None else by_rules


def choice_type(names: tuple[str, ...]) -> type[Any]:
    """Return the type of the answer: one of the lines that are listed, or none."""
    line = Literal[(_NONE, *names)]  # type: ignore[valid-type]  # The lines of this question.
    return msgspec.defstruct("LineChoice", [("line", line)], frozen=True)


def read_choice(chosen: str, named: Mapping[str, NoteAnswer], by_rules: NoteAnswers, model: str) -> NoteAnswers:
    """Return what follows from the line that a capable model chose. Pure."""
    line = named.get(chosen)
    if line is None:
        is_open = by_rules.verdict is NoteVerdict.OPEN
        return replace(by_rules, model=model) if is_open else NoteAnswers(NoteVerdict.NOT_SAID, (), model)
    history = [item for item in named.values() if item.standing is not AnswerStanding.HOLDS and item != line]
    rules_agree = by_rules.verdict is NoteVerdict.SAID and by_rules.answers[0].line == line.line
    return replace(by_rules, model=model) if rules_agree else NoteAnswers(NoteVerdict.SAID, (line, *history), model)


def _say_line(candidate: NoteAnswer) -> str:
    """Return a line as a model is told it: behind the name of its file and the day of writing."""
    written = f", {candidate.written_on}" if candidate.written_on else ""
    return f"({one_line(candidate.document, 100)}{written}) {one_line(candidate.text, _LINE_CHARS)}"
