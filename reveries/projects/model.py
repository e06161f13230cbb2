"""What a project is made of (V-39..V-51, V-76)."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

import msgspec

PROGRAM_PREFIX: Final = "mcp:"
"""Of a foreign source that is a program outside: `mcp:NAME`."""


class Phase(StrEnum):
    """Where the work as a whole stands (V-43)."""

    INTAKE = "intake"
    RESEARCH = "research"
    PLANNING = "planning"
    EXECUTION = "execution"
    REFINEMENT = "refinement"
    COMPLETE = "complete"


class TaskStatus(StrEnum):
    READY = "ready"
    IN_PROGRESS = "in_progress"
    BLOCKED = "blocked"
    DONE = "done"
    DROPPED = "dropped"


class TaskKind(StrEnum):
    """What a task asks for: a small model walks a recipe for each."""

    FIND_OUT = "find_out"
    READ = "read"
    COMPARE = "compare"
    WRITE = "write"
    ASK = "ask"
    OTHER = "other"


class QuestionKind(StrEnum):
    QUESTION = "question"
    DECISION = "decision"
    APPROVAL = "approval"


class QuestionStatus(StrEnum):
    OPEN = "open"
    ANSWERED = "answered"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Project:
    id: str
    name: str
    state: str
    created_at: float
    last_wake_at: float | None
    last_worked_at: float | None
    rested_because: str
    """Why its last wake ended."""
    rewrite_due: tuple[str, ...]
    """What made a new orientation due since the last one was written."""
    folder: str = ""
    """The one folder that its tools see; empty: none."""
    may_write: bool = False
    """Whether they may change it."""


@dataclass(frozen=True, slots=True)
class Goal:
    id: str
    text: str
    state: str
    said_at: float
    dollars_limit: float | None


@dataclass(frozen=True, slots=True)
class WorkTask:
    """A piece of work (V-44)."""

    id: str
    project_id: str
    goal_id: str | None
    title: str
    description: str
    kind: TaskKind
    status: TaskStatus
    skill_area: str = ""
    needs: tuple[str, ...] = ()
    """Ids of the tasks that come first."""
    blocked_by: tuple[str, ...] = ()
    """Ids of the open questions that it waits for."""
    rests_on: tuple[str, ...] = ()
    """Ids of the chunks that it rests on."""
    outcome: str = ""
    audit: str = ""
    tries: int = 0
    failure: str = ""
    held_because: str = ""
    flagged_because: str = ""
    created_at: float = 0.0
    updated_at: float = 0.0
    started_at: float | None = None
    completed_at: float | None = None
    try_began_at: float | None = None
    """When the try of the mind under way began, broken off and taken up again or not."""
    foreign_sources: frozenset[str] = frozenset()

    @property
    def is_in_hand(self) -> bool:
        """Whether the mind works on it now. What a program outside began is left to that program."""
        return self.status is TaskStatus.IN_PROGRESS and self.try_began_at is not None


@dataclass(frozen=True, slots=True)
class OwnerQuestion:
    """What the owner is to say (V-45)."""

    id: str
    project_id: str
    kind: QuestionKind
    question: str
    context: str
    status: QuestionStatus
    answer: str
    asked_at: float
    answered_at: float | None
    noted_at: float | None
    task_id: str | None = None
    context_tags: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()
    """Ids of the tasks that wait for it."""
    payload: str = "{}"
    """Of an approval: the call that waits for it (`approvals.HeldCall`)."""
    foreign_sources: frozenset[str] = frozenset()

    @property
    def answered_by(self) -> str:
        """The program outside that answered it, which is among its tags; empty: the owner, or nobody yet."""
        return next((tag for tag in self.context_tags if tag.startswith(PROGRAM_PREFIX)), "")


@dataclass(frozen=True, slots=True)
class WorkLogEntry:
    """A line of the rolling log (V-49)."""

    action: str
    details: str
    happened_at: float
    task_id: str | None = None
    skill_area: str = ""
    id: int = 0

    @property
    def is_foreign(self) -> bool:
        """Whether a program outside wrote it: then its words stand before no model."""
        return self.action.startswith(PROGRAM_PREFIX)


@dataclass(frozen=True, slots=True)
class WorkStep:
    """One call within a try of a task: of a model, or of a tool, which has a reach."""

    attempt: int
    tool: str
    arguments: str
    result: str
    state: str
    began_at: float
    reach: str = ""
    exit_code: int | None = None
    """Of a command."""
    sha256: str = ""
    """Of all that a command said, or of the file that was written."""
    path: str = ""
    foreign_sources: frozenset[str] = frozenset()


# --- orientation: one page, kept as JSON (V-39..V-42) -----------------------------------------------------------------


class Criterion(msgspec.Struct, frozen=True):
    """How one will see that the goal is reached."""

    text: str
    rests_on: tuple[str, ...] = ()
    flagged_because: str = ""


class SkillNode(msgspec.Struct, frozen=True):
    skill: str
    status: str = "not_started"
    parent: str | None = None
    dependencies: tuple[str, ...] = ()
    notes: str = ""


class KeyDecision(msgspec.Struct, frozen=True):
    decision: str
    reasoning: str
    date: float
    rests_on: tuple[str, ...] = ()
    flagged_because: str = ""


class AreaProgress(msgspec.Struct, frozen=True):
    area: str
    status: str
    percent: int | None = None
    blockers: tuple[str, ...] = ()


class Orientation(msgspec.Struct, frozen=True):
    vision_summary: str
    success_criteria: tuple[Criterion, ...] = ()
    constraints: tuple[str, ...] = ()
    skill_map: tuple[SkillNode, ...] = ()
    current_phase: Phase = Phase.INTAKE
    key_decisions: tuple[KeyDecision, ...] = ()
    active_priorities: tuple[str, ...] = ()
    progress_snapshot: tuple[AreaProgress, ...] = ()


@dataclass(frozen=True, slots=True)
class OrientationVersion:
    version: int
    trigger: str
    written_at: float
    content: Orientation
    foreign_sources: frozenset[str] = frozenset()


class AgentStatus(StrEnum):
    """What a project can do now (V-76)."""

    READY = "ready"
    WAITING = "waiting_for_user"
    COMPLETE = "complete"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class AgentState:
    """Where a project stands, from rows alone (V-75)."""

    project: Project
    status: AgentStatus
    message: str
    goal: Goal | None
    pending_goal: Goal | None
    orientation: OrientationVersion
    queue: tuple[WorkTask, ...]
    """What can be done now, first things first."""
    tasks: tuple[WorkTask, ...]
    questions: tuple[OwnerQuestion, ...]
    """All of them; open ones are `open_questions`."""
    activities: tuple[WorkLogEntry, ...] = field(default=())
    """The mind's own last ten, newest first."""
    plans_since_word: int = 0
    """How often it planned since the owner's last word."""

    @property
    def session_id(self) -> str:
        """Of this wake: what is found together in one is counted once (V-57)."""
        return f"wake {self.project.last_wake_at or 0.0:.3f}"

    @property
    def open_questions(self) -> tuple[OwnerQuestion, ...]:
        return tuple(one for one in self.questions if one.status is QuestionStatus.OPEN)
