"""Messages about projects: goals, tasks, questions, knowledge, permissions, and the work on them."""

from typing import Annotated, Literal

import msgspec

from reveries.protocol.knowledge import ChunkEntry, Chunks
from reveries.protocol.message import Answer, Ok, Request, RunId
from reveries.protocol.project_notes import NotesOverview, ProjectName
from reveries.protocol.registry import request

FolderPath = Annotated[str, msgspec.Meta(max_length=1000)]
GrantName = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
GoalText = Annotated[str, msgspec.Meta(max_length=1_000_000)]
CriterionText = Annotated[str, msgspec.Meta(max_length=500)]


class ProjectLine(msgspec.Struct, frozen=True):
    project_id: str
    name: str
    state: str
    status: str
    goal: str
    phase: str
    tasks_done: int
    tasks: int
    """Without those that were dropped."""
    next_task: str
    open_questions: int
    rested_because: str
    last_worked_at: float
    dollars: float
    tokens: int
    criteria: int = 0
    criteria_shown: int = 0
    """How many the result of a task shows, of which nothing is in doubt."""
    folder: str = ""
    """The only folder that its tools can access; empty: none."""
    may_write: bool = False


class Projects(Answer, frozen=True):
    projects: list[ProjectLine]


class TaskEntry(msgspec.Struct, frozen=True):
    """A task. `waits_for` says in words why it is blocked."""

    task_id: str
    title: str
    description: str
    kind: str
    status: str
    skill_area: str
    outcome: str
    waits_for: str
    flagged_because: str
    is_tainted: bool
    due: str = ""
    """A day, or a day with a time, where the owner is: 2026-12-08T14:00; empty: none."""
    repeats: str = ""
    """How often it comes back after it is done, in words: every 2 weeks; empty: never."""
    made_by: str = ""
    """Who made it: mind, owner or program."""
    is_mine: bool = False
    """Whether the owner does it: nobody else works on it."""


class CriterionEntry(msgspec.Struct, frozen=True):
    """One of the facts by which one sees that a goal is reached."""

    text: str
    shown_by: str = ""
    """The task whose accepted result shows that it is reached; empty: nothing does."""
    flagged_because: str = ""


class QuestionEntry(msgspec.Struct, frozen=True):
    question_id: str
    project: str
    kind: str
    question: str
    context: str
    asked_at: float
    blocked_tasks: int
    is_tainted: bool
    sources: list[str] = []
    """Sources of the untrusted text in it, if known: `mcp:claude-code`, `folder`."""


class WorkEntry(msgspec.Struct, frozen=True):
    """A line of a project's log."""

    happened_at: float
    action: str
    details: str
    entry_id: str = ""
    task_id: str = ""


class ProjectDetail(Answer, frozen=True):
    """The state of a project."""

    project: ProjectLine
    message: str
    orientation: str
    """The orientation as text."""
    doubts: list[str]
    """What is uncertain: held and flagged tasks, criteria and decisions that rest on a retracted chunk."""
    tasks: list[TaskEntry]
    questions: list[QuestionEntry]
    log: list[WorkEntry]
    coherence: float | None = None
    """Share of the begun tasks of its goal that serve the goal, 0 to 1; None before the first."""
    begun: int = 0
    """How many tasks were begun."""
    coherence_notes: tuple[str, ...] = ()
    """Where it does not keep to the goal: tasks off track, drift, untouched areas."""
    ability: str = ""
    """What the model can and cannot do for it, in a sentence."""
    notes: NotesOverview = NotesOverview()
    criteria: tuple[CriterionEntry, ...] = ()
    """What is agreed on how the goal is seen to be reached."""


class OrientationEntry(msgspec.Struct, frozen=True):
    version: int
    trigger: str
    written_at: float
    text: str


class Orientations(Answer, frozen=True):
    """Newest first."""

    versions: list[OrientationEntry]


class OpenQuestions(Answer, frozen=True):
    questions: list[QuestionEntry]


class QuestionAnswered(Answer, frozen=True):
    project: str
    question: str
    resumed_tasks: int = 0
    """Tasks that waited for it and go on by themselves; none with a model that does nothing by itself."""


class Worked(Answer, frozen=True):
    """A wake of a project ended, or none was possible; `reason` and `message` say why."""

    project: str
    reason: str
    message: str


class StepEntry(msgspec.Struct, frozen=True):
    """One model or tool call within an attempt at a task."""

    attempt: int
    tool: str
    result: str
    state: str
    began_at: float
    reach: str = ""
    """For a tool call: look, inside or out; empty for a model call."""
    arguments: str = ""
    exit_code: int | None = None
    sha256: str = ""
    """Hash of a command's whole output, or of the written file."""
    path: str = ""


class TaskTrace(Answer, frozen=True):
    """How a task came to its outcome: its steps, the chunks it rests on word for word, the audit."""

    task: TaskEntry
    audit: str
    failure: str
    rests_on: list[ChunkEntry]
    steps: list[StepEntry]


class GrantEntry(msgspec.Struct, frozen=True):
    """One permission of the owner. `kind`: tool, source, call (a single call) or denial."""

    grant_id: str
    kind: str
    name: str
    task: str
    """The only task that it applies to; empty: the whole project."""
    given_at: float


class Grants(Answer, frozen=True):
    """What a project may do outside its folder."""

    project: str
    grants: list[GrantEntry]


class TaskUndone(Answer, frozen=True):
    """A folder was restored to its state before a task. `left`: files left unchanged because they were changed since by
    someone else or by an unknown writer."""

    task: str
    restored: list[str]
    left: list[str]


class WorkHappened(Answer, frozen=True):
    """An event in the work on a project; `request_id` is that of the `WatchWork` request."""

    project: str
    action: str
    words: str


@request(answer=Projects, safe=True, large=True)
class AskProjects(Request, frozen=True):
    """List all projects. Answered by `Projects`."""


@request(answer=ProjectDetail, safe=True, large=True)
class AskProject(Request, frozen=True):
    """The state of one project, with the last `limit` lines of its log. Answered by `ProjectDetail`."""

    project: ProjectName
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 20


@request(answer=ProjectDetail)
class CreateProject(Request, frozen=True):
    """Create a project. `folder`: the only folder that its tools can access; if it does not exist, it is created and
    writable. Answered by `ProjectDetail`."""

    name: ProjectName
    folder: FolderPath = ""
    may_write: bool = False


@request(answer=ProjectDetail)
class SetProjectFolder(Request, frozen=True):
    """Change or remove the folder that its tools can access, from the next task on. Answered by `ProjectDetail`."""

    project: ProjectName
    folder: FolderPath
    may_write: bool = False


@request(answer=TaskUndone)
class UndoTask(Request, frozen=True):
    """Restore the folder to its state before a task. Answered by `TaskUndone`."""

    project: ProjectName
    task: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]


@request(answer=Grants, safe=True)
class AskGrants(Request, frozen=True):
    """What a project may do outside its folder. Answered by `Grants`."""

    project: ProjectName


@request(answer=Grants)
class GiveGrant(Request, frozen=True):
    """Allow a tool (fetch, web_search) or a source (folder, web:example.org). Answered by `Grants`."""

    project: ProjectName
    name: GrantName


@request(answer=Grants)
class RevokeGrant(Request, frozen=True):
    """Revoke a grant; `name` may also be a unique prefix of its id. Answered by `Grants`."""

    project: ProjectName
    name: GrantName


@request(answer=ProjectDetail)
class SetGoal(Request, frozen=True):
    """Set the goal of a project, from the next task on; `dollars_limit` 0: no limit but the budget. The text of a
    goal that is not reached again changes only the limit; null leaves it, and is no limit for a new goal. What is said
    with it (how one sees that it is reached, by when, what else counts) is kept like answers. Answered by
    `ProjectDetail`."""

    project: ProjectName
    text: GoalText
    dollars_limit: Annotated[float, msgspec.Meta(ge=0, le=1e6)] | None = None
    success_criteria: Annotated[list[CriterionText], msgspec.Meta(max_length=20)] = msgspec.field(default_factory=list)
    timeline: Annotated[str, msgspec.Meta(max_length=500)] = ""
    context: Annotated[str, msgspec.Meta(max_length=4000)] = ""


@request(answer=ProjectDetail)
class ChangeProject(Request, frozen=True):
    """Pause, resume or archive a project. Answered by `ProjectDetail`."""

    project: ProjectName
    state: Literal["active", "paused", "archived"]


@request(answer=Chunks)
class AddMaterial(Request, frozen=True):
    """Add a text to a project's knowledge, one chunk for each section; it is untrusted unless `is_own`. Answered by
    `Chunks`."""

    project: ProjectName
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    text: Annotated[str, msgspec.Meta(min_length=1, max_length=1_000_000)]
    is_own: bool = False
    """The owner wrote it."""
    path: Annotated[str, msgspec.Meta(max_length=4096)] = ""
    """Where the file lies: the text added from there before is its earlier version. Without it, the one of this
    name."""


@request(answer=ProjectDetail)
class RetractChunk(Request, frozen=True):
    """Retract a chunk that is not true: what rests on it is held and flagged. Answered by `ProjectDetail`."""

    project: ProjectName
    chunk_id: RunId
    why: Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]


@request(answer=Orientations, safe=True, large=True)
class AskOrientations(Request, frozen=True):
    """All versions of the orientation. Answered by `Orientations`."""

    project: ProjectName


@request(answer=ProjectDetail)
class RevertOrientation(Request, frozen=True):
    """Store an earlier version as the newest. Answered by `ProjectDetail`."""

    project: ProjectName
    version: Annotated[int, msgspec.Meta(ge=1)]


@request(answer=OpenQuestions, safe=True, large=True)
class AskOpenQuestions(Request, frozen=True):
    """Open questions of all projects. Answered by `OpenQuestions`."""


@request(answer=QuestionAnswered)
class AnswerQuestion(Request, frozen=True):
    """The owner's answer to a question; `question_id` may be a unique prefix. Answered by `QuestionAnswered`."""

    question_id: RunId
    answer: Annotated[str, msgspec.Meta(max_length=1_000_000)]


@request(answer=TaskTrace, safe=True, large=True)
class AskTaskTrace(Request, frozen=True):
    """How a task came to its outcome; `task` may be a unique prefix of its id or title. Answered by `TaskTrace`."""

    project: ProjectName
    task: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]


class WorkRequested(Answer, frozen=True):
    """The project will be worked on as soon as the conversation is at rest."""

    project: str


@request(answer=WorkRequested)
class RequestWork(Request, frozen=True):
    """Schedule a wake of `project` for when the conversation is at rest, without waiting for it. Answered by
    `WorkRequested`."""

    project: Annotated[str, msgspec.Meta(max_length=200)] = ""


@request(answer=Worked)
class WorkNow(Request, frozen=True):
    """Run one wake now: of `project`, or, if empty, of the project that waited longest. Answered by `Worked` when the
    wake ends."""

    project: Annotated[str, msgspec.Meta(max_length=200)] = ""


@request(answer=Ok, before=(WorkHappened,), watch=True)
class WatchWork(Request, frozen=True):
    """Watch the work: `WorkHappened` events until cancelled."""
