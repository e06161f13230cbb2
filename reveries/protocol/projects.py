"""What a client asks of projects: goals, tasks, questions, where they stand, and the work on them."""

from typing import Annotated, Literal

import msgspec

from reveries.protocol.message import Answer, Ok, Request, RunId
from reveries.protocol.registry import request

ProjectName = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
FolderPath = Annotated[str, msgspec.Meta(max_length=1000)]
GrantName = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
GoalText = Annotated[str, msgspec.Meta(max_length=1_000_000)]


class ProjectLine(msgspec.Struct, frozen=True):
    """A project at a glance."""

    project_id: str
    name: str
    state: str
    status: str
    goal: str
    phase: str
    percent: int
    next_task: str
    open_questions: int
    rested_because: str
    last_worked_at: float
    dollars: float
    tokens: int
    folder: str = ""
    """The one folder that its tools see; empty: none."""
    may_write: bool = False


class Projects(Answer, frozen=True):
    projects: list[ProjectLine]


class TaskEntry(msgspec.Struct, frozen=True):
    """A task. `waits_for` says why it is blocked, in words."""

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
    """Whose text it is made of, where that can be said: `mcp:claude-code`, `folder`."""


class WorkEntry(msgspec.Struct, frozen=True):
    """A line of a project's log."""

    happened_at: float
    action: str
    details: str
    entry_id: str = ""
    task_id: str = ""


class ProjectDetail(Answer, frozen=True):
    """Where a project stands."""

    project: ProjectLine
    message: str
    orientation: str
    """The page, in words."""
    doubts: list[str]
    """What is uncertain: held and flagged tasks, criteria and decisions that rest on something that fell."""
    tasks: list[TaskEntry]
    questions: list[QuestionEntry]
    log: list[WorkEntry]


class OrientationEntry(msgspec.Struct, frozen=True):
    version: int
    trigger: str
    written_at: float
    text: str


class Orientations(Answer, frozen=True):
    """Newest first."""

    versions: list[OrientationEntry]


class ChunkEntry(msgspec.Struct, frozen=True):
    chunk_id: str
    title: str
    content: str
    type: str
    confidence: str
    fell_because: str
    sources: list[str]
    created_at: float = 0.0
    superseded_by: str = ""
    """The id of the newer chunk that says it otherwise."""
    why: str = ""
    """By what a search found it, in words."""


class RelationEntry(msgspec.Struct, frozen=True):
    """How one chunk stands to another. `archived` says why it was put away, "" while it counts."""

    relation_id: str
    from_id: str
    from_text: str
    type: str
    to_id: str
    to_text: str
    weight: float
    is_implicit: bool
    archived: str


class Chunks(Answer, frozen=True):
    """`plan` is the kind of question that a query was taken for; `message` answers one about the work itself."""

    chunks: list[ChunkEntry]
    plan: str = ""
    message: str = ""
    relations: tuple[RelationEntry, ...] = ()


class ProjectRelations(Answer, frozen=True):
    """The strongest first."""

    relations: list[RelationEntry]


class ProjectConflict(msgspec.Struct, frozen=True):
    """Two things that a project knows and that do not go together. `found_by`: stated, rule, model, or likeness alone,
    which nobody has verified. `settled` is empty while it is open."""

    conflict_id: str
    project: str
    older: ChunkEntry
    newer: ChunkEntry
    found_by: str
    settled: str


class ProjectConflicts(Answer, frozen=True):
    """The last found first."""

    conflicts: list[ProjectConflict]


class OpenQuestions(Answer, frozen=True):
    questions: list[QuestionEntry]


class QuestionAnswered(Answer, frozen=True):
    project: str
    question: str


class Worked(Answer, frozen=True):
    """A wake of a project ended, or none was possible: why."""

    project: str
    reason: str
    message: str


class StepEntry(msgspec.Struct, frozen=True):
    attempt: int
    tool: str
    result: str
    state: str
    began_at: float
    reach: str = ""
    """Of a tool: look, inside or out; empty: a call of the model."""
    arguments: str = ""
    exit_code: int | None = None
    sha256: str = ""
    """Of all that a command said, or of the file that was written."""
    path: str = ""


class TaskTrace(Answer, frozen=True):
    """Why a task came to what it came to: its steps, what it rests on word for word, what the auditor said."""

    task: TaskEntry
    audit: str
    failure: str
    rests_on: list[ChunkEntry]
    steps: list[StepEntry]


class GrantEntry(msgspec.Struct, frozen=True):
    """One thing that the owner allowed. `kind`: tool, source, call (this one alone) or denial."""

    grant_id: str
    kind: str
    name: str
    task: str
    """Within this task alone; empty: in the whole project."""
    given_at: float


class Grants(Answer, frozen=True):
    """What a project may do beyond its folder."""

    project: str
    grants: list[GrantEntry]


class TaskUndone(Answer, frozen=True):
    """A folder is as it was before a task. `left`: changed by somebody else since, or nobody knows by
    whom, and left as they are."""

    task: str
    restored: list[str]
    left: list[str]


class WorkHappened(Answer, frozen=True):
    """Something happened in the work; `request_id` is that of the watcher."""

    project: str
    action: str
    words: str


@request(answer=Projects, safe=True, large=True)
class AskProjects(Request, frozen=True):
    """All projects at a glance. Answered by `Projects`."""


@request(answer=ProjectDetail, safe=True, large=True)
class AskProject(Request, frozen=True):
    """Where one stands. `limit`: so many lines of its log. Answered by `ProjectDetail`."""

    project: ProjectName
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 20


@request(answer=ProjectDetail)
class CreateProject(Request, frozen=True):
    """A new project. `folder`: the one that its tools see; it is made where it is not there, and then may be written
    to. Answered by `ProjectDetail`."""

    name: ProjectName
    folder: FolderPath = ""
    may_write: bool = False


@request(answer=ProjectDetail)
class SetProjectFolder(Request, frozen=True):
    """Another folder for its tools, or none; from the next task on. Answered by `ProjectDetail`."""

    project: ProjectName
    folder: FolderPath
    may_write: bool = False


@request(answer=TaskUndone)
class UndoTask(Request, frozen=True):
    """Give the folder back as it was before a task. Answered by `TaskUndone`."""

    project: ProjectName
    task: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]


@request(answer=Grants, safe=True)
class AskGrants(Request, frozen=True):
    """What a project may do beyond its folder. Answered by `Grants`."""

    project: ProjectName


@request(answer=Grants)
class GiveGrant(Request, frozen=True):
    """Allow a tool (fetch, web_search) or a source (folder, web:example.org). Answered by `Grants`."""

    project: ProjectName
    name: GrantName


@request(answer=Grants)
class RevokeGrant(Request, frozen=True):
    """Take a grant back; `name`: or the beginning of its id. Answered by `Grants`."""

    project: ProjectName
    name: GrantName


@request(answer=ProjectDetail)
class SetGoal(Request, frozen=True):
    """What a project is for, from the next task on; `dollars_limit` 0: what the budget leaves. Answered by
    `ProjectDetail`."""

    project: ProjectName
    text: GoalText
    dollars_limit: Annotated[float, msgspec.Meta(ge=0, le=1e6)] = 0.0


@request(answer=ProjectDetail)
class ChangeProject(Request, frozen=True):
    """Hold a project, let it go on, or put it away. Answered by `ProjectDetail`."""

    project: ProjectName
    state: Literal["active", "paused", "archived"]


@request(answer=Chunks)
class AddMaterial(Request, frozen=True):
    """Let a project know a text, a section a chunk; what others wrote is foreign. Answered by `Chunks`."""

    project: ProjectName
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    text: Annotated[str, msgspec.Meta(min_length=1, max_length=1_000_000)]
    is_own: bool = False
    """The owner wrote it."""


@request(answer=Chunks, safe=True, large=True)
class AskChunks(Request, frozen=True):
    """What a project knows; with `query` the best fits, with `chunk_id` this chunk. Answered by `Chunks`."""

    project: ProjectName
    query: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=500)] = 50
    until: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    chunk_id: Annotated[str, msgspec.Meta(max_length=100)] = ""
    """As it was known then (unix seconds); 0: now."""


@request(answer=ProjectRelations, safe=True, large=True)
class AskRelations(Request, frozen=True):
    """How what a project knows hangs together; `chunk_id`: of this one alone. Answered by `ProjectRelations`."""

    project: ProjectName
    chunk_id: Annotated[str, msgspec.Meta(max_length=100)] = ""
    with_archived: bool = False
    limit: Annotated[int, msgspec.Meta(ge=1, le=5000)] = 500


@request(answer=ProjectRelations)
class RestoreRelation(Request, frozen=True):
    """Let an archived relation count again; `relation_id`: or its beginning. Answered by `ProjectRelations`."""

    project: ProjectName
    relation_id: RunId


@request(answer=ProjectConflicts)
class SettleProjectConflict(Request, frozen=True):
    """Which of two things holds that do not go together. Answered by `ProjectConflicts`, with that one."""

    conflict_id: RunId
    keep: Literal["earlier", "later", "both"]


@request(answer=ProjectConflicts, safe=True, large=True)
class AskProjectConflicts(Request, frozen=True):
    """What does not go together in what projects know. Answered by `ProjectConflicts`."""

    with_settled: bool = False


@request(answer=ProjectDetail)
class RetractChunk(Request, frozen=True):
    """Something that a project took for true is not: what rests on it is held and flagged. Answered by
    `ProjectDetail`."""

    project: ProjectName
    chunk_id: RunId
    why: Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]


@request(answer=Orientations, safe=True, large=True)
class AskOrientations(Request, frozen=True):
    """All versions of the page. Answered by `Orientations`."""

    project: ProjectName


@request(answer=ProjectDetail)
class RevertOrientation(Request, frozen=True):
    """Make an earlier version the newest. Answered by `ProjectDetail`."""

    project: ProjectName
    version: Annotated[int, msgspec.Meta(ge=1)]


@request(answer=OpenQuestions, safe=True, large=True)
class AskOpenQuestions(Request, frozen=True):
    """What all projects want to know. Answered by `OpenQuestions`."""


@request(answer=QuestionAnswered)
class AnswerQuestion(Request, frozen=True):
    """The owner's word on a question; `question_id` may be the beginning of one. Answered by `QuestionAnswered`."""

    question_id: RunId
    answer: Annotated[str, msgspec.Meta(max_length=1_000_000)]


@request(answer=TaskTrace, safe=True, large=True)
class AskTaskTrace(Request, frozen=True):
    """Why a task came to what it came to; `task` may be the beginning of its id or of its title. Answered by
    `TaskTrace`."""

    project: ProjectName
    task: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]


class WorkRequested(Answer, frozen=True):
    """It will be worked on as soon as nobody talks."""

    project: str


@request(answer=WorkRequested)
class RequestWork(Request, frozen=True):
    """A wake of `project` as soon as nobody talks, without waiting for it. Answered by `WorkRequested`."""

    project: Annotated[str, msgspec.Meta(max_length=200)] = ""


@request(answer=Worked)
class WorkNow(Request, frozen=True):
    """One wake now: of `project`, or, where it is empty, of the one that waited longest. Answered by `Worked` when the
    wake ends."""

    project: Annotated[str, msgspec.Meta(max_length=200)] = ""


@request(answer=Ok)
class WatchWork(Request, frozen=True):
    """The work as it goes: `WorkHappened` until cancelled."""
