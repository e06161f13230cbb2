"""The first question of a goal with a small model; a capable one asks with its plan (V-3, V-102)."""

from reveries.projects.model import Goal
from reveries.projects.store import NewQuestion
from reveries.projects.triggers import INTAKE_TAG

CRITERIA_TAG = "criteria"
CONSTRAINTS_TAG = "constraints"

_QUESTION = "How will you see that it is reached?"


def criteria_question(goal: Goal) -> NewQuestion:
    """Return the one question that each goal needs an answer to."""
    return NewQuestion(_QUESTION, context=f"the goal: {goal.text}", context_tags=(INTAKE_TAG, CRITERIA_TAG))
