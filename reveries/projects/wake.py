"""A project wakes: what it knows of itself comes from rows alone (V-75, V-76)."""

from collections.abc import Sequence
from dataclasses import replace

from reveries.knowledge.model import ChunkSource, ChunkType, Confidence, NewChunk
from reveries.projects.conflicts import CONFLICT_TAG, settle_by_answer
from reveries.projects.grants import store_approval
from reveries.projects.model import (
    AgentState,
    AgentStatus,
    Goal,
    OrientationVersion,
    OwnerQuestion,
    Phase,
    Project,
    QuestionKind,
    QuestionStatus,
    TaskStatus,
    WorkLogEntry,
    WorkTask,
)
from reveries.projects.priority import in_order
from reveries.projects.store import ProjectStore
from reveries.projects.triggers import rewrite_after_answers

_RECENT = 10
_NO_PAYLOAD = "{}"
PREMISE_TAG = "premise"
"""Of the question how to go on after something fell."""


async def wake_project(store: ProjectStore, project_id: str) -> AgentState:
    """Note the wake, give back what a crash left begun, turn answers into chunks, and read where it stands."""
    async with store.database.transaction() as transaction:
        await transaction.run("projects.note_wake", {"id": project_id, "now": store.now})
        await transaction.run("projects.give_back_begun", {"project_id": project_id, "now": store.now})
        await transaction.run("projects.close_begun_steps", {"project_id": project_id})
    await note_answers(store, project_id)
    return await read_state(store, project_id)


async def note_answers(store: ProjectStore, project_id: str) -> None:
    """Each new answer becomes a chunk, once, and releases what waited only for it (V-75)."""
    answered = [
        one
        for one in await store.questions(store.database, project_id)
        if one.status is QuestionStatus.ANSWERED and one.noted_at is None
    ]
    if not answered:
        return
    # A yes to a call is no knowledge: it is a grant.
    said = [one for one in answered if one.payload == _NO_PAYLOAD]
    chunks = [_answer_chunk(one) for one in said]
    prepared = await store.knowledge.prepare(project_id, chunks)
    project = await store.find(project_id)
    async with store.database.transaction() as transaction:
        await store.knowledge.put(transaction, project_id, prepared)
        for one in answered:
            await transaction.run("projects.note_question", {"id": one.id, "now": store.now})
            if one.payload != _NO_PAYLOAD:
                await store_approval(store, transaction, one)
            if CONFLICT_TAG in one.context_tags:
                await settle_by_answer(store, transaction, one)
            if PREMISE_TAG in one.context_tags:
                for task_id in one.blocks:
                    await transaction.run("projects.drop_fallen_needs", {"id": task_id})
                    await transaction.run("projects.release_held", {"id": task_id, "now": store.now})
        await store.release_tasks(transaction, project_id)
        tags = {tag for one in answered if not one.answered_by for tag in one.context_tags}
        trigger = "intake" if "intake" in tags else "reached" if "reached" in tags else rewrite_after_answers(said)
        if trigger:
            await store.note_rewrite_due(transaction, project, trigger)


async def read_state(store: ProjectStore, project_id: str) -> AgentState:
    """Where it stands. Nothing but rows goes in."""
    async with store.database.look() as look:
        goals = await store.goals(look, project_id)
        orientation = await store.orientation(look, project_id)
        tasks, questions = await store.tasks(look, project_id), await store.questions(look, project_id)
        activities = await store.own_activities(look, project_id, _RECENT)
        [counted] = await look.rows("projects.plans_since_word", {"project_id": project_id})
    project = await store.find(project_id)
    state = state_of(project, goals, orientation, tasks, questions, activities, store.now)
    return replace(state, plans_since_word=int(counted["number"]))


def state_of(
    project: Project,
    goals: Sequence[Goal],
    orientation: OrientationVersion,
    tasks: Sequence[WorkTask],
    questions: Sequence[OwnerQuestion],
    activities: Sequence[WorkLogEntry],
    now: float,
) -> AgentState:
    """The state that these rows mean. Pure."""
    goal = next((one for one in goals if one.state == "active"), None)
    pending = next((one for one in goals if one.state == "pending"), None)
    done = frozenset(task.id for task in tasks if task.status is TaskStatus.DONE)
    ready = [task for task in tasks if task.status is TaskStatus.READY or task.is_in_hand]
    queue = in_order(ready, orientation.content, goal.id if goal else None, done, activities, now)
    status, message = _agent_status(goal, orientation, queue, tasks, questions)
    return AgentState(
        project=project,
        status=status,
        message=message,
        goal=goal,
        pending_goal=pending,
        orientation=orientation,
        queue=tuple(queue),
        tasks=tuple(tasks),
        questions=tuple(questions),
        activities=tuple(activities),
    )


def _agent_status(
    goal: Goal | None,
    orientation: OrientationVersion,
    queue: Sequence[WorkTask],
    tasks: Sequence[WorkTask],
    questions: Sequence[OwnerQuestion],
) -> tuple[AgentStatus, str]:
    if goal is None:
        return AgentStatus.WAITING, "It has no goal yet."
    if queue:
        return AgentStatus.READY, ""
    open_questions = [one for one in questions if one.status is QuestionStatus.OPEN]
    blocked = [task for task in tasks if task.status is TaskStatus.BLOCKED]
    is_decided_by_owner = any(one.kind is QuestionKind.DECISION for one in open_questions)
    if open_questions and (blocked or not tasks or is_decided_by_owner):
        return AgentStatus.WAITING, _say_waiting(len(open_questions))
    if begun := [task.title for task in tasks if task.status is TaskStatus.IN_PROGRESS]:
        return AgentStatus.WAITING, f"A program outside works on “{begun[0]}”."
    if blocked:
        # V-42 of the silences: only blocked dependencies, and no question that would release one.
        return AgentStatus.ERROR, "deadlocked: " + "; ".join(f"{one.title} ({_why_blocked(one)})" for one in blocked)
    if tasks and orientation.content.current_phase is Phase.COMPLETE:
        return AgentStatus.COMPLETE, ""
    return AgentStatus.READY, ""


def _why_blocked(task: WorkTask) -> str:
    if task.held_because:
        return task.held_because
    return f"needs {', '.join(task.needs)}" if task.needs else "nothing names why"


def _answer_chunk(question: OwnerQuestion) -> NewChunk:
    is_own = not question.answered_by
    return NewChunk(
        content=f"Q: {question.question}\nA: {question.answer}",
        type=ChunkType.USER_INPUT if is_own else ChunkType.RESEARCH,
        confidence=Confidence.VERIFIED if is_own else Confidence.INFERRED,
        source=ChunkSource.USER if is_own else ChunkSource.RESEARCH,
        tags=(*(["user_answer"] if is_own else []), *question.context_tags),
        task_id=None,
        foreign_sources=question.foreign_sources,
    )


def _say_waiting(questions: int) -> str:
    return "One question waits for you." if questions == 1 else f"{questions} questions wait for you."
