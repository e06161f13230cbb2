"""The work on one project: a wake from rows, then task by task until it is done, waits for its owner, or has to rest
(V-81..V-90). Whatever ends it, the rows say where it stands."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from enum import StrEnum

import structlog

from reveries.config import ProjectSettings
from reveries.db.database import Transaction
from reveries.errors import BudgetExceededError, ModelError
from reveries.knowledge.model import ChunkSource, ChunkType, Confidence, NewChunk
from reveries.llm.tier import Tier
from reveries.projects.auditing import AuditVerdict, audit_result
from reveries.projects.coherence import why_off_track
from reveries.projects.evidence import Facts
from reveries.projects.executing import ResultStatus, TaskResult, Workplace, execute_freely
from reveries.projects.intake import INTAKE_TAG, first_questions
from reveries.projects.material import describe_orientation, gather_material
from reveries.projects.model import AgentState, AgentStatus, QuestionKind, TaskKind, TaskStatus, WorkTask
from reveries.projects.orienting import REACHED_TAG, write_orientation
from reveries.projects.planning import plan_tasks
from reveries.projects.premise import Fallen, what_falls
from reveries.projects.recipes import follow_recipe
from reveries.projects.store import NewQuestion, NewTask, ProjectStore
from reveries.projects.triggers import is_over, percent_done, rewrite_after_task, rewrite_by_default, why_plan
from reveries.projects.wake import PREMISE_TAG, read_state, wake_project
from reveries.projects.work_model import WorkModel

log = structlog.get_logger("work")

MOST_TRIES = 3
MOST_PLANS = 3
"""Of a capable model, without a word of the owner between them."""
_CHARS_A_TOKEN = 4
_ASK_AGAIN_SECONDS = 86400.0
_KNOWN = 12
_MOST_ARGUMENT_CHARS = 2000
_MOST_RESULT_CHARS = 4000
_SHOWN_CHARS = 160


class RestReason(StrEnum):
    """Why a wake of a project ended."""

    DONE = "done"
    WAITING = "waiting for you"
    BUDGET = "budget"
    RESTED = "rested"
    INTERRUPTED = "interrupted"
    NO_MODEL = "no model"
    STUCK = "stuck"


@dataclass(frozen=True, slots=True)
class WakeReport:
    reason: RestReason
    message: str
    tasks_ended: int
    wait_seconds: float = 0.0
    """So long nothing will be other than it is: the budget's day, a provider's pause."""


Tell = Callable[[str, str], None]
"""Told of each thing that happens: the action, and a few words."""
Remember = Callable[[str, bool], Awaitable[None]]
"""Told what work came to, and whether it is tainted: it becomes an experience."""


MustStop = Callable[[], Awaitable[bool]]


async def _never() -> bool:
    return False


def _tell_nobody(action: str, words: str) -> None:
    """Where nobody watches."""


@dataclass(kw_only=True)
class ProjectWork:
    """Works on one project at a time."""

    store: ProjectStore
    settings: Callable[[], ProjectSettings]
    model: Callable[[str], WorkModel]
    """Makes the model for a project's id."""
    remember: Remember
    tell: Tell = _tell_nobody

    async def wake(self, project_id: str, must_stop: MustStop = _never) -> WakeReport:
        """One wake: at most `most_tasks` tasks. `must_stop` is asked between two of them."""
        state = await wake_project(self.store, project_id)
        self.tell("woke", f"{state.project.name}: {state.orientation.content.current_phase.value}")
        ended = 0
        try:
            report = await self._work(state, must_stop)
        except BudgetExceededError as error:
            wait = error.goes_on_after_seconds or _ASK_AGAIN_SECONDS
            report = WakeReport(RestReason.BUDGET, error.message, ended, wait)
        except ModelError as error:
            wait = getattr(error, "retry_after_seconds", None) or 0.0
            report = WakeReport(RestReason.NO_MODEL, error.message, ended, wait)
        return await self.note_rest(project_id, report)

    async def note_rest(self, project_id: str, report: WakeReport) -> WakeReport:
        """Write down why a wake ended."""
        async with self.store.database.transaction() as transaction:
            row = {"id": project_id, "now": self.store.now, "why": report.reason.value}
            await transaction.run("projects.note_rest", row)
            words = f"{report.reason.value}: {report.message}" if report.message else report.reason.value
            await self.store.log(transaction, project_id, "work.rested", words)
        self.tell("rested", words)
        log.info("work.rested", reason=report.reason.value, tasks=report.tasks_ended)
        return report

    async def _work(self, state: AgentState, must_stop: MustStop) -> WakeReport:
        project_id, ended = state.project.id, 0
        model = self.model(project_id)
        while True:
            if await must_stop():
                return WakeReport(RestReason.INTERRUPTED, "", ended)
            if ended >= self.settings().most_tasks:
                return WakeReport(RestReason.RESTED, f"after {ended} tasks", ended)
            state = await self._settle(model, await read_state(self.store, project_id))
            if report := _why_rest(state, ended):
                return report
            await self._do_task(model, state, state.queue[0])
            ended += 1

    # --- between two tasks -------------------------------------------------------------------------------------------

    async def _settle(self, model: WorkModel, state: AgentState) -> AgentState:
        """Everything that is due before the next task: a new goal, fallen premises, the first questions, the page, a
        plan. A word of the owner that came meanwhile counts from here on (V-90)."""
        if state.pending_goal is not None:
            state = await self._apply_goal(state)
        if state.goal is None:
            return state
        fallen = await self._hold_fallen(state)
        if not any(INTAKE_TAG in one.context_tags for one in state.questions):
            await self._ask_first(model, state)
        state = await read_state(self.store, state.project.id)
        if trigger := await self._why_rewrite(state, model):
            version = await write_orientation(self.store, model, state, fallen, trigger)
            self.tell("orientation", f"version {version}: {trigger}")
            state = await read_state(self.store, state.project.id)
        most_plans = MOST_PLANS if model.tier is Tier.CAPABLE else 1
        if why := why_plan(state, most_plans):
            return await self._plan(model, state, why)
        if is_over(state) and not any(REACHED_TAG in one.context_tags for one in state.open_questions):
            return await self._ask_whether_reached(state)
        return state

    async def _ask_whether_reached(self, state: AgentState) -> AgentState:
        question = NewQuestion(
            "All that was planned is done. Is the goal reached? Say yes, or what is missing.",
            QuestionKind.DECISION,
            context=state.goal.text if state.goal else "",
            context_tags=(REACHED_TAG,),
        )
        async with self.store.database.transaction() as transaction:
            await self.store.put_question(transaction, state.project.id, question)
            await self.store.log(transaction, state.project.id, "questions.asked", "whether the goal is reached")
        self.tell("question", question.question)
        return await read_state(self.store, state.project.id)

    async def _apply_goal(self, state: AgentState) -> AgentState:
        pending, project_id = state.pending_goal, state.project.id
        assert pending is not None
        async with self.store.database.transaction() as transaction:
            if state.goal is not None:
                named = {"project_id": project_id, "goal_id": state.goal.id, "now": self.store.now}
                await transaction.run("projects.drop_open_tasks", named)
                await transaction.run("projects.drop_questions_of", {"goal_id": state.goal.id})
            await transaction.run("projects.end_active_goal", {"project_id": project_id})
            await transaction.run("projects.activate_goal", {"id": pending.id, "now": self.store.now})
            await self.store.note_rewrite_due(transaction, state.project, "goal")
            await self.store.log(transaction, project_id, "goal.applied", pending.text)
        self.tell("goal", pending.text)
        return await read_state(self.store, project_id)

    async def _hold_fallen(self, state: AgentState) -> Fallen:
        """Hold and flag what rests on something that fell; where a criterion is hit, the owner decides."""
        chunks = await self.store.chunks.of_project(state.project.id)
        fallen = what_falls(chunks, state.tasks, state.orientation.content)
        titles = {one.id: one.title or one.content[:60] for one in chunks} | {one.id: one.title for one in state.tasks}
        new = [
            (task, chain)
            for task in state.tasks
            if (chain := fallen.held.get(task.id) or fallen.flagged.get(task.id))
            and not (task.held_because or task.flagged_because)
        ]
        fresh = [name for name in fallen.chunks if any(one.id == name and one.stands for one in chunks)]
        if not new and not fresh:
            return fallen
        async with self.store.database.transaction() as transaction:
            for task, chain in new:
                why = (
                    "rests on "
                    + " > ".join(titles.get(name, "something erased") for name in chain[:-1])
                    + ", which fell"
                )
                await transaction.run("projects.hold_task", {"id": task.id, "why": why, "now": self.store.now})
                await self.store.log(transaction, state.project.id, "premise.fell", f"{task.title}: {why}", task)
            for name in fresh:
                why = "rests on " + titles.get(fallen.chunks[name][0], "something erased") + ", which fell"
                await self.store.chunks.mark_fallen(transaction, state.project.id, name, why)
            await self.store.note_rewrite_due(transaction, state.project, "premise")
            if new or fallen.stops_project:
                await self._ask_after_fall(transaction, state, fallen, [task for task, _ in new])
        self.tell("premise", f"{len(new)} tasks rest on something that does not stand any more")
        return fallen

    async def _ask_after_fall(
        self, transaction: Transaction, state: AgentState, fallen: Fallen, held: list[WorkTask]
    ) -> None:
        hit = [state.orientation.content.success_criteria[place].text for place in fallen.criteria]
        about = "; ".join([*(f"the criterion “{one}”" for one in hit), *(f"“{task.title}”" for task in held)])
        question = NewQuestion(
            f"Something that the work took for true does not hold any more. How shall it go on with {about}?",
            QuestionKind.DECISION,
            context="Say what holds now; what is held is planned anew.",
            context_tags=(PREMISE_TAG,),
            blocks=tuple(task.id for task in held if task.id in fallen.held),
        )
        await self.store.put_question(transaction, state.project.id, question)

    async def _ask_first(self, model: WorkModel, state: AgentState) -> None:
        assert state.goal is not None
        questions = await first_questions(model, state.goal)
        async with self.store.database.transaction() as transaction:
            for question in questions:
                await self.store.put_question(transaction, state.project.id, question)
            await self.store.log(transaction, state.project.id, "questions.asked", "the first three")
            await self.store.note_rewrite_due(transaction, state.project, "goal")
        for question in questions:
            self.tell("question", question.question)

    async def _why_rewrite(self, state: AgentState, model: WorkModel) -> str:
        if due := " ".join(state.project.rewrite_due):
            return due
        page, orientation = describe_orientation(state.orientation.content), state.orientation
        named = {"project_id": state.project.id, "since": orientation.written_at}
        [row] = await self.store.database.rows("projects.activities_since", named)
        return rewrite_by_default(
            tokens=len(page) // _CHARS_A_TOKEN,
            most_tokens=self.settings().orientation_tokens,
            seconds_since_rewrite=self.store.now - orientation.written_at,
            activities_since_rewrite=int(row["number"]),
            has_work=bool(state.queue),
        )

    async def _plan(self, model: WorkModel, state: AgentState, why: str) -> AgentState:
        assert state.goal is not None
        found = await self.store.chunks.search(state.project.id, state.goal.text, _KNOWN)
        material = gather_material(
            state.orientation.content, state.activities, [one.chunk for one in found], chars=model.context_chars
        )
        sources = state.orientation.foreign_sources.union(*(one.chunk.foreign_sources for one in found))
        planned = await plan_tasks(model, state.goal, material, state.tasks)
        async with self.store.database.transaction() as transaction:
            ids: list[str] = []
            for task in planned:
                needs = tuple(ids[place - 1] for place in task.depends_on)
                new = NewTask(
                    task.title,
                    task.description,
                    task.kind,
                    task.skill_area,
                    needs,
                    task.rests_on,
                    state.goal.id,
                    sources,
                )
                ids += await self.store.put_tasks(transaction, state.project.id, [new])
            await self.store.log(transaction, state.project.id, "planned", f"{len(ids)} tasks: {why}")
        self.tell("planned", "; ".join(task.title for task in planned))
        return await read_state(self.store, state.project.id)

    # --- one task ----------------------------------------------------------------------------------------------------

    async def _do_task(self, model: WorkModel, state: AgentState, task: WorkTask) -> None:
        if why := await why_off_track(self.store, model, state, task):
            async with self.store.database.transaction() as transaction:
                await self.store.log(transaction, task.project_id, "coherence.warned", f"{task.title}: {why}", task)
            self.tell("off track?", f"{task.title}: {why}")
        async with self.store.database.transaction() as transaction:
            await transaction.run("projects.begin_task", {"id": task.id, "now": self.store.now})
            await self.store.log(transaction, task.project_id, "task.began", task.title, task)
        task = replace(task, tries=task.tries + 1)
        self.tell("task", task.title)
        steps = _Steps(self.store, task, self.tell)
        watched = replace(model, recorder=steps)
        place = Workplace(self.store, watched, state)
        try:
            result = await (execute_freely(place, task) if _is_free(model, task) else follow_recipe(place, task))
        except BaseException:
            # A try that the budget, a model or a word of the owner broke off is none.
            await asyncio.shield(self._give_back(task))
            raise
        sources = task.foreign_sources | place.seen_sources
        await self._store_result(watched, state, replace(task, foreign_sources=sources), result)

    async def _give_back(self, task: WorkTask) -> None:
        async with self.store.database.transaction() as transaction:
            await transaction.run("projects.give_back_task", {"id": task.id, "now": self.store.now})
            await transaction.run("projects.close_begun_steps", {"project_id": task.project_id})

    async def _store_result(self, model: WorkModel, state: AgentState, task: WorkTask, result: TaskResult) -> None:
        match result.status:
            case ResultStatus.COMPLETE:
                await self._audit_and_store(model, state, task, result)
            case ResultStatus.BLOCKED:
                await self._block(task, result)
            case ResultStatus.NEEDS_RESEARCH:
                await self._research_first(task, result)
            case ResultStatus.PARTIAL:
                await self._fail(task, f"done in part: {result.outcome}", is_partial=True)
            case ResultStatus.GIVEN_UP:
                await self._give_up(task, result)
            case ResultStatus.FAILED:
                await self._fail(task, result.outcome)

    async def _audit_and_store(self, model: WorkModel, state: AgentState, task: WorkTask, result: TaskResult) -> None:
        chunks = {one.id: one for one in await self.store.chunks.of_project(task.project_id) if one.stands}
        facts = Facts({name: f"{one.title}\n{one.content}" for name, one in chunks.items()})
        verdict = await audit_result(model, task, result, state.orientation.content, facts, chunks)
        if verdict.is_accepted:
            await self._complete(state, task, result, verdict)
        else:
            await self._fail(task, f"not accepted: {verdict.why}", audit=verdict.why, attempt=result.outcome)

    async def _complete(self, state: AgentState, task: WorkTask, result: TaskResult, verdict: AuditVerdict) -> None:
        learnings = [
            replace(
                one,
                tags=tuple(dict.fromkeys((*one.tags, task.skill_area.lower() or "general"))),
                foreign_sources=one.foreign_sources | task.foreign_sources,
            )
            for one in result.learnings
        ]
        vectors = await self.store.chunks.embed(learnings)
        rests = {*task.rests_on, *result.rests_on}
        async with self.store.database.transaction() as transaction:
            await self.store.end_task(
                transaction, task, TaskStatus.DONE, outcome=result.outcome, audit=verdict.why, failure="",
                rests_on=frozenset(rests),
            )  # fmt: skip
            await self.store.chunks.put(transaction, task.project_id, learnings, vectors)
            await transaction.run("chunks.note_useful", {"now": self.store.now, "ids": json.dumps(sorted(rests))})
            await self.store.release_tasks(transaction, task.project_id)
            await self.store.log(transaction, task.project_id, "task.done", f"{task.title}: {result.outcome}", task)
            tasks = await self.store.tasks(transaction, task.project_id)
            if trigger := rewrite_after_task(task, tasks, state.orientation.content):
                await self.store.note_rewrite_due(transaction, state.project, trigger)
        self.tell("done", f"{task.title}: {result.outcome}")
        await self.remember(
            f"I worked on {state.project.name}: {task.title}. {result.outcome}", bool(task.foreign_sources)
        )

    async def _block(self, task: WorkTask, result: TaskResult) -> None:
        question = result.question or NewQuestion(f"What is needed for “{task.title}”?", blocks=(task.id,))
        # A question is made of what stood before the model: it inherits what the task has.
        question = replace(question, task_id=task.id, foreign_sources=question.foreign_sources | task.foreign_sources)
        async with self.store.database.transaction() as transaction:
            await self.store.end_task(transaction, task, TaskStatus.BLOCKED, tries_anew=True)
            await self.store.put_question(transaction, task.project_id, question)
            await self.store.log(transaction, task.project_id, "task.blocked", question.question, task)
        self.tell("question", question.question)

    async def _give_up(self, task: WorkTask, result: TaskResult) -> None:
        """What needed it goes on without it."""
        async with self.store.database.transaction() as transaction:
            await self.store.end_task(transaction, task, TaskStatus.DROPPED, outcome=result.outcome)
            await self.store.release_tasks(transaction, task.project_id)
            await self.store.log(transaction, task.project_id, "task.given_up", f"{task.title}: {result.outcome}", task)
        self.tell("given up", f"{task.title}: {result.outcome}")

    async def _research_first(self, task: WorkTask, result: TaskResult) -> None:
        topic = result.topic or task.title
        title = f"Research: {topic}"
        async with self.store.database.transaction() as transaction:
            tasks = await self.store.tasks(transaction, task.project_id)
            same = [one for one in tasks if one.title.casefold() == title.casefold()]
            if same:
                # It was looked for before: another round would find no more.
                await self._end_failed(transaction, task, f"{title} was done and did not help")
                return
            new = NewTask(
                title, f"It is needed for: {task.title}", TaskKind.FIND_OUT, task.skill_area, goal_id=task.goal_id,
                foreign_sources=task.foreign_sources,
            )  # fmt: skip
            [name] = await self.store.put_tasks(transaction, task.project_id, [new])
            await self.store.end_task(transaction, task, TaskStatus.BLOCKED, tries_anew=True)
            await self.store.put_needs(transaction, task.id, [name])
            await self.store.log(transaction, task.project_id, "task.needs_research", title, task)
        self.tell("needs research", topic)

    async def _fail(
        self, task: WorkTask, why: str, *, audit: str = "", attempt: str = "", is_partial: bool = False
    ) -> None:
        """Count the try; the third, or the same failure twice, ends in a question (VA-19)."""
        attempts = [_attempt(task, attempt, why)] if attempt else []
        vectors = await self.store.chunks.embed(attempts)
        async with self.store.database.transaction() as transaction:
            await self.store.chunks.put(transaction, task.project_id, attempts, vectors)
            is_same = bool(task.failure) and task.failure == why
            if task.tries >= MOST_TRIES or is_same:
                await self._end_failed(transaction, replace(task, audit=audit or task.audit), why)
                return
            description = task.description
            if is_partial:
                description = f"{task.description}\nSo far: {why}"[:4000]
            await self.store.end_task(
                transaction, task, TaskStatus.READY, failure=why, audit=audit or task.audit, description=description
            )
            await self.store.log(transaction, task.project_id, "task.failed", f"{task.title}: {why}", task)
        self.tell("failed", f"{task.title}: {why}")

    async def _end_failed(self, transaction: Transaction, task: WorkTask, why: str) -> None:
        await self.store.end_task(transaction, task, TaskStatus.BLOCKED, failure=why, tries_anew=True)
        question = NewQuestion(
            f"I tried “{task.title}” {task.tries} times and it did not work. What shall I do?",
            QuestionKind.DECISION,
            context=why,
            blocks=(task.id,),
            task_id=task.id,
            foreign_sources=task.foreign_sources,
        )
        await self.store.put_question(transaction, task.project_id, question)
        await self.store.log(transaction, task.project_id, "task.gave_up", f"{task.title}: {why}", task)
        self.tell("question", question.question)


class _Steps:
    """Each call of a model as a row, with what was asked and what came."""

    def __init__(self, store: ProjectStore, task: WorkTask, tell: Tell) -> None:
        self._store = store
        self._task = task
        self._tell = tell

    async def begin(self, tool: str, arguments: str) -> int:
        row = {"tool": tool, "arguments": arguments[-_MOST_ARGUMENT_CHARS:], "now": self._store.now}
        row |= {"foreign_sources": json.dumps(sorted(self._task.foreign_sources))}
        async with self._store.database.transaction() as transaction:
            [stored] = await transaction.rows("projects.put_step", self._key | row)
        return int(stored["position"])

    async def end(self, position: int, result: str, *, is_done: bool) -> None:
        row = {"result": result[:_MOST_RESULT_CHARS], "state": "done" if is_done else "failed", "now": self._store.now}
        async with self._store.database.transaction() as transaction:
            await transaction.run("projects.end_step", self._key | {"position": position} | row)
        self._tell("step", result[:_SHOWN_CHARS])

    @property
    def _key(self) -> dict[str, object]:
        return {"task_id": self._task.id, "attempt": self._task.tries}


def _why_rest(state: AgentState, ended: int) -> WakeReport | None:
    """Whether there is nothing to do now, and why."""
    if state.queue and state.goal is not None:
        return None
    match state.status:
        case AgentStatus.WAITING:
            return WakeReport(RestReason.WAITING, state.message, ended)
        case AgentStatus.ERROR:
            return WakeReport(RestReason.STUCK, state.message, ended)
        case AgentStatus.READY | AgentStatus.COMPLETE:
            percent = percent_done(state.orientation.content)
            return WakeReport(RestReason.DONE, f"{percent} % of what was planned is done", ended)


def _is_free(model: WorkModel, task: WorkTask) -> bool:
    """A capable model works in the loop; but what only the owner knows is asked by code, whoever works."""
    return model.tier is Tier.CAPABLE and task.kind is not TaskKind.ASK


def _attempt(task: WorkTask, outcome: str, why: str) -> NewChunk:
    """A rejected outcome stays as evidence, and never counts as progress."""
    return NewChunk(
        content=f"{task.title}: {outcome}\nNot accepted: {why}",
        type=ChunkType.ATTEMPT,
        confidence=Confidence.SPECULATIVE,
        source=ChunkSource.EXPERIMENT,
        task_id=task.id,
        foreign_sources=task.foreign_sources,
    )
