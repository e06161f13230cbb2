"""Coherence of work with its goal: the score of a task, and how the tasks of a project as a whole keep to the goal.

V-91 asks it of each task before it is done; V-100 asks of the whole whether it is balanced, stays too long in one area,
leaves one untouched, or drifts. Pure: what was judged is an argument.
"""

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from reveries.index.terms import terms_of
from reveries.projects.model import Orientation, SkillNode, TaskStatus, WorkTask

LEAST_SCORE: Final = 0.15
"""A task below it seems off track. A single shared word lifts a task to it, and so does a cosine of as much."""
_RECENT: Final = 5
_DRIFT: Final = 2
"""So many of the last five tasks off track are drift: one may be an excursion that pays."""
_SAME_AREA: Final = 3
"""As many newest tasks as the balance of V-79 looks at."""
_MOST_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Coherence:
    """How the tasks of the active goal that were begun keep to it."""

    begun: int = 0
    off_track: tuple[str, ...] = ()
    """The warnings, one a task, oldest first: title and why."""
    is_drifting: bool = False
    same_area: str = ""
    """The area of the last three finished tasks, while others wait; empty: they are balanced."""
    untouched: tuple[str, ...] = ()
    """Areas that could be begun, for which there is no task."""

    @property
    def score(self) -> float | None:
        """The share of begun tasks that serve the goal, 0 to 1; None before the first."""
        return (self.begun - len(self.off_track)) / self.begun if self.begun else None


def score_task(task: WorkTask, goal: str, orientation: Orientation, cosine: float) -> float:
    """Return how much `task` has to do with the goal, 0 to 1: by the share of its words that goal, criteria and skill
    map have, or by the `cosine` of its meaning and that of the goal, whichever is more."""
    own = _words_of(task, goal)
    if not own:
        return max(0.0, min(1.0, cosine)) if _words_of(task, "") else 1.0
    share = len(own & _goal_words(goal, orientation, task)) / len(own)
    by_words = LEAST_SCORE + (1.0 - LEAST_SCORE) * share if share else 0.0
    return max(0.0, min(1.0, max(by_words, cosine)))


def shares_words(task: WorkTask, goal: str, orientation: Orientation) -> bool:
    """Whether words alone show that the task serves the goal."""
    return not _words_of(task, "") or bool(_words_of(task, goal) & _goal_words(goal, orientation, task))


def measure_coherence(
    goal_id: str, tasks: Sequence[WorkTask], orientation: Orientation, begun: Set[str], warned: Mapping[str, str]
) -> Coherence:
    """Measure the tasks of a goal. `begun`: ids of those that were judged and begun; `warned`: why, by id."""
    own = [task for task in tasks if task.goal_id == goal_id and task.status is not TaskStatus.DROPPED]
    judged = sorted((task for task in own if task.id in begun), key=lambda task: task.started_at or task.created_at)
    recent = judged[-_RECENT:]
    return Coherence(
        begun=len(judged),
        off_track=tuple(warned[task.id] for task in judged if task.id in warned),
        is_drifting=sum(task.id in warned for task in recent) >= _DRIFT,
        same_area=_same_area(own),
        untouched=tuple(node.skill for node in orientation.skill_map if _is_untouched(node, orientation, own)),
    )


def describe_coherence(coherence: Coherence) -> list[str]:
    """Describe what does not keep to the goal, a sentence each; empty if all does."""
    notes = [f"Off track? {warning}" for warning in coherence.off_track[-_MOST_NAMED:]]
    if coherence.is_drifting:
        notes.append("It drifts: several of the last tasks do not seem to serve the goal.")
    if coherence.same_area:
        notes.append(f"The last {_SAME_AREA} tasks were all about {coherence.same_area}, while others wait.")
    if coherence.untouched:
        more = len(coherence.untouched) - _MOST_NAMED
        named = ", ".join(coherence.untouched[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        notes.append(f"There is no task yet for: {named}.")
    return notes


def _words_of(task: WorkTask, goal: str) -> set[str]:
    """The words of a task, but for the goal that its description quotes: whoever quotes it need not serve it."""
    description = " ".join(task.description.split())
    quoted = re.compile(re.escape(" ".join(goal.split())), re.IGNORECASE) if goal.strip() else None
    own = quoted.sub(" ", description) if quoted is not None else description
    return set(terms_of(f"{task.title} {own}"))


def _goal_words(goal: str, orientation: Orientation, task: WorkTask) -> set[str]:
    """The words of the goal, its criteria and its areas, but for the area of the task: a plan names both, so that the
    one says nothing for the other."""
    areas = [node.skill for node in orientation.skill_map if node.skill.casefold() != task.skill_area.casefold()]
    return set(terms_of(" ".join([goal, *(criterion.text for criterion in orientation.success_criteria), *areas])))


def _same_area(tasks: Sequence[WorkTask]) -> str:
    done = [task for task in tasks if task.status is TaskStatus.DONE and task.completed_at is not None]
    newest = sorted(done, key=lambda task: task.completed_at or 0.0)[-_SAME_AREA:]
    areas = [task.skill_area.casefold() for task in newest]
    is_same = len(areas) == _SAME_AREA and all(area == other for area, other in pairwise(areas))
    others_wait = any(task.status is TaskStatus.READY and task.skill_area.casefold() not in areas for task in tasks)
    return newest[-1].skill_area if is_same and others_wait else ""


def _is_untouched(node: SkillNode, orientation: Orientation, tasks: Sequence[WorkTask]) -> bool:
    achieved = {other.skill.casefold() for other in orientation.skill_map if other.status == "achieved"}
    can_begin = node.status == "not_started" and all(
        dependency.casefold() in achieved for dependency in node.dependencies
    )
    return can_begin and not any(task.skill_area.casefold() == node.skill.casefold() for task in tasks)
