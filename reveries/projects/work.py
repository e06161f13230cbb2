"""Work on one project: load its state, then do task after task until it is done, waits for the owner, or must rest
(V-81..V-90). However it ends, the database rows hold the current state."""

import asyncio
import contextlib
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial

import structlog

from reveries.config import ProjectSettings
from reveries.db.database import Transaction
from reveries.errors import BudgetExceededError, ModelError, ModelUnavailableError
from reveries.llm.tier import Tier
from reveries.projects.answers import is_dropping, own_answers
from reveries.projects.ask_task import ask_owner
from reveries.projects.between_tasks import BetweenTasks
from reveries.projects.facts_view import ProjectFacts
from reveries.projects.folder_listing import digest_files_once, folder_access, list_files_once
from reveries.projects.folder_reading import ReadNotes, read_folder
from reveries.projects.model import AgentState, AgentStatus, Project, TaskKind, TaskStatus, WorkTask
from reveries.projects.note_keeping import KeptOrder, keep_order
from reveries.projects.premise import find_changed_files
from reveries.projects.result_audit import audit_attempt, find_off_track, note_off_track, require_audit_budget
from reveries.projects.results import TaskResults
from reveries.projects.section_changes import NoteHistory, SectionChange, describe_lines
from reveries.projects.server_tools import ServerTools
from reveries.projects.store import ProjectStore
from reveries.projects.task_execution import ResultStatus, SourcedSearch, TaskResult, Workplace, execute_freely
from reveries.projects.task_tools import DeferBreak, TaskTools, ToolServices
from reveries.projects.triggers import say_progress
from reveries.projects.wake import has_new_answers, note_answers, read_state, say_waiting, wake_project
from reveries.projects.wake_report import NOTHING_TO_DO, RestReason, WakeReport
from reveries.projects.work_model import WorkModel
from reveries.projects.work_observers import ReportEvent, StepRows, WorkMemory, ignore_event
from reveries.projects.work_planning import PlanSurroundings
from reveries.tools.loop import LoopLimits
from reveries.tools.worker import FolderAccess

log = structlog.get_logger("work")

_ASK_AGAIN_SECONDS = 86400.0
_TRY_AGAIN_SECONDS = 60.0
"""After a call that failed: the next attempt costs nothing, and a task in hand is not to lie for half an hour."""
_LEFT_TO_OWNER = "With this model nothing is planned or done by itself: what is to be done is yours."


MustStop = Callable[[], Awaitable[bool]]


async def _never() -> bool:
    return False


@dataclass(kw_only=True)
class ProjectWork:
    """Works on one project at a time."""

    store: ProjectStore
    settings: Callable[[], ProjectSettings]
    model: Callable[[str], WorkModel]
    """Create the model for a project id."""
    memory: WorkMemory
    services: ToolServices
    report_event: ReportEvent = ignore_event
    defer_break: DeferBreak = contextlib.nullcontext
    read_notes: dict[str, ReadNotes] = field(default_factory=dict)
    """What was read of the folder of each project, by its id: kept from wake to wake."""

    def __post_init__(self) -> None:
        self._due = BetweenTasks(self.store, self.settings, self.report_event, self._look_around)
        self._results = TaskResults(self.store, self.report_event, self.memory)

    async def wake(self, project_id: str, must_stop: MustStop = _never) -> WakeReport:
        """Run one wake of at most `most_tasks` tasks. `must_stop` is checked between tasks."""
        before = await self.store.read_facts(project_id)
        state = await wake_project(self.store, project_id)
        self.report_event("woke", ": ".join(filter(None, (state.project.name, state.shown_phase))))
        if (access := folder_access(state)) is not None:
            await self._read_folder(state.project, access, must_stop)
            await self._hold_made_from_changed(state, access)
        await self._keep_order(state.project, before)
        report = await self._work(state, must_stop)
        return await self.note_rest(project_id, report)

    async def follow_folder(self, project_id: str, must_stop: MustStop = _never) -> KeptOrder:
        """Read what changed in the folder, and keep order: no model, no task. What rests on something that changed is
        held or flagged at once."""
        before = await self.store.read_facts(project_id)
        state = await read_state(self.store, project_id)
        if (access := folder_access(state)) is None:
            return KeptOrder()
        await self._read_folder(state.project, access, must_stop)
        kept = await self._keep_order(state.project, before)
        if state.goal is not None:
            await self._hold_made_from_changed(state, access)
        return kept

    async def _hold_made_from_changed(self, state: AgentState, access: FolderAccess) -> None:
        """Hold and flag what was made from files of the folder that are other ones now, or from what fell."""
        paths = {file.path for task in state.tasks for file in task.files if not file.is_made}
        digests = await digest_files_once(self.services.sandbox, access, sorted(paths)) if paths else None
        if digests is None:
            await self._due.hold_fallen(await read_state(self.store, state.project.id))
            return
        documents = await self.store.knowledge.documents(state.project.id)
        chunks = await self.store.knowledge.of_project(state.project.id)
        notes = NoteHistory({note.path: note for note in documents if note.is_note_at(paths)}, chunks)
        tasks = {task.id: task for task in state.tasks}

        def compare(task: WorkTask, path: str) -> SectionChange:
            return notes.compare(task, path, digests.get(path, ""))

        changed = find_changed_files(state.tasks, digests, lambda task, path: compare(task, path).has_only_grown)
        lines = {name: describe_lines(compare(tasks[name], path).lines) for name, path in changed.items()}
        known_lines = {name: words for name, words in lines.items() if words}
        await self._due.hold_fallen(await read_state(self.store, state.project.id), changed, known_lines)

    async def _keep_order(self, project: Project, before: ProjectFacts) -> KeptOrder:
        kept = await keep_order(self.store, project, before)
        if words := kept.describe():
            self.report_event("noticed", words)
        return kept

    async def _read_folder(self, project: Project, access: FolderAccess, must_stop: MustStop) -> None:
        past, left = self.read_notes.setdefault(project.id, ReadNotes()), math.inf
        while not await must_stop():
            read = await read_folder(self.store, project, access, self.services.sandbox, past)
            if read.stored or read.fallen or read.skipped:
                self.report_event("read", read.describe())
            if not read.waiting or read.waiting >= left:  # Some file may change all the time.
                return
            left = read.waiting

    async def _has_notes(self, project_id: str) -> bool:
        facts = await self.store.read_facts(project_id)
        return any(not document.is_answer for document in facts.documents.values())

    async def note_rest(self, project_id: str, report: WakeReport) -> WakeReport:
        """Store why a wake ended, and count which chunks it retrieved together."""
        await self.store.knowledge.count_coretrievals(project_id)
        self.store.knowledge.search.drop(project_id)
        async with self.store.transaction() as transaction:
            why = await self._why_rest(transaction, project_id, report)
            await self.store.rests.note(transaction, project_id, why)
            words = report.describe()
            await self.store.log.put(transaction, project_id, "work.rested", words)
        self.report_event("rested", words)
        log.info("work.rested", reason=report.reason.value, tasks=report.tasks_ended)
        return report

    async def _why_rest(self, transaction: Transaction, project_id: str, report: WakeReport) -> str:
        """Return why the project rests. What the owner said since the last look at it would wait for the next word:
        another wake looks at it at once; at what a program answered since then, one in its turn."""
        if report.reason in NOTHING_TO_DO:
            if await self.store.log.last_word(project_id, transaction) > report.last_word:
                return ""
            if has_new_answers(await self.store.questions.of_project(project_id, transaction)):
                return RestReason.RESTED.value
        return report.reason.value

    async def _work(self, state: AgentState, must_stop: MustStop) -> WakeReport:
        project_id, ended = state.project.id, 0
        model = self.model(project_id)
        try:
            while True:
                if await must_stop():
                    return WakeReport(RestReason.INTERRUPTED, "", ended)
                if ended >= self.settings().most_tasks:
                    return WakeReport(RestReason.RESTED, f"after {ended} tasks", ended)
                last_word = await self.store.log.last_word(project_id)
                await note_answers(self.store, project_id)
                state = await self._due.settle(model, await read_state(self.store, project_id))
                if has_new_answers(state.questions):
                    # What waited for them is free already, and must not begin without them.
                    continue
                if model.tier is not Tier.CAPABLE:
                    return _rest_as_keeper(state, last_word, has_notes=await self._has_notes(project_id))
                if report := _why_rest(state, ended):
                    return replace(report, last_word=last_word)
                await require_audit_budget(model, state.queue[0], state.orientation.content)
                await self._do_task(model, state, state.queue[0])
                ended += 1
        except BudgetExceededError as error:
            return WakeReport(
                RestReason.BUDGET, error.message, ended, error.goes_on_after_seconds or _ASK_AGAIN_SECONDS
            )
        except ModelUnavailableError as error:
            wait_seconds = max(error.retry_after_seconds or 0.0, _TRY_AGAIN_SECONDS)
            return WakeReport(RestReason.NO_MODEL, error.message, ended, wait_seconds)
        except ModelError as error:
            return WakeReport(RestReason.NO_MODEL, error.message, ended, _TRY_AGAIN_SECONDS)

    async def _do_task(self, model: WorkModel, state: AgentState, task: WorkTask) -> None:
        if (off_track := await find_off_track(self.store, model, state, task)) is not None:
            self.report_event("off track?", await note_off_track(self.store, task, off_track))
        async with self.store.transaction() as transaction:
            # As it is now: a program outside may have changed it, begun it or done it meanwhile.
            tasks = await self.store.tasks.of_project(task.project_id, transaction)
            task = next((other for other in tasks if other.id == task.id), task)
            if not await self.store.tasks.begin(transaction, task.id):
                return
            await self.store.log.put(transaction, task.project_id, "task.began", task.title, task)
        self.report_event("task", task.title)
        try:
            await self._attempt(model, state, replace(task, tries=task.tries + 1))
        except BaseException:
            # A try that the budget, a model or a word of the owner broke off is none.
            await asyncio.shield(self._give_back(task))
            raise

    async def _attempt(self, model: WorkModel, state: AgentState, task: WorkTask) -> None:
        """Make one attempt at a task that was begun, and store its result."""
        own = own_answers(state.questions, task.id)
        if own and is_dropping(own[-1].answer):
            result = TaskResult(ResultStatus.GIVEN_UP, f"Left out. You said: “{own[-1].answer}”")
            await self._results.store_result(model, state, task, result)
            return
        steps = StepRows(self.store, task, self.report_event)
        watched = replace(model, recorder=steps)
        search = SourcedSearch(self.store, state.session_id)
        is_free = _is_free(task)
        tools = await self._open_tools(state, task, steps, search, with_servers=is_free)
        try:
            place = Workplace(self.store, watched, state, search, self._limits(), tools)
            audit = partial(audit_attempt, self.store, watched, state, task)
            result = await execute_freely(place, task, audit) if is_free else ask_owner(place, task)
        finally:
            await asyncio.shield(tools.close())
        sources = task.foreign_sources | search.seen_sources
        await self._results.store_result(watched, state, replace(task, foreign_sources=sources), result)

    async def _open_tools(
        self, state: AgentState, task: WorkTask, steps: StepRows, search: SourcedSearch, *, with_servers: bool
    ) -> TaskTools:
        """Open the tools of an attempt; the caller closes them."""
        servers = ServerTools(self.store, state.project, self.services.open_server, self.report_event)
        try:
            if with_servers:
                await servers.open()
            return TaskTools(
                services=self.services,
                store=self.store,
                state=state,
                task=task,
                steps=steps,
                find_chunks=partial(search.find, task),
                sources=search.seen_sources,
                servers=servers,
                defer_break=self.defer_break,
            )
        except BaseException:
            await asyncio.shield(servers.close())
            raise

    async def _look_around(self, state: AgentState) -> PlanSurroundings:
        """See what a plan can count on: the files of the folder, and what can be done."""
        access, web = folder_access(state), self.services.web()
        means = ["look things up in what the project knows", "ask"]
        files = await list_files_once(self.services.sandbox, access) if access is not None else []
        if access is not None:
            means.append("read, write and edit files in the folder" if access.may_write else "read files in the folder")
            if access.may_write and self.services.sandbox.can_run:
                means.append("run shell commands there, without a network")
        if web.enabled:
            means.append("fetch pages of the web, after a yes")
        return PlanSurroundings(files, "; ".join(means))

    def _limits(self) -> LoopLimits:
        settings = self.settings()
        return LoopLimits(settings.most_steps, settings.task_minutes * 60.0)

    async def _give_back(self, task: WorkTask) -> None:
        async with self.store.transaction() as transaction:
            await self.store.tasks.give_back(transaction, task)


def _why_rest(state: AgentState, ended: int) -> WakeReport | None:
    """Return why there is nothing to do now; None if there is."""
    if state.queue and state.goal is not None:
        return None
    match state.status:
        case AgentStatus.WAITING:
            return WakeReport(RestReason.WAITING, state.message, ended)
        case AgentStatus.ERROR:
            return WakeReport(RestReason.STUCK, state.message, ended)
        case AgentStatus.READY | AgentStatus.COMPLETE:
            done = sum(task.status is TaskStatus.DONE for task in state.tasks)
            counted = sum(task.status is not TaskStatus.DROPPED for task in state.tasks)
            noun = "task is" if counted == 1 else "tasks are"
            words = f"{done} of {counted} {noun} done. {say_progress(state.page)}"
            return WakeReport(RestReason.DONE, words, ended)


def _rest_as_keeper(state: AgentState, last_word: int, *, has_notes: bool) -> WakeReport:
    """Return how a wake with a small model ends: order is kept, and whatever is to be done is the owner's."""
    if state.open_questions:
        return WakeReport(RestReason.WAITING, say_waiting(len(state.open_questions)), 0, last_word=last_word)
    words = f"The notes are kept in order. {_LEFT_TO_OWNER}" if has_notes else _LEFT_TO_OWNER
    return WakeReport(RestReason.KEPT, words, 0, last_word=last_word)


def _is_free(task: WorkTask) -> bool:
    """Whether the task runs in the free loop, unless only the owner can answer it."""
    return task.kind is not TaskKind.ASK
