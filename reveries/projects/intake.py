"""The first three questions of a project, asked once; no work waits for them (V-3, V-102)."""

from typing import Annotated

import msgspec

from reveries.llm.tier import Tier
from reveries.projects.model import Goal
from reveries.projects.store import NewQuestion
from reveries.projects.triggers import INTAKE_TAG
from reveries.projects.work_model import WorkModel
from reveries.prompts import prompt

CRITERIA_TAG = "criteria"
START_TAG = "start"
CONSTRAINTS_TAG = "constraints"

_PLAIN = (
    ("How will you see that it is reached?", CRITERIA_TAG),
    ("What is there already: what do you know, have or can do?", START_TAG),
    ("What limits it: time, money, or something that must not happen?", CONSTRAINTS_TAG),
)
_ANSWER_TOKENS = 300
_SHORTEST = 8


class IntakeQuestions(msgspec.Struct, frozen=True):
    questions: Annotated[tuple[str, ...], msgspec.Meta(min_length=3, max_length=3)]


def criteria_question(goal: Goal) -> NewQuestion:
    """Return the one question that each goal needs an answer to."""
    question, tag = _PLAIN[0]
    return NewQuestion(question, context=f"the goal: {goal.text}", context_tags=(INTAKE_TAG, tag))


async def first_questions(model: WorkModel, goal: Goal) -> tuple[NewQuestion, ...]:
    """Return three questions of a capable model, or the default ones that fit every goal; with a small model only how
    the goal is seen to be reached, which nothing but the owner can say."""
    if model.tier is not Tier.CAPABLE:
        return (criteria_question(goal),)
    text = prompt("intake", owner=model.owner, goal=goal.text)
    answer = await model.ask("intake", text, IntakeQuestions, tokens=_ANSWER_TOKENS)
    asked = tuple(one.strip() for one in answer.questions) if answer else ()
    are_usable = len({one for one in asked if len(one) >= _SHORTEST}) == len(_PLAIN)
    return tuple(
        NewQuestion(own if are_usable else plain, context=f"the goal: {goal.text}", context_tags=(INTAKE_TAG, tag))
        for own, (plain, tag) in zip(asked if are_usable else [plain for plain, _ in _PLAIN], _PLAIN, strict=True)
    )
