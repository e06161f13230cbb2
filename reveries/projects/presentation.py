"""How a project is told of in a conversation: in short, in detail, why something came about, or what is uncertain.

The owner's words decide (V-99). What is told are sentences about tasks and what they rest on, never rows. Pure.
"""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from reveries.index.terms import terms_of
from reveries.knowledge.model import Chunk
from reveries.projects.model import AgentState, TaskStatus, WorkTask
from reveries.safe_text import format_record

_WORD_CHARS: Final = 120
_OUTCOME_CHARS: Final = 240
_MOST: Final = 3


class Presentation(StrEnum):
    """What the owner wants to hear of a project."""

    SUMMARY = "summary"
    DETAIL = "detail"
    TRACE = "trace"
    UNCERTAIN = "uncertain"


_PATTERNS: Final = {
    Presentation.UNCERTAIN: (
        r"\b(?:how|are you|not|quite) (?:sure|certain)\b|\buncertain|\bunsure\b|\bdoubts?\b|\bcontradict|\breliable\b"
        r"|\bconfident\b|\brisks?\b|\bguess"
    ),
    Presentation.TRACE: (
        r"\bwhy\b|\bhow come\b|\bhow do you know\b|\bhow did you\b|\breason(?:s|ing)?\b|\bwhere .*\bfrom\b"
        r"|\bbased on\b"
    ),
    Presentation.DETAIL: (
        r"\bdetails?\b|\beverything\b|\bin full\b|\bexactly\b|\btasks?\b|\bblocked\b|\bstuck\b|\bwrong\b|\bproblems?\b"
        r"|\bworr(?:y|ied)\b|\bso far\b|\bwhat (?:did|have) you (?:do|done|find|found|learn)"
    ),
}
"""English, the first that fits. Asked in other words, or in another language, a project is told of in short."""


def choose_presentation(words: str) -> Presentation:
    """Choose how to tell of a project by the owner's words."""
    fitting = (one for one, pattern in _PATTERNS.items() if re.search(pattern, words, re.IGNORECASE))
    return next(fitting, Presentation.SUMMARY)


def tell_in_detail(state: AgentState) -> tuple[list[str], list[WorkTask]]:
    """Tell what was done last and what waits for what; also return the tasks that are told of."""
    done = finished_tasks(state.tasks)[-_MOST:]
    stuck = [one for one in state.tasks if one.status is TaskStatus.BLOCKED][:_MOST]
    titles = {one.id: one.title for one in state.tasks if one.status not in (TaskStatus.DONE, TaskStatus.DROPPED)}
    told = [f"Done: {_named(one)}: {_outcome(one)}" for one in done]
    told += [f"Not done yet: {_named(one)}, because it waits for {_wait(one, titles)}." for one in stuck]
    told += [f"Tried: {_named(one)}, and it did not work: {_cut(one.failure)}" for one in stuck if one.failure]
    return told, [*done, *stuck]


def tell_why(words: str, state: AgentState, chunks: Mapping[str, Chunk]) -> tuple[list[str], list[WorkTask]]:
    """Tell how the finished task that `words` are about came to its outcome, else the last one: what it rests on, and
    how it was checked. `chunks`: what is known, by id."""
    done = finished_tasks(state.tasks)
    if not done:
        return ["No task is done yet."], []
    asked = set(terms_of(words))
    # The last of those that share most words: `max` takes the first.
    task = max(reversed(done), key=lambda one: len(asked & set(terms_of(f"{one.title} {one.outcome}"))))
    bases = [chunks[name] for name in task.rests_on if name in chunks][:_MOST]
    told = [f"{_named(task)} came to this: {_outcome(task)}"]
    told += [_describe_base(one) for one in bases] or ["It rests on nothing that was stored."]
    told += [f"It was checked: {_cut(task.audit)}"] if task.audit else []
    return told, [task]


def tell_what_is_uncertain(doubts: Sequence[str], notes: Sequence[str]) -> list[str]:
    """Tell what is in doubt, then where the work leaves its goal."""
    told = [f"In doubt: {_cut(one)}" for one in doubts[:_MOST]]
    told += [_cut(one) for one in notes[:_MOST]]
    return told or ["Nothing that is known of it is in doubt."]


def finished_tasks(tasks: Sequence[WorkTask]) -> list[WorkTask]:
    """Return the finished tasks, the last one last."""
    return sorted((one for one in tasks if one.status is TaskStatus.DONE), key=lambda one: one.completed_at or 0.0)


def _describe_base(chunk: Chunk) -> str:
    whose = "somebody else wrote: " if chunk.foreign_sources else ""
    return f"It rests on: {whose}{_cut(chunk.content)}"


def _named(task: WorkTask) -> str:
    return f"“{format_record(task.title, _WORD_CHARS)}”"


def _outcome(task: WorkTask) -> str:
    return _cut(task.outcome) or "no outcome was written down"


def _cut(text: str) -> str:
    return format_record(text, _OUTCOME_CHARS)


def _wait(task: WorkTask, titles: Mapping[str, str]) -> str:
    if task.held_because:
        return "something that it rests on and that does not hold any more"
    if task.blocked_by:
        return "your answer"
    named = [f"“{format_record(titles[name], _WORD_CHARS)}”" for name in task.needs if name in titles]
    return " and ".join(named[:_MOST]) or "something else"
