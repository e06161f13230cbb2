"""The data model of projects: goals, tasks, questions, log, orientation (V-39..V-51, V-76)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

import msgspec

from reveries.protocol import StepEntry

PROGRAM_PREFIX: Final = "mcp:"
"""Prefix of a foreign source that is an external program: `mcp:NAME`."""


class Phase(StrEnum):
    """The phase that a project is in (V-43)."""

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


class DraftMaker(StrEnum):
    """Who made a draft."""

    RULES = "rules"
    MODEL = "model"


class ProposalState(StrEnum):
    """What became of a task that a note proposes."""

    PROPOSED = "proposed"
    ACCEPTED = "accepted"
    DISMISSED = "dismissed"
    """The owner does not want it; it does not come back while its line is unchanged."""
    GONE = "gone"
    """Its line changed or is gone, and nobody had decided."""


class MadeBy(StrEnum):
    """Who made a task."""

    MIND = "mind"
    OWNER = "owner"
    PROGRAM = "program"


class AuditedBy(StrEnum):
    """Who says that the last outcome of a task is right."""

    NOBODY = ""
    AUDIT = "audit"
    """Code, or a model that judged the evidence."""
    OWNER = "owner"
    """Its owner calls it done: nobody else is asked."""
    PROGRAM = "program"
    """Its caller marked it done, and nobody checked it."""


class TaskKind(StrEnum):
    """What a task asks for; a small model follows one recipe per kind."""

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
    """Why its last wake ended; empty if the owner gave it something to do since."""
    rewrite_due: tuple[str, ...]
    """The triggers since the last orientation was written that make a new one due."""
    folder: str = ""
    """The only folder that its tools can access; empty: none."""
    may_write: bool = False
    """Whether its tools may change the folder."""


@dataclass(frozen=True, slots=True)
class Goal:
    id: str
    text: str
    state: str
    said_at: float
    dollars_limit: float | None


@dataclass(frozen=True, slots=True)
class TaskFile:
    """A file of the folder as a finished task left it, or found it."""

    path: str
    sha256: str
    is_made: bool
    """Whether the task made or changed it; else it was made from it."""


@dataclass(frozen=True, slots=True)
class NewTask:
    """A task to be stored."""

    title: str
    description: str
    kind: TaskKind
    skill_area: str = ""
    needs: tuple[str, ...] = ()
    """Ids of the tasks that must be done before it."""
    rests_on: tuple[str, ...] = ()
    """Ids of the chunks that it rests on."""
    goal_id: str | None = None
    foreign_sources: frozenset[str] = frozenset()
    due: str = ""
    """A day, or a day with a time, where the owner is: 2026-12-08T14:00; empty: none."""
    made_by: MadeBy = MadeBy.MIND
    is_mine: bool = False
    """Whether the owner does it: nobody else works on it."""
    repeats: str = ""
    """When it comes back after it is done, see `task_days.read_repeat`; empty: never."""
    position: float | None = None
    """Its place among the tasks as the owner put it; None: behind those with one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkTask(NewTask):
    """A piece of work (V-44)."""

    id: str
    project_id: str
    status: TaskStatus
    blocked_by: tuple[str, ...] = ()
    """Ids of the open questions that it waits for."""
    outcome: str = ""
    audit: str = ""
    audited_by: AuditedBy = AuditedBy.NOBODY
    tries: int = 0
    failure: str = ""
    held_because: str = ""
    flagged_because: str = ""
    created_at: float = 0.0
    updated_at: float = 0.0
    started_at: float | None = None
    completed_at: float | None = None
    files: tuple[TaskFile, ...] = ()
    """What it made in the folder, and what of the folder that was made from."""
    try_began_at: float | None = None
    """When the mind's current attempt began, also if it was interrupted and resumed since."""

    @property
    def is_in_hand(self) -> bool:
        """Whether the mind itself is working on it. A task that an external program began is left to that program."""
        return self.status is TaskStatus.IN_PROGRESS and self.try_began_at is not None

    @property
    def is_left_to_owner(self) -> bool:
        """Whether only the owner has to do with it: nobody else planned it or tried it."""
        return self.made_by is MadeBy.OWNER and not self.tries

    @property
    def is_audited(self) -> bool:
        """Whether its outcome was checked; not if a program, which marked it done, only said so."""
        return self.audited_by in (AuditedBy.AUDIT, AuditedBy.OWNER)


@dataclass(frozen=True, slots=True)
class TaskProposal:
    """A task that a note proposes. Nothing of it begins before the owner accepts it."""

    id: str
    project_id: str
    title: str
    due: str
    """As that of a task."""
    state: ProposalState
    document: str
    line: int
    source_line: str
    """The line that it was read from, without the mark of a list."""
    task_id: str | None
    """The task that it became."""
    created_at: float
    decided_at: float | None
    foreign_sources: frozenset[str]


@dataclass(frozen=True, slots=True)
class NewQuestion:
    """A question, decision or approval, to be stored."""

    question: str
    kind: QuestionKind = QuestionKind.QUESTION
    context: str = ""
    context_tags: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()
    """Ids of the tasks that wait for it."""
    task_id: str | None = None
    payload: str = "{}"
    """For an approval: the tool call that waits for it (`approvals.PendingCall`)."""
    foreign_sources: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerQuestion(NewQuestion):
    """A stored question that waits for the owner, or waited (V-45)."""

    id: str
    project_id: str
    status: QuestionStatus
    answer: str
    asked_at: float
    answered_at: float | None
    noted_at: float | None

    @property
    def answered_by(self) -> str:
        """The external program that answered it, taken from its tags; empty: the owner, or no one yet."""
        return next((tag for tag in self.context_tags if tag.startswith(PROGRAM_PREFIX)), "")


@dataclass(frozen=True, slots=True)
class WorkLogEntry:
    """An entry of a project's log (V-49)."""

    action: str
    details: str
    happened_at: float
    task_id: str | None = None
    skill_area: str = ""
    id: int = 0

    @property
    def is_foreign(self) -> bool:
        """Whether an external program wrote it; such entries are never put into a prompt."""
        return self.action.startswith(PROGRAM_PREFIX)


class WorkStep(StepEntry, frozen=True):
    """A step with the foreign sources of what it read."""

    foreign_sources: frozenset[str] = frozenset()


# --- orientation: one page, kept as JSON (V-39..V-42) -----------------------------------------------------------------


class Criterion(msgspec.Struct, frozen=True):
    """A success criterion of the goal."""

    text: str
    rests_on: tuple[str, ...] = ()
    flagged_because: str = ""
    reached_by: str = ""
    """Id of the task whose evidence showed an auditor that it is reached; empty: nothing has shown it."""


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
    reverted_to: int | None = None
    """The earlier version that the owner made the newest by it; None: it was written anew."""


class AgentStatus(StrEnum):
    """Whether a project can go on now (V-76)."""

    READY = "ready"
    WAITING = "waiting_for_user"
    COMPLETE = "complete"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class AgentState:
    """The state of a project, computed from database rows alone (V-75)."""

    project: Project
    status: AgentStatus
    message: str
    goal: Goal | None
    pending_goal: Goal | None
    orientation: OrientationVersion
    queue: tuple[WorkTask, ...]
    """The tasks that can be done now, in order of priority."""
    tasks: tuple[WorkTask, ...]
    questions: tuple[OwnerQuestion, ...]
    """All questions; `open_questions` has the open ones."""
    activities: tuple[WorkLogEntry, ...] = field(default=())
    """The last ten log entries of the mind itself, newest first."""
    plans_since_word: int = 0
    """Number of plans made since the owner last set a goal or answered a question."""
    plans_since_reached_answer: int = 0
    """Number of plans made since the owner last said whether the goal is reached."""

    @property
    def has_plan(self) -> bool:
        """Whether somebody else than the owner planned or tried a task."""
        return any(not task.is_left_to_owner for task in self.tasks)

    @property
    def page(self) -> Orientation:
        """The page as it holds now: a criterion that a result in doubt showed is in doubt, also before the next version
        of the page."""
        return flag_criteria(self.orientation.content, self.tasks)

    @property
    def shown_phase(self) -> str:
        """The phase for the owner; empty where no plan leads through phases. What is in doubt is not complete."""
        phase = self.orientation.content.current_phase
        if phase is Phase.COMPLETE and any(criterion.flagged_because for criterion in self.page.success_criteria):
            phase = Phase.REFINEMENT
        return phase.value if self.has_plan or phase is Phase.COMPLETE else ""

    @property
    def session_id(self) -> str:
        """Id of this wake; chunks retrieved together are counted once per wake (V-57)."""
        return f"wake {self.project.last_wake_at or 0.0:.3f}"

    @property
    def open_questions(self) -> tuple[OwnerQuestion, ...]:
        return tuple(question for question in self.questions if question.status is QuestionStatus.OPEN)


def flag_criteria(page: Orientation, tasks: Sequence[WorkTask]) -> Orientation:
    """Return a page whose criteria are in doubt where the result that showed them is. Pure."""
    doubts = {task.id: task.flagged_because for task in tasks}
    criteria = tuple(
        msgspec.structs.replace(
            criterion, flagged_because=criterion.flagged_because or doubts.get(criterion.reached_by, "")
        )
        for criterion in page.success_criteria
    )
    return msgspec.structs.replace(page, success_criteria=criteria)
