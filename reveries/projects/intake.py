"""The first questions of a goal: the one that a small model asks (a capable one asks with its plan; V-3, V-102), and
those that the owner answers with the goal itself (V-136)."""

from dataclasses import dataclass

from reveries.projects.model import NewQuestion
from reveries.projects.store import SaidWithGoal
from reveries.projects.triggers import INTAKE_TAG

CRITERIA_TAG = "criteria"
CONSTRAINTS_TAG = "constraints"
GIVEN_TAG = "given"
"""The owner said it with the goal: criteria stand on the page as they were put, whatever a model would make of them."""

_QUESTION = "How will you see that it is reached?"


@dataclass(frozen=True, slots=True)
class GoalFrame:
    """What the owner says with a goal: how one sees that it is reached, by when, and what else counts."""

    success_criteria: tuple[str, ...] = ()
    timeline: str = ""
    context: str = ""


def criteria_question(goal: str) -> NewQuestion:
    """Return the one question that each goal needs an answer to."""
    return NewQuestion(_QUESTION, context=f"the goal: {goal}", context_tags=(INTAKE_TAG, CRITERIA_TAG))


def answer_with_goal(goal: str, frame: GoalFrame) -> list[SaidWithGoal]:
    """Return what is said with a goal as questions that are answered: from there on it is the owner's word like any
    other answer. Pure."""
    asked = criteria_question(goal)
    context = asked.context
    answers = [
        (
            asked.question,
            asked.context_tags,
            "\n".join(" ".join(criterion.split()) for criterion in frame.success_criteria),
        ),
        ("By when?", (CONSTRAINTS_TAG,), frame.timeline),
        ("What else counts for it?", ("context",), frame.context),
    ]
    return [
        SaidWithGoal(NewQuestion(question, context=context, context_tags=(*tags, GIVEN_TAG)), answer.strip())
        for question, tags, answer in answers
        if answer.strip()
    ]
