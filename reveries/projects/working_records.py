"""Arguments and results of the working tools, with the names and fields of the specification."""

from typing import Annotated, Any, Literal

import msgspec

from reveries.projects.model import OwnerQuestion, Project, WorkLogEntry, WorkTask
from reveries.projects.task_days import say_repeat
from reveries.protocol import copy_fields

_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
_Title = Annotated[str, msgspec.Meta(min_length=1, max_length=300)]
_Text = Annotated[str, msgspec.Meta(max_length=8_000)]
_Words = Annotated[str, msgspec.Meta(min_length=1, max_length=8_000)]
_Names = Annotated[list[_Name], msgspec.Meta(max_length=50)]
_Limit = Annotated[int, msgspec.Meta(ge=1, le=1000)]
_Status = Literal["ready", "in_progress", "blocked", "done"]
_Day = Annotated[str, msgspec.Meta(max_length=200)]


class _InProject(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    project_id: _Name


# --- arguments --------------------------------------------------------------------------------------------------------


class GetTasks(_InProject, frozen=True):
    """`limit`: so many of the newest; without it all."""

    status: _Status | None = None
    skill_area: str | None = None
    limit: _Limit | None = None


class CreateTask(_InProject, frozen=True):
    """`depends_on`: ids of the tasks that come first. `rests_on`: ids of the chunks that it takes for true: when one of
    them falls, the task is held. `due`: a day in words (9 December). `every`: how often it comes back (month)."""

    title: _Title
    description: _Text
    skill_area: Annotated[str, msgspec.Meta(max_length=100)]
    depends_on: _Names = []
    rests_on: _Names = []
    due: _Day = ""
    every: _Day = ""


class TaskUpdates(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`blocked_by`: all the questions that it waits for from now on; with none it waits for none. `position`: its place
    among the open tasks, from 1. An empty `due` or `every` is removed."""

    status: _Status | Literal["dropped"] | None = None
    blocked_by: _Names | None = None
    description: _Text | None = None
    outcome: _Text | None = None
    rests_on: _Names | None = None
    title: _Title | None = None
    due: _Day | None = None
    every: _Day | None = None
    position: Annotated[int, msgspec.Meta(ge=1, le=10_000)] | None = None


class UpdateTask(_InProject, frozen=True):
    task_id: _Name
    updates: TaskUpdates


class GetQuestions(_InProject, frozen=True):
    """`limit`: so many of the newest; without it all."""

    status: Literal["open", "answered"] | None = None
    since: float | None = None
    limit: _Limit | None = None


class CreateQuestion(_InProject, frozen=True):
    question: _Words
    context: _Text
    blocks_tasks: _Names = []


class GiveAnswer(_InProject, frozen=True):
    question_id: _Name
    answer: _Words


class GetBlockers(_InProject, frozen=True):
    """`limit`: so many of the newest; without it all."""

    limit: _Limit | None = None


class LogActivity(_InProject, frozen=True):
    action: _Title
    details: _Text | None = None


class GetRecentActivity(_InProject, frozen=True):
    limit: Annotated[int, msgspec.Meta(ge=1, le=200)] = 20


# --- results ----------------------------------------------------------------------------------------------------------


class TaskOut(msgspec.Struct, frozen=True):
    """A task (V-44). `held_because`: what it rests on fell before it was done; `flagged_because`: after it."""

    id: str
    project_id: str
    title: str
    description: str
    status: str
    skill_area: str
    depends_on: list[str]
    blocked_by: list[str]
    outcome: str | None
    created_at: float
    updated_at: float
    started_at: float | None
    completed_at: float | None
    failure_reason: str | None
    failure_context: str | None
    rests_on: list[str]
    held_because: str
    flagged_because: str
    foreign_sources: list[str]
    due: str | None = None
    repeats: str | None = None
    made_by: str = "mind"
    is_owners: bool = False


class QuestionOut(msgspec.Struct, frozen=True):
    """A question (V-45). Only one of the kind `question` is answered by a program; the others are the owner's."""

    id: str
    project_id: str
    kind: str
    question: str
    context: str
    status: str
    answer: str | None
    blocks_tasks: list[str]
    asked_at: float
    answered_at: float | None
    foreign_sources: list[str]


class ActivityOut(msgspec.Struct, frozen=True):
    """A line of the log (V-49). `source`: the program that wrote it; empty: the mind itself."""

    id: int
    project_id: str
    action: str
    details: str | None
    timestamp: float
    source: str


class BlockerOut(msgspec.Struct, frozen=True):
    """Why a task waits: for questions, for other tasks, or for the owner's word on what it rests on. `blocked_by`:
    those questions, or those tasks, each with all its fields."""

    task: TaskOut
    blocker_type: Literal["question", "dependency", "premise"]
    blocked_by: list[dict[str, Any]]
    reason: str


class TasksOut(msgspec.Struct, frozen=True):
    project: str
    tasks: list[TaskOut]


class OneTaskOut(msgspec.Struct, frozen=True):
    project: str
    task: TaskOut


class QuestionsOut(msgspec.Struct, frozen=True):
    project: str
    questions: list[QuestionOut]


class OneQuestionOut(msgspec.Struct, frozen=True):
    project: str
    question: QuestionOut


class AnsweredOut(msgspec.Struct, frozen=True):
    project: str
    question: QuestionOut
    unblocked_tasks: list[TaskOut]


class BlockersOut(msgspec.Struct, frozen=True):
    project: str
    blockers: list[BlockerOut]


class LoggedOut(msgspec.Struct, frozen=True):
    project: str
    activity_id: int


class ActivitiesOut(msgspec.Struct, frozen=True):
    project: str
    activities: list[ActivityOut]


def task_out(task: WorkTask) -> TaskOut:
    return copy_fields(
        TaskOut,
        task,
        depends_on=list(task.needs),
        outcome=task.outcome or None,
        failure_reason=task.failure or None,
        failure_context=task.audit or None if task.failure else None,
        due=task.due or None,
        repeats=say_repeat(task.repeats) or None,
        is_owners=task.is_mine,
    )


def question_out(question: OwnerQuestion) -> QuestionOut:
    return copy_fields(QuestionOut, question, answer=question.answer or None, blocks_tasks=list(question.blocks))


def activity_out(project: Project, entry: WorkLogEntry) -> ActivityOut:
    action, details, source = entry.action, entry.details, ""
    if entry.is_foreign:
        source = entry.action
        action, _, details = entry.details.partition("\n")
    return ActivityOut(entry.id, project.id, action, details or None, entry.happened_at, source)
