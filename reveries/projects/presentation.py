"""How a project is told of in a conversation: in short, in detail, why something came about, or what is uncertain.

The owner's words decide (V-99). What is told are sentences about tasks and what they rest on, never rows. Pure.
"""

import re
from collections.abc import Mapping, Sequence, Set
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
    fitting = (kind for kind, pattern in _PATTERNS.items() if re.search(pattern, words, re.IGNORECASE))
    return next(fitting, Presentation.SUMMARY)


def tell_in_detail(state: AgentState) -> tuple[list[str], list[WorkTask]]:
    """Tell what was done last and what waits for what; also return the tasks that are told of."""
    done = finished_tasks(state.tasks)[-_MOST:]
    stuck = [task for task in state.tasks if task.status is TaskStatus.BLOCKED][:_MOST]
    still_open = [task for task in state.tasks if task.status not in (TaskStatus.DONE, TaskStatus.DROPPED)]
    titles = {task.id: task.title for task in still_open}
    lines = [f"Done: {_named(task)}: {_outcome(task)}" for task in done]
    lines += [f"Not done yet: {_named(task)}, because it waits for {_wait(task, titles)}." for task in stuck]
    lines += [f"Tried: {_named(task)}, and it did not work: {_cut(task.failure)}" for task in stuck if task.failure]
    waited_for = {name for task in stuck for name in task.needs}
    return lines, [*done, *stuck, *(task for task in still_open if task.id in waited_for)]


def find_task_asked_about(words: str, tasks: Sequence[WorkTask]) -> WorkTask | None:
    """Return the finished task that `words` are about, else the one finished last; None if none is finished."""
    asked = set(terms_of(words))
    # The last of those that share most words: `max` takes the first.
    return max(
        reversed(finished_tasks(tasks)),
        key=lambda task: len(asked & set(terms_of(f"{task.title} {task.outcome}"))),
        default=None,
    )


def tell_why(task: WorkTask | None, chunks: Mapping[str, Chunk]) -> list[str]:
    """Tell how a finished task came to its outcome: what it rests on, what of that holds no more, and whether it was
    checked. `chunks`: those that it rests on, by id; one that is missing was erased."""
    if task is None:
        return ["No task is done yet."]
    lines = [f"{_named(task)} is in doubt: it {_cut(task.flagged_because)}."] if task.flagged_because else []
    lines.append(f"{_named(task)} came to this: {_outcome(task)}")
    # What holds no more comes first: it must not be what is left out.
    bases = sorted((chunks.get(name) for name in task.rests_on), key=lambda base: base is not None and base.stands)
    lines += [_describe_base(base) for base in bases[:_MOST]] or ["It rests on nothing that was stored."]
    if task.audit:
        lines.append(f"It was {'checked' if task.is_audited else 'not checked'}: {_cut(task.audit)}")
    return lines


def tell_what_is_uncertain(doubts: Sequence[str], notes: Sequence[str]) -> list[str]:
    """Tell what is in doubt, then where the work leaves its goal."""
    lines = [f"In doubt: {_cut(doubt)}" for doubt in doubts[:_MOST]]
    lines += [_cut(note) for note in notes[:_MOST]]
    return lines or ["Nothing that is known of it is in doubt."]


def finished_tasks(tasks: Sequence[WorkTask]) -> list[WorkTask]:
    """Return the finished tasks, the last one last."""
    return sorted((task for task in tasks if task.status is TaskStatus.DONE), key=lambda task: task.completed_at or 0.0)


def _describe_base(chunk: Chunk | None) -> str:
    if chunk is None:
        return "It rested on something that was erased."
    content = _say_whose(chunk.foreign_sources) + _cut(chunk.content)
    if chunk.stands:
        return f"It rests on: {content}"
    why = _cut(chunk.fell_because) or "a newer one replaces it"
    return f"It rested on something that holds no more ({why}): {content}"


def _named(task: WorkTask) -> str:
    return f"“{format_record(task.title, _WORD_CHARS)}”"


def _outcome(task: WorkTask) -> str:
    outcome = _cut(task.outcome)
    return _say_whose(task.foreign_sources) + outcome if outcome else "no outcome was written down"


def _say_whose(foreign_sources: Set[str]) -> str:
    return "somebody else wrote: " if foreign_sources else ""


def _cut(text: str) -> str:
    return format_record(text, _OUTCOME_CHARS)


def _wait(task: WorkTask, titles: Mapping[str, str]) -> str:
    if task.held_because:
        return "something that it rests on and that does not hold any more"
    if task.blocked_by:
        return "your answer"
    named = [f"“{format_record(titles[name], _WORD_CHARS)}”" for name in task.needs if name in titles]
    return " and ".join(named[:_MOST]) or "something else"
