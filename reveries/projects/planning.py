"""The tasks of a plan: one to seven, without what is there already and without cycles (V-78). Pure."""

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Annotated

import msgspec

from reveries.projects.model import TaskKind, TaskStatus, WorkTask
from reveries.projects.prompt_material import Material

MOST_TASKS = 7
_LONGEST_TITLE = 120


class PlannedTask(msgspec.Struct, frozen=True):
    """A task in a plan; `depends_on` are positions in the plan, counted from 1."""

    title: Annotated[str, msgspec.Meta(min_length=3, max_length=_LONGEST_TITLE)]
    description: str
    kind: TaskKind
    skill_area: str
    depends_on: tuple[int, ...] = ()
    rests_on: tuple[str, ...] = ()


def check_plan(
    planned: Sequence[PlannedTask], tasks: Sequence[WorkTask], material: Material, goal_id: str
) -> tuple[PlannedTask, ...]:
    """The plan without what cannot be: tasks that are there already, or were left out for the same goal, dependencies
    that go round or lead nowhere.
    Empty where none is left. Pure."""
    titles = {
        _plain(earlier.title)
        for earlier in tasks
        if earlier.status is not TaskStatus.DROPPED or earlier.goal_id == goal_id
    }
    kept: list[tuple[int, PlannedTask]] = []
    for number, task in enumerate(planned, 1):
        title = _plain(task.title)
        if title and title not in titles:
            titles.add(title)
            kept.append((number, task))
    return tuple(order_plan(kept, material))


def order_plan(kept: Sequence[tuple[int, PlannedTask]], material: Material) -> list[PlannedTask]:
    """Each task after those it depends on, dependencies as places in what is returned. Where they go round, only those
    on tasks that stood before it count. Pure."""
    numbers = [number for number, _ in kept]
    graph = {
        number: [needed for needed in task.depends_on if needed in numbers and needed != number]
        for number, task in kept
    }
    try:
        ranks = {number: rank for rank, number in enumerate(TopologicalSorter(graph).static_order())}
    except CycleError:
        graph = {number: [needed for needed in needs if needed < number] for number, needs in graph.items()}
        ranks = {number: number for number in numbers}
    ordered = sorted(kept, key=lambda numbered: ranks[numbered[0]])
    places = {number: place for place, (number, _) in enumerate(ordered, 1)}
    return [
        msgspec.structs.replace(
            task,
            depends_on=tuple(sorted({places[needed] for needed in graph[number]})),
            rests_on=tuple(material.names[name] for name in task.rests_on if name in material.names),
        )
        for number, task in ordered
    ]


def _plain(title: str) -> str:
    return " ".join(title.lower().split()).rstrip(".")
