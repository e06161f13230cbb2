"""Planning: three to seven tasks under a schema, without cycles; a default plan if the model gives none.

V-77, V-78."""

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Annotated

import msgspec

from reveries.llm.tier import Tier
from reveries.projects.model import Goal, TaskKind, TaskStatus, WorkTask
from reveries.projects.prompt_material import Material, describe_tasks
from reveries.projects.work_model import WorkModel
from reveries.prompts import prompt
from reveries.safe_text import one_line

FEWEST_TASKS = 3
MOST_TASKS = 7
_ANSWER_TOKENS = 1100
_SMALL_KINDS = (TaskKind.FIND_OUT, TaskKind.READ, TaskKind.COMPARE, TaskKind.WRITE, TaskKind.ASK)
_LONGEST_TITLE = 120


class PlannedTask(msgspec.Struct, frozen=True):
    """A task in a plan; `depends_on` are positions in the plan, counted from 1."""

    title: Annotated[str, msgspec.Meta(min_length=3, max_length=_LONGEST_TITLE)]
    description: str
    kind: TaskKind
    skill_area: str
    depends_on: tuple[int, ...] = ()
    rests_on: tuple[str, ...] = ()


class Plan(msgspec.Struct, frozen=True):
    tasks: Annotated[tuple[PlannedTask, ...], msgspec.Meta(min_length=FEWEST_TASKS, max_length=MOST_TASKS)]


async def plan_tasks(
    model: WorkModel, goal: Goal, material: Material, tasks: Sequence[WorkTask], missing: str = ""
) -> tuple[PlannedTask, ...]:
    """What comes next, in an order in which each task comes after those it depends on. `rests_on` holds chunk ids.
    `missing`: what the owner said is missing, where the last plan was done."""
    done = [one for one in tasks if one.status is TaskStatus.DONE]
    text = prompt(
        "plan",
        owner=model.owner,
        goal=goal.text,
        orientation=material.orientation,
        known=material.known,
        done=describe_tasks(done),
    )
    answer = await model.ask("plan", text, Plan, tokens=_ANSWER_TOKENS)
    planned = check_plan(answer.tasks if answer else (), tasks, material, model.tier)
    return planned or plain_plan(goal, is_first=not done, missing=missing)


def check_plan(
    planned: Sequence[PlannedTask], tasks: Sequence[WorkTask], material: Material, tier: Tier
) -> tuple[PlannedTask, ...]:
    """The plan without what cannot be: tasks that are there already, dependencies that go round or lead nowhere.
    Empty where fewer than three are left. Pure."""
    there = {_plain(one.title) for one in tasks if one.status is not TaskStatus.DROPPED}
    kept: list[tuple[int, PlannedTask]] = []
    for number, task in enumerate(planned, 1):
        title = _plain(task.title)
        if title and title not in there:
            there.add(title)
            kept.append((number, task))
    if len(kept) < FEWEST_TASKS:
        return ()
    return tuple(_fit_tier(task, tier) for task in order_plan(kept, material))


def order_plan(kept: Sequence[tuple[int, PlannedTask]], material: Material) -> list[PlannedTask]:
    """Each task after those it depends on, dependencies as places in what is returned. Where they go round, only those
    on tasks that stood before it count. Pure."""
    numbers = [number for number, _ in kept]
    graph = {number: [one for one in task.depends_on if one in numbers and one != number] for number, task in kept}
    try:
        ranks = {number: rank for rank, number in enumerate(TopologicalSorter(graph).static_order())}
    except CycleError:
        graph = {number: [one for one in needs if one < number] for number, needs in graph.items()}
        ranks = {number: number for number in numbers}
    ordered = sorted(kept, key=lambda one: ranks[one[0]])
    places = {number: place for place, (number, _) in enumerate(ordered, 1)}
    return [
        msgspec.structs.replace(
            task,
            depends_on=tuple(sorted({places[one] for one in graph[number]})),
            rests_on=tuple(material.names[name] for name in task.rests_on if name in material.names),
        )
        for number, task in ordered
    ]


def _fit_tier(task: PlannedTask, tier: Tier) -> PlannedTask:
    """With a small model, which follows recipes, turn a task of unknown kind into one of finding out."""
    if tier is not Tier.CAPABLE and task.kind not in _SMALL_KINDS:
        return msgspec.structs.replace(task, kind=TaskKind.FIND_OUT)
    return task


def plain_plan(goal: Goal, *, is_first: bool, missing: str = "") -> tuple[PlannedTask, ...]:
    """Where no model brought a plan: what the owner said is missing; else what is known, what the owner says, and one
    page of both."""
    of_goal = f"For the goal: {goal.text}"
    if missing:
        return (PlannedTask(one_line(missing, _LONGEST_TITLE), of_goal, TaskKind.FIND_OUT, "overview"),)
    again = "" if is_first else " now"
    return (
        PlannedTask(f"Take notes of what is known{again}", of_goal, TaskKind.READ, "overview"),
        PlannedTask(f"Ask what the next step is{again}", of_goal, TaskKind.ASK, "overview"),
        PlannedTask(
            f"Write one page on where it stands{again}", of_goal, TaskKind.WRITE, "overview", depends_on=(1, 2)
        ),
    )


def _plain(title: str) -> str:
    return " ".join(title.lower().split()).rstrip(".")
