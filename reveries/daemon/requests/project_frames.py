"""The parts of frames that tell of projects: status, tasks, questions, criteria."""

from collections.abc import Sequence

from reveries import protocol
from reveries.daemon.requests.facts import build_overview, describe_ability
from reveries.daemon.requests.registry import Call
from reveries.llm.base import Role
from reveries.llm.caps import MICRODOLLARS
from reveries.projects.coherence import describe_coherence
from reveries.projects.conflicts import list_doubts
from reveries.projects.model import AgentState, OwnerQuestion, Project, TaskStatus, WorkLogEntry, WorkTask
from reveries.projects.prompt_material import describe_orientation
from reveries.projects.task_days import say_repeat
from reveries.projects.wake import read_state
from reveries.projects.wake_report import RestReason
from reveries.safe_text import one_line, plain

_LOG_LINES = 20
_REASON_CHARS = 1000
"""Of why a result is in doubt: which lines changed, old and new."""


async def project_frame(call: Call, project: Project, limit: int = _LOG_LINES) -> protocol.ProjectDetail:
    store = call.mind.projects.store
    state = await read_state(store, project.id)
    spent = await usage_by_project(call)
    log = await store.log.newest(project.id, limit)
    conflicts = await call.mind.knowledge.contradictions(project.id)
    from reveries.projects.result_audit import read_coherence

    coherence = await read_coherence(store, state)
    return protocol.ProjectDetail(
        request_id=call.request_id,
        project=project_line(state, spent.get(project.id, (0.0, 0))),
        message=plain(state.message or _why_it_rests(state, log)),
        orientation=plain(describe_orientation(state.page)),
        doubts=[plain(doubt) for doubt in list_doubts(state.orientation.content, state.tasks, conflicts)],
        tasks=task_entries(state, state.tasks),
        questions=[question_entry(project.name, question, len(question.blocks)) for question in state.open_questions],
        log=[
            protocol.WorkEntry(
                entry.happened_at, entry.action, plain(entry.details), str(entry.id), entry.task_id or ""
            )
            for entry in log
        ],
        coherence=coherence.score,
        begun=coherence.begun,
        coherence_notes=tuple(plain(note) for note in describe_coherence(coherence)),
        ability=describe_ability(call.mind.models.tier(Role.WORK)),
        notes=await build_overview(store, project, state.tasks),
        criteria=_criterion_entries(state),
    )


def _why_it_rests(state: AgentState, log: Sequence[WorkLogEntry]) -> str:
    """Say in the words of the last rest what keeps a project from going on; empty if nothing does."""
    if state.project.rested_because not in (RestReason.NO_MODEL.value, RestReason.BUDGET.value):
        return ""
    last = next((entry.details for entry in log if entry.action == "work.rested"), "")
    return last.partition(": ")[2]


def _criterion_entries(state: AgentState) -> tuple[protocol.CriterionEntry, ...]:
    """What is agreed, and what shows it. A result in doubt shows nothing, also before the page says so."""
    shown_by = {task.id: task for task in state.tasks}
    entries = []
    for criterion in state.page.success_criteria:
        task = shown_by.get(criterion.reached_by)
        title = task.title if task is not None else ""
        entries.append(protocol.CriterionEntry(plain(criterion.text), plain(title), plain(criterion.flagged_because)))
    return tuple(entries)


async def usage_by_project(call: Call) -> dict[str, tuple[float, int]]:
    """Return dollars and tokens by project id."""
    rows = await call.mind.database.rows("usage.used_by_project")
    return {str(row["project_id"]): (row["microdollars"] / MICRODOLLARS, int(row["tokens"])) for row in rows}


def project_line(state: AgentState, spent: tuple[float, int]) -> protocol.ProjectLine:
    criteria = _criterion_entries(state)
    return protocol.ProjectLine(
        project_id=state.project.id,
        name=one_line(state.project.name),
        state=state.project.state,
        status=state.status.value,
        goal=one_line(state.goal.text if state.goal else "", 300),
        phase=state.shown_phase,
        tasks_done=sum(task.status is TaskStatus.DONE for task in state.tasks),
        tasks=sum(task.status is not TaskStatus.DROPPED for task in state.tasks),
        criteria=len(criteria),
        criteria_shown=sum(bool(entry.shown_by) and not entry.flagged_because for entry in criteria),
        next_task=one_line(state.queue[0].title if state.queue else "", 200),
        open_questions=len(state.open_questions),
        rested_because=state.project.rested_because,
        last_worked_at=state.project.last_worked_at or 0.0,
        dollars=spent[0],
        tokens=spent[1],
        folder=plain(state.project.folder),
        may_write=state.project.may_write,
    )


def _open_titles(tasks: Sequence[WorkTask]) -> dict[str, str]:
    """Return the titles of the tasks that something can still wait for, by id."""
    return {task.id: task.title for task in tasks if task.status not in (TaskStatus.DONE, TaskStatus.DROPPED)}


def task_entries(state: AgentState, tasks: Sequence[WorkTask]) -> list[protocol.TaskEntry]:
    """Convert some tasks of a project to their frame parts."""
    titles, asked = _open_titles(state.tasks), {question.id: question.question for question in state.questions}
    return [_task_entry(task, titles, asked) for task in tasks]


def _task_entry(task: WorkTask, open_titles: dict[str, str], asked: dict[str, str]) -> protocol.TaskEntry:
    return protocol.copy_fields(
        protocol.TaskEntry,
        task,
        task_id=task.id,
        title=one_line(task.title),
        description=plain(task.description),
        skill_area=one_line(task.skill_area),
        outcome=plain(task.outcome),
        waits_for=one_line(_describe_wait(task, open_titles, asked), 300) if task.status is TaskStatus.BLOCKED else "",
        flagged_because=one_line(task.flagged_because, _REASON_CHARS),
        is_tainted=bool(task.foreign_sources),
        repeats=say_repeat(task.repeats),
    )


def _describe_wait(task: WorkTask, titles: dict[str, str], asked: dict[str, str]) -> str:
    if task.held_because:
        return task.held_because
    if task.blocked_by:
        return "your answer: " + asked.get(task.blocked_by[0], "")
    return ", ".join(titles[name] for name in task.needs if name in titles)


def question_entry(project: str, question: OwnerQuestion, blocked: int) -> protocol.QuestionEntry:
    return protocol.QuestionEntry(
        question_id=question.id,
        project=one_line(project),
        kind=question.kind.value,
        question=plain(question.question),
        context=plain(question.context),
        asked_at=question.asked_at,
        blocked_tasks=blocked,
        is_tainted=bool(question.foreign_sources),
        sources=[one_line(source) for source in sorted(question.foreign_sources)],
    )
