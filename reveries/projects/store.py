"""The store of projects: reads whole projects, and makes each change in one transaction."""

import json
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace

import msgspec

from reveries.clock import Clock
from reveries.db.checksums import checksum
from reveries.db.database import Database, Reader, Row, Transaction
from reveries.db.typed_rows import read_row
from reveries.errors import NotFoundError, UsageError
from reveries.knowledge.project_knowledge import ProjectKnowledge
from reveries.projects.conflict_decisions import ConflictDecisions
from reveries.projects.draft_store import DraftStore
from reveries.projects.facts_view import FactsView, ProjectFacts
from reveries.projects.grant_store import GrantStore
from reveries.projects.model import (
    Goal,
    NewQuestion,
    Orientation,
    OrientationVersion,
    Phase,
    Project,
)
from reveries.projects.proposal_store import ProposalStore
from reveries.projects.question_store import QuestionStore
from reveries.projects.reminders import ReminderStore
from reveries.projects.rests import RestStore
from reveries.projects.task_store import TaskStore
from reveries.projects.work_log import WorkLog

EMPTY_ORIENTATION = Orientation("")
LONGEST_GOAL_CHARS = 4000
LONGEST_NAME_CHARS = 60
_SHORTEST_ID_CHARS = 4
"""Minimum length of an id prefix that identifies a project."""
_ID = re.compile("[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class SaidWithGoal:
    """A question that the owner answers with the goal itself."""

    question: NewQuestion
    answer: str


class ProjectStore:
    """Reads and changes the projects of this mind."""

    def __init__(
        self, database: Database, knowledge: ProjectKnowledge, clock: Clock, new_id: Callable[[], str]
    ) -> None:
        self._database = database
        self.knowledge = knowledge
        self.tasks = TaskStore(database, knowledge, clock, new_id)
        self.log = WorkLog(database, clock)
        self.rests = RestStore(clock)
        self.questions = QuestionStore(database, self.tasks, self.log, self.rests, clock, new_id)
        self.drafts = DraftStore(database, clock, new_id)
        self.facts = FactsView()
        self.conflict_decisions = ConflictDecisions(database, clock, new_id)
        self.proposals = ProposalStore(database, self.tasks, clock, new_id)
        self.reminders = ReminderStore(database, self.tasks, clock)
        self.grants = GrantStore(database, clock, new_id)
        self._clock = clock
        self._new_id = new_id

    @property
    def now(self) -> float:
        return self._clock.now()

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        """Begin one change of projects, for the methods that take a transaction."""
        return self._database.transaction()

    def snapshot(self) -> AbstractAsyncContextManager[Reader]:
        """Read several things as they are at one moment."""
        return self._database.reading_transaction()

    # --- reading -----------------------------------------------------------------------------------------------------

    async def projects(self) -> list[Project]:
        return [_project_from_row(row) for row in await self._database.rows("projects.all")]

    async def has_active_project(self) -> bool:
        return bool(await self._database.rows("projects.active"))

    async def is_active(self, project_id: str) -> bool:
        """Whether the project is active: neither paused nor archived."""
        return any(project.id == project_id and project.state == "active" for project in await self.projects())

    async def find(self, name: str) -> Project:
        """Find a project by id, name or unique id prefix. Raises NotFoundError."""
        projects = await self.projects()
        exact = [project for project in projects if project.id == name]
        named = [project for project in projects if project.name.casefold() == name.strip().casefold()]
        matches = (
            exact
            or named
            or [project for project in projects if len(name) >= _SHORTEST_ID_CHARS and project.id.startswith(name)]
        )
        if len(matches) == 1:
            return matches[0]
        names = ", ".join(project.name for project in projects if project.state != "archived") or "none yet"
        raise NotFoundError(f"There is no project {name[:80]!r}.", advice=f"There are: {names}.")

    async def goals(self, project_id: str, source: Reader | None = None) -> list[Goal]:
        """Oldest first."""
        rows = await (source or self._database).rows("projects.goals", {"project_id": project_id})
        return [read_row(Goal, row) for row in rows]

    async def orientation(self, project_id: str, source: Reader | None = None) -> OrientationVersion:
        [row] = await (source or self._database).rows("projects.orientation", {"project_id": project_id})
        return _orientation_from_row(row)

    async def orientations(self, project_id: str) -> list[OrientationVersion]:
        """Newest first."""
        rows = await self._database.rows("projects.orientations", {"project_id": project_id})
        return [_orientation_from_row(row) for row in rows]

    async def read_facts(self, project_id: str) -> ProjectFacts:
        """Return what has a value in the notes, documents and answers of a project, as they stand now. Files that tasks
        made are no notes: what stands in them was made from the notes, and would only be told twice."""
        made = {file.path for task in await self.tasks.of_project(project_id) for file in task.files if file.is_made}
        derived = {item.id for item in await self.knowledge.documents(project_id) if item.is_note_at(made)}
        chunks = [chunk for chunk in await self.knowledge.of_project(project_id) if chunk.document_id not in derived]
        return await self.facts.read(project_id, chunks, await self.conflict_decisions.of_project(project_id))

    # --- the owner's words -------------------------------------------------------------------------------------------

    async def create(
        self,
        name: str,
        folder: str = "",
        *,
        may_write: bool = False,
        orientation: Orientation = EMPTY_ORIENTATION,
        sources: frozenset[str] = frozenset(),
    ) -> Project:
        """Create a project with its first orientation (V-19) and its tools' folder. Raises UsageError."""
        name = " ".join(name.split())
        if not name or len(name) > LONGEST_NAME_CHARS:
            raise UsageError(
                f"A project's name has 1 to {LONGEST_NAME_CHARS} characters.", advice="reveries project new Piano"
            )
        projects = await self.projects()
        if any(project.name.casefold() == name.casefold() for project in projects):
            raise UsageError(f"There is a project {name} already.", advice="Choose another name for the new one.")
        is_beginning = len(name) >= _SHORTEST_ID_CHARS and any(
            project.id.startswith(name.lower()) for project in projects
        )
        if is_beginning or _ID.fullmatch(name.lower()):
            raise UsageError(f"{name} reads like an id of a project.", advice="Choose another name for the new one.")
        async with self._database.transaction() as transaction:
            project_id = await self.put_project(transaction, name, orientation, sources)
            await transaction.run("projects.set_folder", {"id": project_id, "folder": folder, "may_write": may_write})
        return await self.find(project_id)

    async def put_project(
        self,
        transaction: Transaction,
        name: str,
        orientation: Orientation = EMPTY_ORIENTATION,
        sources: frozenset[str] = frozenset(),
    ) -> str:
        """Store a project under a name that none has, with its first orientation; return its id."""
        project_id = self._new_id()
        await transaction.run("projects.put", {"id": project_id, "name": name, "now": self.now})
        await self._put_orientation(transaction, project_id, 1, orientation, "created", sources)
        await self.log.put(transaction, project_id, "project.created")
        return project_id

    async def set_goal(
        self, project: Project, text: str, dollars_limit: float | None, said: Sequence[SaidWithGoal] = ()
    ) -> Goal:
        """Set the goal that applies from the next task on (V-50, V-90); a limit of 0: none. The text of the current or
        pending goal again changes only its limit, and that only if one is given; of a goal that is reached, it is a new
        goal. `said`: what the owner says with it. Raises UsageError."""
        text = text.strip()
        if not text or len(text) > LONGEST_GOAL_CHARS:
            raise UsageError(
                f"A goal has 1 to {LONGEST_GOAL_CHARS} characters; this has {len(text)}.",
                advice="Say in a few sentences what is to be reached. Longer material belongs into the project: "
                "reveries project add",
            )
        async with self._database.transaction() as transaction:
            same = await self._same_goal(transaction, project, text)
            if same is None:
                goal = await self._put_goal(transaction, project, text, dollars_limit or None)
            else:
                goal = await self._limit_goal(transaction, project, same, dollars_limit)
            for statement in said:
                asked_id = await self.questions.put(transaction, project.id, statement.question)
                answered = {"id": asked_id, "answer": statement.answer, "now": self.now, "program": ""}
                await transaction.run("projects.answer_question", answered | {"foreign_sources": "[]"})
            await self.rests.clear(transaction, project.id)
        return goal

    async def _same_goal(self, transaction: Transaction, project: Project, text: str) -> Goal | None:
        """Return the goal with this text that is pending, or that the project still works on."""
        is_reached = (await self.orientation(project.id, transaction)).content.current_phase is Phase.COMPLETE
        at_work = ("pending",) if is_reached else ("pending", "active")
        goals = [goal for goal in await self.goals(project.id, transaction) if goal.state in at_work]
        return next((goal for goal in goals if goal.text.split() == text.split()), None)

    async def _put_goal(
        self, transaction: Transaction, project: Project, text: str, dollars_limit: float | None
    ) -> Goal:
        """Store a goal instead of a pending one; it applies at once if none does."""
        await transaction.run("projects.drop_pending_goals", {"project_id": project.id})
        active = [goal for goal in await self.goals(project.id, transaction) if goal.state == "active"]
        goal_id, state = self._new_id(), "pending" if active else "active"
        row = {"id": goal_id, "project_id": project.id, "text": text, "state": state, "now": self.now}
        row |= {"applied_at": None if active else self.now, "dollars_limit": dollars_limit}
        await transaction.run("projects.put_goal", row | {"checksum": checksum(text)})
        await self.log.put(transaction, project.id, "goal.said")
        return Goal(goal_id, text, state, self.now, dollars_limit)

    async def _limit_goal(
        self, transaction: Transaction, project: Project, goal: Goal, dollars_limit: float | None
    ) -> Goal:
        """Change the limit of a goal that the owner said again, if one is given (0: no limit): its plan, questions and
        spending stay."""
        if goal.state == "active":
            await transaction.run("projects.drop_pending_goals", {"project_id": project.id})
        if dollars_limit is None:
            await self.log.put(transaction, project.id, "goal.said")
            return goal
        limit = dollars_limit or None
        await transaction.run("projects.limit_goal", {"id": goal.id, "dollars_limit": limit})
        await self.log.put(transaction, project.id, "goal.limited", f"${limit:.2f}" if limit else "no limit")
        return replace(goal, dollars_limit=limit)

    async def set_folder(self, project: Project, folder: str, *, may_write: bool) -> None:
        """Set the only folder that its tools can access from the next task on; empty: none."""
        async with self._database.transaction() as transaction:
            row = {"id": project.id, "folder": folder, "may_write": may_write and bool(folder)}
            await transaction.run("projects.set_folder", row)
            await self.log.put(transaction, project.id, "folder.set")
            await self.rests.clear(transaction, project.id)

    async def set_state(self, project: Project, state: str) -> None:
        async with self._database.transaction() as transaction:
            await transaction.run("projects.set_state", {"id": project.id, "state": state})
            await self.log.put(transaction, project.id, f"project.{state}")

    async def revert_orientation(self, project: Project, version: int) -> None:
        """Make an earlier version the newest. Raises NotFoundError."""
        versions = await self.orientations(project.id)
        wanted = next((entry for entry in versions if entry.version == version), None)
        if wanted is None:
            raise NotFoundError(
                f"There is no version {version}.", advice=f"There are 1 to {versions[0].version}: orientation history"
            )
        async with self._database.transaction() as transaction:
            newest = await self.orientation(project.id, transaction)
            await self.put_orientation(
                transaction, project.id, newest, wanted.content, f"reverted to {version}", wanted.foreign_sources,
                reverted_to=version,
            )  # fmt: skip

    async def let_go_on(self, project_id: str) -> None:
        """Let the next wake of a project come at once: a day came that it waits for."""
        async with self.transaction() as transaction:
            await self.rests.clear(transaction, project_id)

    async def note_wake(self, project_id: str) -> None:
        """Record that a wake begins, and give back the tasks that a crash left in progress."""
        async with self.transaction() as transaction:
            await transaction.run("projects.note_wake", {"id": project_id, "now": self.now})
            await self.tasks.give_back_begun(transaction, project_id)

    # --- within a transaction ----------------------------------------------------------------------------------------

    async def apply_goal(self, transaction: Transaction, project_id: str, goal_id: str) -> None:
        """End the goal that applies, and let a pending one apply."""
        await transaction.run("projects.end_active_goal", {"project_id": project_id})
        await transaction.run("projects.activate_goal", {"id": goal_id, "now": self.now})

    async def note_rewrite_due(self, transaction: Transaction, project: Project, *triggers: str) -> None:
        due = " ".join(dict.fromkeys((*project.rewrite_due, *triggers)))
        await transaction.run("projects.set_rewrite_due", {"id": project.id, "due": due})

    async def put_orientation(
        self,
        transaction: Transaction,
        project_id: str,
        old: OrientationVersion,
        new: Orientation,
        trigger: str,
        sources: frozenset[str],
        reverted_to: int | None = None,
    ) -> None:
        """Store the next version, and clear the triggers that made it due."""
        await self._put_orientation(
            transaction, project_id, old.version + 1, new, trigger, sources | old.foreign_sources, reverted_to
        )
        await transaction.run("projects.set_rewrite_due", {"id": project_id, "due": ""})
        await self.log.put(transaction, project_id, "orientation.rewritten", f"version {old.version + 1}: {trigger}")

    async def _put_orientation(
        self,
        transaction: Transaction,
        project_id: str,
        version: int,
        content: Orientation,
        trigger: str,
        sources: frozenset[str],
        reverted_to: int | None = None,
    ) -> None:
        text = msgspec.json.encode(content).decode()
        row = {"project_id": project_id, "version": version, "content": text, "trigger": trigger, "now": self.now}
        row |= {"foreign_sources": json.dumps(sorted(sources)), "checksum": checksum(text), "reverted_to": reverted_to}
        await transaction.run("projects.put_orientation", row)


def _project_from_row(row: Row) -> Project:
    return read_row(Project, row, rewrite_due=tuple(row["rewrite_due"].split()))


def _orientation_from_row(row: Row) -> OrientationVersion:
    content = msgspec.json.decode(row["content"], type=Orientation)
    return read_row(OrientationVersion, row, content=content)
