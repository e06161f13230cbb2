"""What the owner's answers mean where code acts on them. Pure."""

import re
from collections.abc import Sequence
from typing import Final

from reveries.errors import UsageError
from reveries.projects.model import OwnerQuestion, QuestionStatus
from reveries.projects.yes_answers import is_yes

CONFLICT_TAG: Final = "conflict"
"""Tag of a question about two chunks that contradict each other."""
PREMISE_TAG: Final = "premise"
"""Tag of the question how to go on after a premise fell."""
DOUBT_TAG: Final = "doubt"
"""With CONFLICT_TAG: nobody has verified that the two contradict each other."""
CRITERION_TAG: Final = "criterion"
"""With PREMISE_TAG: a success criterion is hit, and the project stops until the owner answers."""

_NO: Final = re.compile(r"(?:no|n|nope|nah|nein|non)(?:,? thanks|,? thank you)?[.! ]*", re.IGNORECASE)
_SAYS_NO: Final = re.compile(
    r"\b(?:no|not|n|nope|nah|nein|non|almost|nearly|cannot)\b|n['\u2019]t\b|\bfar from it\b", re.IGNORECASE
)
_OF_A_NO: Final = re.compile(
    r"(?:(?:no|n|nope|nah|nein|non|not|yet|at all|really|quite|absolutely|of course|by far|still|sorry|unfortunately|"
    r"almost|nearly|sure|even close|way|far from it|there|finished|done|reached|completed?|so|"
    r"i['\u2019]?m afraid|i am afraid|i (?:don['\u2019]t|do not) think|changes?|"
    r"(?:it|we|i|this|that|the goal|everything)"
    r"(?:['\u2019](?:s|re|ve|m)| (?:is|are|has|have|was|were|did|do|am)(?:n['\u2019]t)?)?|been)(?:[\s,.!]+|\Z))+",
    re.IGNORECASE,
)
_DROP: Final = re.compile(
    r"(?:please\s+|just\s+|then\s+)*"
    r"(?:(?:drop|skip|cancel|forget|abandon|leave|leave out)(?:\s+(?:it|this|that|(?:the|this|that)\s+task))?"
    r"|never\s+mind|(?:it\s+is\s+|it's\s+)?not\s+needed(?:\s+any\s*more)?|no\s+need|give\s+(?:it\s+)?up)"
    r"(?:\s+(?:out|be|alone|please|then|for\s+now))*",
    re.IGNORECASE,
)


def is_no(answer: str) -> bool:
    """Whether an answer is a no, perhaps with thanks, and says nothing else."""
    return _NO.fullmatch(" ".join(answer.split())) is not None


def is_not_reached(answer: str) -> bool:
    """Whether the owner only says that a goal is not reached, and not what is missing."""
    text = " ".join(answer.split())
    return _SAYS_NO.search(text) is not None and _OF_A_NO.fullmatch(text) is not None


def is_dropping(answer: str) -> bool:
    """Whether an answer says that a task is to be left out."""
    words = " ".join(answer.split()).replace("’", "'").strip(" .!")
    return bool(words) and _DROP.fullmatch(words) is not None


def require_choice(answer: str) -> None:
    """Raise UsageError for a bare yes or no to a question that asks which of two things holds."""
    if is_no(answer) or is_yes(answer):
        raise UsageError("That says neither A nor B.", advice="Answer A, B or both, or say what holds.")


def own_answers(questions: Sequence[OwnerQuestion], task_id: str) -> list[OwnerQuestion]:
    """The owner's answers to what a task asked or waited for, oldest first, without approvals of calls."""
    return [
        question
        for question in questions
        if question.status is QuestionStatus.ANSWERED
        and not question.answered_by
        and question.payload == "{}"
        and (question.task_id == task_id or task_id in question.blocks)
    ]
