"""Start a wake of a project: its state is computed from database rows alone (V-75, V-76)."""

from collections.abc import Sequence
from dataclasses import replace

from reveries.db.database import Transaction
from reveries.knowledge.model import OWNER_ANSWER_TAG, ChunkSource, ChunkType, Confidence, NewChunk
from reveries.projects.answers import CONFLICT_TAG, CRITERION_TAG, DOUBT_TAG, PREMISE_TAG, is_dropping, is_no
from reveries.projects.conflicts import HOW_TO_CHOOSE, says_something_else, settle_by_answer
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
from reveries.projects.premise import standing_bases
from reveries.projects.priority import in_order
from reveries.projects.store import ProjectStore
from reveries.projects.task_days import comes_later, today
from reveries.projects.triggers import (
    INTAKE_TAG,
    LEFT_TRIGGER,
    REACHED_TAG,
    REDO_TRIGGER,
    SETTLED_TRIGGER,
    rewrite_after_answers,
)
from reveries.projects.yes_answers import is_yes

_RECENT = 10
_NO_PAYLOAD = "{}"


async def wake_project(store: ProjectStore, project_id: str) -> AgentState:
    """Record the wake, reset tasks that a crash left in progress, store new answers as chunks, return the state."""
    await store.note_wake(project_id)
    await note_answers(store, project_id)
    return await read_state(store, project_id)


async def note_answers(store: ProjectStore, project_id: str) -> None:
    """Store each new answer as a chunk, once, and release tasks that waited only for it (V-75)."""
    answered = [question for question in await store.questions.of_project(project_id) if _is_new_answer(question)]
    if not answered:
        return
    # A yes to a call is no knowledge: it is a grant. Neither is the choice between two things that are known.
    without_payload = [question for question in answered if question.payload == _NO_PAYLOAD]
    to_store = [
        question
        for question in without_payload
        if CONFLICT_TAG not in question.context_tags or await says_something_else(store, question)
    ]
    chunks = [_answer_chunk(question) for question in to_store]
    prepared = await store.knowledge.prepare(project_id, chunks)
    project = await store.find(project_id)
    async with store.transaction() as transaction:
        await store.knowledge.put(transaction, project_id, prepared)
        for answer in answered:
            await store.questions.note(transaction, answer.id)
            if answer.payload != _NO_PAYLOAD:
                await store_approval(store, transaction, answer)
            if CONFLICT_TAG in answer.context_tags:
                await settle_by_answer(store, transaction, answer)
            if PREMISE_TAG in answer.context_tags:
                await _release_held_tasks(store, transaction, answer)
        await store.tasks.release(transaction, project_id)
        if triggers := _rewrite_triggers(answered, without_payload):
            await store.note_rewrite_due(transaction, project, *triggers)


async def _release_held_tasks(store: ProjectStore, transaction: Transaction, question: OwnerQuestion) -> None:
    """Apply the owner's answer after a premise fell: held tasks rest on what holds now and go on, or are dropped."""
    chunks = {chunk.id: chunk for chunk in await store.knowledge.read(transaction, question.project_id)}
    for task in await store.tasks.of_project(question.project_id, transaction):
        if task.id in question.context_tags and (is_dropping(question.answer) or is_no(question.answer)):
            # Finished, and good as it is: what it was made from does not matter any more.
            made = tuple(file for file in task.files if file.is_made)
            await store.tasks.settle_doubt(transaction, replace(task, files=made))
        if task.id not in question.blocks:
            continue
        bases = standing_bases(task.rests_on, chunks)
        sources = task.foreign_sources.union(*(chunks[name].foreign_sources for name in bases))
        await store.tasks.release_held(transaction, task.id, bases, sources)
        if is_dropping(question.answer) and task.status is not TaskStatus.DONE:
            outcome = f"You said: “{question.answer}”"
            await store.tasks.end(transaction, replace(task, rests_on=bases), TaskStatus.DROPPED, outcome=outcome)


def _rewrite_triggers(answered: Sequence[OwnerQuestion], without_payload: Sequence[OwnerQuestion]) -> list[str]:
    """Return every rewrite trigger that new answers cause. Pure."""
    tags = {tag for question in answered if not question.answered_by for tag in question.context_tags}
    triggers = [tag for tag in (INTAKE_TAG, REACHED_TAG, CRITERION_TAG) if tag in tags]
    if CRITERION_TAG not in tags:
        on_premise = [question for question in answered if PREMISE_TAG in question.context_tags]
        triggers += dict.fromkeys(trigger_of_premise(question) for question in on_premise if not question.answered_by)
    return [*triggers, *filter(None, [rewrite_after_answers(without_payload)])]


def trigger_of_premise(question: OwnerQuestion) -> str:
    """Return the trigger of the owner's answer on how to go on after a premise fell. Pure."""
    if is_dropping(question.answer) or is_no(question.answer):
        return LEFT_TRIGGER
    is_about_results = len(question.context_tags) > 1 and not question.blocks
    return REDO_TRIGGER if is_about_results and is_yes(question.answer) else SETTLED_TRIGGER


def has_new_answers(questions: Sequence[OwnerQuestion]) -> bool:
    """Whether there are answers that `note_answers` has not processed yet. Pure."""
    return any(_is_new_answer(question) for question in questions)


def _is_new_answer(question: OwnerQuestion) -> bool:
    return question.status is QuestionStatus.ANSWERED and question.noted_at is None


async def read_state(store: ProjectStore, project_id: str) -> AgentState:
    """Return the state of a project, computed from its rows alone."""
    async with store.snapshot() as look:
        goals = await store.goals(project_id, look)
        orientation = await store.orientation(project_id, look)
        tasks, questions = (
            await store.tasks.of_project(project_id, look),
            await store.questions.of_project(project_id, look),
        )
        activities = await store.log.own(project_id, _RECENT, look)
        plans_since_word = await store.log.count_plans_since_word(project_id, look)
        plans_since_reached_answer = await store.log.count_plans_since_reached_answer(project_id, look)
    project = await store.find(project_id)
    state = state_of(project, goals, orientation, tasks, questions, activities, store.now)
    return replace(state, plans_since_word=plans_since_word, plans_since_reached_answer=plans_since_reached_answer)


def state_of(
    project: Project,
    goals: Sequence[Goal],
    orientation: OrientationVersion,
    tasks: Sequence[WorkTask],
    questions: Sequence[OwnerQuestion],
    activities: Sequence[WorkLogEntry],
    now: float,
) -> AgentState:
    """Compute the state from these rows. Pure."""
    goal = next((active for active in goals if active.state == "active"), None)
    pending = next((waiting for waiting in goals if waiting.state == "pending"), None)
    done = frozenset(task.id for task in tasks if task.status is TaskStatus.DONE)
    # Where a success criterion is hit the owner decides first how to go on: nothing can be done until then.
    is_stopped = any(
        CRITERION_TAG in question.context_tags for question in questions if question.status is QuestionStatus.OPEN
    )
    ready = [] if is_stopped else [task for task in tasks if _is_for_mind(task, now)]
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


def _is_for_mind(task: WorkTask, now: float) -> bool:
    """Whether the mind can work on a task now: not on what its owner does, nor before the day of what repeats."""
    is_open = task.status is TaskStatus.READY or task.is_in_hand
    return is_open and not task.is_mine and not comes_later(task.repeats, task.due, today(now))


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
    open_questions = [question for question in questions if question.status is QuestionStatus.OPEN]
    blocked = [task for task in tasks if task.status is TaskStatus.BLOCKED]
    # A doubt that nobody has verified holds nothing up.
    decisions = [question for question in open_questions if question.kind is QuestionKind.DECISION]
    is_decided_by_owner = any(DOUBT_TAG not in decision.context_tags for decision in decisions)
    is_waited_for = any(task.blocked_by for task in blocked)
    if open_questions and (is_waited_for or not tasks or is_decided_by_owner):
        return AgentStatus.WAITING, say_waiting(len(open_questions))
    if begun := [task.title for task in tasks if task.status is TaskStatus.IN_PROGRESS]:
        return AgentStatus.WAITING, f"A program outside works on “{begun[0]}”."
    if blocked:
        # V-42 of the silences: only blocked dependencies, and no question that would release one.
        return AgentStatus.ERROR, "deadlocked: " + "; ".join(f"{task.title} ({_why_blocked(task)})" for task in blocked)
    if tasks and orientation.content.current_phase is Phase.COMPLETE:
        return AgentStatus.COMPLETE, ""
    if any(INTAKE_TAG in question.context_tags for question in open_questions):
        # Nothing is left to do, and no further plan is made before the questions of the last one are answered.
        return AgentStatus.WAITING, say_waiting(len(open_questions))
    return AgentStatus.READY, ""


def _why_blocked(task: WorkTask) -> str:
    if task.held_because:
        return task.held_because
    return f"needs {', '.join(task.needs)}" if task.needs else "nothing names why"


def _answer_chunk(question: OwnerQuestion) -> NewChunk:
    is_own = not question.answered_by
    asked = question.question
    if CONFLICT_TAG in question.context_tags:
        # The question alone names nothing that it is about.
        asked = f"{question.question}\n{question.context.removesuffix(HOW_TO_CHOOSE)}"
    return NewChunk(
        content=f"Q: {asked}\nA: {question.answer}",
        type=ChunkType.USER_INPUT if is_own else ChunkType.RESEARCH,
        confidence=Confidence.VERIFIED if is_own else Confidence.INFERRED,
        source=ChunkSource.USER if is_own else ChunkSource.RESEARCH,
        tags=(*([OWNER_ANSWER_TAG] if is_own else []), *question.context_tags),
        task_id=None,
        foreign_sources=question.foreign_sources,
    )


def say_waiting(questions: int) -> str:
    """Say how many questions are open."""
    return "One question waits for you." if questions == 1 else f"{questions} questions wait for you."
