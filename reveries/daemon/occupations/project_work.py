"""Runs project work in the daemon: when a wake begins, what ends it, and what is remembered of it."""

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog

from reveries.clock import Deadline
from reveries.daemon.lifecycle.watchdog import Watchdog
from reveries.daemon.mind_events import MindEvents
from reveries.daemon.mind_parts import MindParts
from reveries.daemon.models.watched_model import WatchedModel
from reveries.daemon.occupations.activity import Activity
from reveries.daemon.occupations.attention import Lane, Occupation, OccupationCandidate
from reveries.daemon.occupations.sleep_control import SleepControl
from reveries.daemon.occupations.thinking_control import Permission
from reveries.daemon.occupations.work_break import YOU_SPOKE, YOU_WRITE, WorkBreak
from reveries.db.database import Transaction
from reveries.errors import AsleepError, NotFoundError, UsageError
from reveries.llm.base import Role
from reveries.llm.prices import price_of
from reveries.memory.conversations import ConversationStore
from reveries.memory.model import Origin
from reveries.notifier import Notifier
from reveries.projects.model import Project, WorkTask
from reveries.projects.store import ProjectStore
from reveries.projects.wake_report import NOTHING_TO_DO, RestReason, WakeReport
from reveries.projects.work_model import WorkModel
from reveries.safety.verdict import Verdict
from reveries.tools.folder_copies import FolderCopies, RestoreResult

if TYPE_CHECKING:
    # A mind without projects does not need these.
    from collections.abc import AsyncIterator

    from reveries.projects.folder_reading import ReadNotes
    from reveries.projects.task_tools import ToolServices
    from reveries.projects.work import ProjectWork
    from reveries.projects.work_observers import ReportEvent
    from reveries.tools.mcp_servers import McpServer

log = structlog.get_logger("work")

_GOES_ON: Final = frozenset({"", RestReason.INTERRUPTED.value, RestReason.NO_MODEL.value})
"""Why a project rests that is in the midst of something."""
_PERMISSION_SECONDS = 10.0
"""Between two looks, while a model answers, at whether the work may go on."""
_FAILED_SECONDS = 1800.0
"""A project whose wake failed waits so long: meanwhile the others get their turn."""


class ProjectWorker:
    """Works on one project at a time, when `attention` chooses it."""

    def __init__(
        self,
        parts: MindParts,
        *,
        activity: Activity,
        sleep: SleepControl,
        permission: Permission,
        watchdog: Watchdog,
        events: MindEvents,
        store: ProjectStore,
    ) -> None:
        self._parts = parts
        self._activity = activity
        self._sleep = sleep
        self._permission = permission
        self._events = events
        # Work holds the lock of sleep, so the same pulse shows the progress of either.
        self._pulse = watchdog.sleep
        self.store = store
        self._copies = FolderCopies(parts.home.folder_copies)
        self._services: ToolServices | None = None
        self.happened: Notifier[[str, str, str]] = Notifier()
        """The project's name, the event, and a short text."""
        self.changed: Notifier[[]] = Notifier()
        """What can be worked on may have changed."""
        self._asked: dict[str, asyncio.Future[WakeReport]] = {}
        self._waits: dict[str, Deadline] = {}
        """Until when a project has no budget or no model, so that a wake would be useless."""
        self._read_notes: dict[str, ReadNotes] = {}
        """What was read of the folder of each project since the mind woke."""
        self._at_work = ""
        self._break: WorkBreak | None = None
        """The break of the current wake."""
        self._permission_looked = Deadline()
        self._is_asked_for = False
        """Whether the owner asked for the current wake, which then goes on into the quiet hours."""
        self._folders = asyncio.Lock()
        """Held by a wake, and while a folder is restored."""

    def consider(self) -> None:
        """Check again what to do, because a goal, an answer or a setting changed."""
        self._waits.clear()
        self.changed.notify()

    async def request_work(self, name: str) -> Project:
        """Wake a project as soon as no one talks and no sleep is due. Raises NotFoundError, UsageError."""
        project = await self.store.find(name) if name else await self._longest_unserved()
        if project.state != "active":
            raise UsageError(
                f"{project.name} is {project.state}: it is not worked on.",
                advice=f"Let it go on: reveries project resume {project.name}",
            )
        if project.id not in self._asked:
            self._asked[project.id] = asyncio.get_running_loop().create_future()
            # A caller that only requests it reads no outcome; the wake itself reports an error.
            self._asked[project.id].add_done_callback(lambda done: done.cancelled() or done.exception())
        self.consider()
        return project

    async def work_now(self, name: str) -> tuple[Project, WakeReport]:
        """Request work and wait until the wake ends. Raises NotFoundError, UsageError."""
        project = await self.request_work(name)
        return project, await asyncio.shield(self._asked[project.id])

    async def candidates(self) -> Sequence[OccupationCandidate]:
        """Return the projects and which of them can be worked on; none if none is active."""
        if not self._asked and not await self.store.has_active_project():
            return []
        return [await self._candidate(project) for project in await self.store.projects()]

    async def _candidate(self, project: Project) -> OccupationCandidate:
        settings = self._parts.settings.projects
        has_goal = any(goal.state != "past" for goal in await self.store.goals(project.id))
        can_work = project.state == "active" and has_goal and project.rested_because not in NOTHING_TO_DO
        # Work that something interrupted does not wait like a project that rested by itself.
        waits = self._waits.get(project.id, Deadline()).seconds_left(self._parts.clock) > 0
        return OccupationCandidate(
            project.id,
            Occupation.WORK,
            self._lane,
            can_run=settings.enabled and can_work and not waits,
            last_run_at=None if project.rested_because in _GOES_ON else project.last_worked_at,
            rest_seconds=settings.rest_minutes * 60.0,
            was_asked_for=project.id in self._asked,
        )

    @property
    def _lane(self) -> Lane:
        return Lane.LOCAL if self._parts.models.may_be_local(Role.WORK) else Lane.HOSTED

    async def _longest_unserved(self) -> Project:
        active = [project for project in await self.store.projects() if project.state == "active"]
        if not active:
            raise NotFoundError(
                "There is no project to work on.",
                advice='Begin one: reveries project new Piano, then reveries project goal Piano "..."',
            )
        return min(active, key=lambda project: (project.last_worked_at or 0.0, project.created_at))

    async def run(self, candidate_id: str) -> None:
        """One wake of a project, broken off by a word of the owner at once; then the rows say where it stands."""
        waiting = self._asked.pop(candidate_id, None)
        self._is_asked_for = waiting is not None
        try:
            async with self._folders:
                self._at_work = candidate_id
                report = await self._wake_until_words(candidate_id)
        except asyncio.CancelledError:
            if waiting is not None:
                waiting.set_exception(AsleepError("The mind falls asleep.", advice="Wake it: reveries wake"))
            raise
        except Exception as error:
            # The supervisor starts it again at once, and this project would be the longest unserved for ever.
            self._waits[candidate_id] = Deadline.after(_FAILED_SECONDS, self._parts.clock)
            if waiting is not None:
                waiting.set_exception(error)
            raise
        finally:
            self._at_work, self._break = "", None
        self._waits[candidate_id] = Deadline.after(report.wait_seconds, self._parts.clock)
        if waiting is not None and not waiting.done():
            waiting.set_result(report)

    async def _wake_until_words(self, project_id: str) -> WakeReport:
        project = next(candidate for candidate in await self.store.projects() if candidate.id == project_id)
        self._break = work_break = WorkBreak()
        work = await self._open_work(partial(self.happened.notify, project.name), work_break)
        async with self._activity.during_work(project.name, self._lane):
            if self._activity.words_came.is_set():
                return await work.note_rest(project_id, WakeReport(RestReason.INTERRUPTED, YOU_SPOKE, 0))
            if displaced := self._activity.displaced_because:
                return await work.note_rest(project_id, WakeReport(RestReason.INTERRUPTED, displaced, 0))
            if self._activity.is_writing and self._is_local and not self._is_asked_for:
                return await work.note_rest(project_id, WakeReport(RestReason.INTERRUPTED, YOU_WRITE, 0))
            try:
                async with work_break.breakable():
                    with (
                        self._events.state_changed.subscribed(work_break.note_state),
                        self._activity.writing_noted.subscribed(partial(self._make_room, work_break)),
                        self._activity.work_displaced.subscribed(work_break.ask),
                    ):
                        return await work.wake(project_id, self._must_stop)
            except TimeoutError:
                if not work_break.has_broken_off:
                    raise
                return await work.note_rest(project_id, WakeReport(RestReason.INTERRUPTED, work_break.why, 0))

    async def follow_folder(self, project: Project) -> bool:
        """Read what changed in the folder of a project and keep order, without a model; False while a wake or a reply
        is under way."""
        if self._at_work or self._activity.is_talking or self._folders.locked():
            return False
        async with self._folders:
            work = await self._open_work(partial(self.happened.notify, project.name), WorkBreak())
            kept = await work.follow_folder(project.id)
        if kept.changes or kept.flagged:
            # A capable model may have something to do again.
            async with self.store.transaction() as transaction:
                await self.store.rests.clear(transaction, project.id)
            self.consider()
        return True

    async def write_draft(self, project: Project, wish: str) -> str:
        """Make a draft from the notes of a project; return its id. Raises UsageError, ModelError."""
        from reveries.projects.draft_writing import write_draft

        owner = self._parts.settings.owner.name or "the owner"
        return await write_draft(self.store, self._model(project.id), project, wish, owner)

    def break_off(self, project_id: str, why: str) -> None:
        """End the wake of a project at once, if it is under way: its owner paused it."""
        if self._at_work == project_id and self._break is not None:
            self._break.ask(why)

    def _make_room(self, work_break: "WorkBreak") -> None:
        """Free a local model for the words that the owner is writing: when they come, it would first have to finish the
        prompt tokens in hand. A hosted model serves both, and its tokens are paid for."""
        if self._is_local:
            work_break.ask(YOU_WRITE)

    @property
    def _is_local(self) -> bool:
        """Whether the model of work runs on a machine of the owner's."""
        return not self._parts.models.choices[Role.WORK].is_hosted

    def _note_piece(self) -> None:
        """A piece of an answer came: the work gets on, and ends where it may not go on."""
        self._pulse.beat()
        if self._is_asked_for or self._break is None or self._permission_looked.seconds_left(self._parts.clock) > 0:
            return
        self._permission_looked = Deadline.after(_PERMISSION_SECONDS, self._parts.clock)
        if (hold := self._permission.find_hold()) is not None:
            self._break.ask(hold.why)

    async def _open_work(self, report_event: "ReportEvent", work_break: "WorkBreak") -> "ProjectWork":
        from reveries.projects.work import ProjectWork

        return ProjectWork(
            store=self.store,
            settings=lambda: self._parts.settings.projects,
            model=self._model,
            memory=WorkExperiences(self._parts.memory.conversations, self._sleep),
            services=await self._open_services(),
            report_event=report_event,
            defer_break=work_break.defer,
            read_notes=self._read_notes,
        )

    async def _open_services(self) -> "ToolServices":
        """Open the services once; starting the sandbox shows whether it works."""
        from reveries.projects.task_tools import ToolServices
        from reveries.tools.sandbox import find_sandbox

        if self._services is None:
            self._services = ToolServices(
                sandbox=await asyncio.to_thread(find_sandbox),
                copies=self._copies,
                web=lambda: self._parts.settings.web,
                open_server=self._open_server,
            )
        await asyncio.to_thread(self._copies.drop_old, self._parts.clock.now())
        return self._services

    @contextlib.asynccontextmanager
    async def borrow_server(self, name: str) -> "AsyncIterator[McpServer]":
        """Open a configured MCP server for a short time. Raises ToolError, ConfigError."""
        await self._open_services()
        server = self._open_server(name)
        try:
            yield server
        finally:
            await asyncio.shield(server.close())

    async def grant_server_tools(self, project: Project, server: str, name: str) -> None:
        """Allow a tool of an MCP server, or all that it has now. Raises ToolError, ConfigError, NotFoundError."""
        from reveries.projects.server_tools import grant_server_tools

        async with self.borrow_server(server) as borrowed:
            await grant_server_tools(self.store, project, name, borrowed)

    def _open_server(self, name: str) -> "McpServer":
        from reveries.tools.mcp_servers import McpServerOpener

        settings = self._parts.settings.mcp.servers.get(name)
        if settings is None:
            raise NotFoundError(f"There is no MCP server {name} any more.", advice="See: reveries mcp servers")
        assert self._services is not None
        return McpServerOpener(self._services.sandbox, self._parts.home.path).open(name, settings)

    async def undo_task(self, project: Project, task: WorkTask) -> RestoreResult:
        """Restore the project's folder to its state before a task. Raises UsageError, ToolError."""
        folder = Path(project.folder)
        if self._at_work == project.id:
            raise UsageError(
                f"{project.name} is being worked on.", advice=f"First: reveries project pause {project.name}"
            )
        if not project.folder or not await asyncio.to_thread(folder.is_dir):
            raise UsageError(f"{project.name} has no folder.", advice="There is nothing to give back.")
        steps = await self.store.tasks.steps_of(task.id)
        written = [
            (step.path, step.sha256) for step in steps if step.reach == "inside" and step.path and step.state == "done"
        ]
        async with self._folders:
            undone = await asyncio.to_thread(self._copies.restore, task.id, folder, written)
        await self.store.log.put_event(project.id, "task.undone", task.title, task)
        await asyncio.to_thread(self._copies.drop, task.id, folder)
        return undone

    async def drop_folder_copies(self) -> None:
        """Delete all folder copies, because they may contain what is erased."""
        await asyncio.to_thread(self._copies.drop_all)

    async def _must_stop(self) -> bool:
        """Whether to stop between two tasks, because something else comes first or quiet hours began."""
        self._pulse.beat()
        if not await self.store.is_active(self._at_work):
            return True
        is_held = self._permission.find_hold() is not None and not self._is_asked_for
        if is_held or self._activity.words_came.is_set():
            return True
        return self._lane is Lane.LOCAL and await self._sleep.why_due(is_working=True) is not None

    def _model(self, project_id: str) -> WorkModel:
        models, settings = self._parts.models, self._parts.settings
        watched = WatchedModel(
            models.work, settings.circuit_breaker, self._record_trip, models.embedding.bare, self._note_piece
        )
        chosen = (models.choices[Role.WORK], *models.fallbacks.get(Role.WORK, ()))
        return WorkModel(
            watched,
            project_id,
            models.tier(Role.WORK),
            settings.owner.name or "the owner",
            ledger=self._parts.ledger,
            candidates=tuple(candidate.name for candidate in chosen),
            find_price=partial(price_of, llm=settings.llm),
        )

    async def _record_trip(self, verdict: Verdict, so_far: str) -> None:
        await self._parts.journal.record_trip("consolidation", verdict, so_far, "the step was cut and not used")


@dataclass(frozen=True, slots=True)
class WorkExperiences:
    """Stores work as experiences, so that the mind recalls it and sleep processes it."""

    conversations: ConversationStore
    sleep: SleepControl

    async def put_experience(self, transaction: Transaction, text: str, *, is_tainted: bool) -> None:
        """Store the outcome of a task in the transaction that ends it."""
        await self.conversations.put_external(transaction, text, Origin.SELF, is_tainted=is_tainted)

    async def light_sleep(self) -> None:
        """Make the new experiences recallable."""
        await self.sleep.light_sleep()
