"""Messages by which the owner steers the tasks of projects."""

from typing import Annotated, Literal

import msgspec

from reveries.protocol.message import Answer, Request
from reveries.protocol.project_notes import ProjectName
from reveries.protocol.projects import TaskEntry
from reveries.protocol.registry import request

TaskName = Annotated[str, msgspec.Meta(min_length=1, max_length=300)]
_Title = Annotated[str, msgspec.Meta(max_length=1000)]
_Day = Annotated[str, msgspec.Meta(max_length=200)]
_Text = Annotated[str, msgspec.Meta(max_length=20_000)]


class TasksChanged(Answer, frozen=True):
    """The tasks that were changed, as they are now, or that came of it; `message` says what was done."""

    project: str
    tasks: list[TaskEntry]
    message: str


@request(answer=TasksChanged)
class AddTask(Request, frozen=True):
    """Add a task of the owner's. `due`: a day in words (9 December, next Friday at 14:00); `every`: how often it comes
    back (Monday, month, 2 weeks, five fields of cron). `is_mine`: the owner does it, and nobody else works on it.
    Answered by `TasksChanged`."""

    project: ProjectName
    title: _Title
    description: _Text = ""
    due: _Day = ""
    every: _Day = ""
    is_mine: bool = False


class TaskEdit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is to change of a task; null: nothing. An empty `due` or `every` removes it."""

    title: _Title | None = None
    description: _Text | None = None
    due: _Day | None = None
    every: _Day | None = None
    is_mine: bool | None = None


@request(answer=TasksChanged)
class EditTask(Request, frozen=True):
    """Change an open task. `task`: a unique beginning of its id or title, or a part of its title that no other has.
    Answered by `TasksChanged`."""

    project: ProjectName
    task: TaskName
    edit: TaskEdit


@request(answer=TasksChanged)
class DropTasks(Request, frozen=True):
    """Drop open tasks, or tasks that notes propose; without names all that these propose. Answered by
    `TasksChanged`."""

    project: ProjectName
    tasks: Annotated[tuple[TaskName, ...], msgspec.Meta(max_length=500)] = ()


@request(answer=TasksChanged)
class MoveTask(Request, frozen=True):
    """Put an open task at a place among the open ones, counted from 1. Answered by `TasksChanged`."""

    project: ProjectName
    task: TaskName
    position: Annotated[int, msgspec.Meta(ge=1, le=10_000)]


@request(answer=TasksChanged)
class FinishTask(Request, frozen=True):
    """Say that a task is done, and what came of it. One that repeats comes back at its next day. Answered by
    `TasksChanged`."""

    project: ProjectName
    task: TaskName
    outcome: _Text = ""


@request(answer=TasksChanged)
class DecideWish(Request, frozen=True):
    """Apply or decline the change of a project that the owner's words in the conversation asked for last. Answered by
    `TasksChanged`."""

    decision: Literal["apply", "decline"]
