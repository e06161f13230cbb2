"""The order of tasks (V-79, V-80). Pure.

Six factors between 0 and 1, weighted as in V-80; the first five are defined as in V-79 (VA-17, VA-37, VA-38).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from reveries.projects.model import Orientation, Phase, WorkLogEntry, WorkTask

PRIORITY_WEIGHT = 10.0
GOAL_WEIGHT = 8.0
DEPENDENCY_WEIGHT = 5.0
PHASE_WEIGHT = 3.0
BALANCE_WEIGHT = 2.0
AGE_WEIGHT = 1.0

_MOST_PRIORITIES = 10
_RECENT = 3
_OLD_AFTER_SECONDS = 7 * 86400.0
_PHASE_WORDS = {Phase.RESEARCH: "research", Phase.EXECUTION: "practice"}


@dataclass(frozen=True, slots=True)
class PriorityFactors:
    """Each between 0 and 1."""

    priority: float
    goal: float
    dependency: float
    phase: float
    balance: float
    age: float

    @property
    def score(self) -> float:
        return (
            PRIORITY_WEIGHT * self.priority
            + GOAL_WEIGHT * self.goal
            + DEPENDENCY_WEIGHT * self.dependency
            + PHASE_WEIGHT * self.phase
            + BALANCE_WEIGHT * self.balance
            + AGE_WEIGHT * self.age
        )


def factors_of(
    task: WorkTask,
    orientation: Orientation,
    goal_id: str | None,
    done: frozenset[str],
    recent: Sequence[WorkLogEntry],
    now: float,
) -> PriorityFactors:
    """`done`: ids of the tasks that are; `recent`: activities, newest first."""
    words = f"{task.skill_area} {task.title}".lower()
    # V-79: + (10 - i) for each active priority i that is named; here a share of the most that one can give.
    named = [
        _MOST_PRIORITIES - place
        for place, priority in enumerate(orientation.active_priorities[:_MOST_PRIORITIES])
        if priority and priority.lower() in words
    ]
    areas = {recent_task.skill_area for recent_task in recent[:_RECENT] if recent_task.skill_area}
    wanted = _PHASE_WORDS.get(orientation.current_phase, "")
    return PriorityFactors(
        priority=min(1.0, sum(named) / _MOST_PRIORITIES),
        goal=1.0 if goal_id is not None and task.goal_id == goal_id else 0.0,
        dependency=1.0 if all(need in done for need in task.needs) else 0.0,
        phase=1.0 if wanted and wanted in task.title.lower() else 0.0,
        balance=0.0 if task.skill_area and task.skill_area in areas else 1.0,
        age=min(1.0, max(0.0, now - task.created_at) / _OLD_AFTER_SECONDS),
    )


def in_order(
    tasks: Sequence[WorkTask],
    orientation: Orientation,
    goal_id: str | None,
    done: frozenset[str],
    recent: Sequence[WorkLogEntry],
    now: float,
) -> list[WorkTask]:
    """Sort tasks as the owner put them, the others by score, highest first; equal ones by age, then by id."""
    scores = {task.id: factors_of(task, orientation, goal_id, done, recent, now).score for task in tasks}
    return sorted(tasks, key=lambda task: (_place(task), -scores[task.id], task.created_at, task.id))


def _place(task: WorkTask) -> float:
    return math.inf if task.position is None else task.position
