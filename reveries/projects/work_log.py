"""The log of projects: what was done when, by whom, and what follows from counting it (V-27, V-49)."""

from collections.abc import Iterable

from reveries.clock import Clock
from reveries.db.database import Database, Reader, Transaction
from reveries.db.typed_rows import read_row
from reveries.errors import UsageError
from reveries.projects.model import Project, WorkLogEntry, WorkTask

MOST_ADDED_A_DAY = 200
"""Log entries and chunks that one program without write permission may add to a project."""
_DAY_SECONDS = 86400.0


class WorkLog:
    """Reads and extends the log of each project."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def put(
        self, transaction: Transaction, project_id: str, action: str, details: str = "", task: WorkTask | None = None
    ) -> int:
        """Add an entry to the log (V-27); return its id."""
        row: dict[str, object] = {
            "project_id": project_id,
            "action": action,
            "details": details,
            "now": self._clock.now(),
        }
        row |= {"task_id": task.id if task else None, "skill_area": task.skill_area if task else ""}
        [put] = await transaction.rows("projects.put_activity", row)
        return int(put["id"])

    async def note_planned(self, transaction: Transaction, project_id: str, tasks: Iterable[WorkTask]) -> None:
        """Log which tasks a plan made: a later plan may drop those, and no task of the owner's."""
        for task in tasks:
            await self.put(transaction, project_id, "task.planned", task.title, task)

    async def put_event(self, project_id: str, action: str, details: str = "", task: WorkTask | None = None) -> None:
        """Add an entry to the log that belongs to no other change."""
        async with self._database.transaction() as transaction:
            await self.put(transaction, project_id, action, details, task)

    async def newest(self, project_id: str, limit: int) -> list[WorkLogEntry]:
        """Newest first."""
        named = {"project_id": project_id, "limit": limit}
        return [read_row(WorkLogEntry, row) for row in await self._database.rows("projects.activities", named)]

    async def own(self, project_id: str, limit: int, source: Reader | None = None) -> list[WorkLogEntry]:
        """Return the latest log entries, newest first, without those of external programs."""
        named = {"project_id": project_id, "limit": limit}
        rows = await (source or self._database).rows("projects.own_activities", named)
        return [read_row(WorkLogEntry, row) for row in rows]

    async def require_room_for(self, program: str, project: Project) -> None:
        """Raise UsageError if a program without write permission has reached its daily limit."""
        named = {"project_id": project.id, "source": program, "since": self._clock.now() - _DAY_SECONDS}
        [row] = await self._database.rows("projects.count_added", named)
        if row["number"] >= MOST_ADDED_A_DAY:
            raise UsageError(
                f"You added {MOST_ADDED_A_DAY} things to {project.name} within a day.",
                advice="Go on tomorrow; or its owner allows more: reveries mcp allow NAME --write",
            )

    async def count_since(self, project_id: str, since: float) -> int:
        """Return how many log entries are newer than `since`."""
        [row] = await self._database.rows("projects.activities_since", {"project_id": project_id, "since": since})
        return int(row["number"])

    async def count_plans_since_word(self, project_id: str, source: Reader | None = None) -> int:
        """Return how often was planned since the owner's last word."""
        [row] = await (source or self._database).rows("projects.plans_since_word", {"project_id": project_id})
        return int(row["number"])

    async def count_plans_since_reached_answer(self, project_id: str, source: Reader | None = None) -> int:
        """Return how often was planned since the owner last said whether the goal is reached."""
        named = {"project_id": project_id}
        [row] = await (source or self._database).rows("projects.plans_since_reached_answer", named)
        return int(row["number"])

    async def coherence_checks(self, project_id: str) -> list[WorkLogEntry]:
        """Return which tasks the mind began, and which of them it warned of (V-51), oldest first."""
        named = {"project_id": project_id}
        return [read_row(WorkLogEntry, row) for row in await self._database.rows("projects.coherence_checks", named)]

    async def tasks_planned(self, project_id: str) -> frozenset[str]:
        """Return the ids of the tasks that a plan of the mind made."""
        rows = await self._database.rows("projects.tasks_planned", {"project_id": project_id})
        return frozenset(str(row["task_id"]) for row in rows)

    async def last_word(self, project_id: str, source: Reader | None = None) -> int:
        """Return the log id of the owner's last goal, answer, material or other change to a project; 0: none."""
        [row] = await (source or self._database).rows("projects.last_word", {"project_id": project_id})
        return int(row["number"])
