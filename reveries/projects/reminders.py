"""Reminders of days that tasks are due on: one the day before, one on the day, each once."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum

from reveries.clock import Clock
from reveries.db.database import Database
from reveries.db.typed_rows import read_row
from reveries.projects.model import TaskStatus, WorkTask
from reveries.projects.task_days import today
from reveries.projects.task_store import TaskStore

_OVER = (TaskStatus.DONE, TaskStatus.DROPPED)


class ReminderKind(StrEnum):
    DAY_BEFORE = "day_before"
    ON_DAY = "on_day"


@dataclass(frozen=True, slots=True)
class Reminder:
    """That a task is due, for one of its days."""

    task_id: str
    due: str
    kind: ReminderKind


@dataclass(frozen=True, slots=True)
class DueTask:
    """A task that a reminder is about, with the name of its project."""

    task: WorkTask
    project: str
    kind: ReminderKind

    def describe(self) -> str:
        """Return the note: “Due tomorrow, 14:00: Call the plumber (Boat)”."""
        day = "today" if self.kind is ReminderKind.ON_DAY else "tomorrow"
        at = f", {self.task.due[11:]}" if "T" in self.task.due else ""
        return f"Due {day}{at}: {self.task.title} ({self.project})"


def due_reminders(tasks: Sequence[WorkTask], made: Collection[Reminder], today: date) -> list[Reminder]:
    """Return the reminders that are to be made on `today` for open tasks: those of the day before only while it is that
    day. Pure."""
    wanted = [Reminder(task.id, task.due, kind) for task in tasks if (kind := kind_of(task, today)) is not None]
    return [reminder for reminder in wanted if reminder not in made]


def kind_of(task: WorkTask, today: date) -> ReminderKind | None:
    """Return how an open task is due: today or tomorrow; None otherwise. Pure."""
    if not task.due or task.status in _OVER:
        return None
    days_left = date.fromisoformat(task.due[:10]) - today
    if not days_left:
        return ReminderKind.ON_DAY
    return ReminderKind.DAY_BEFORE if days_left == timedelta(days=1) else None


class ReminderStore:
    """The reminders of all projects, in the database."""

    def __init__(self, database: Database, tasks: TaskStore, clock: Clock) -> None:
        self._database = database
        self._tasks = tasks
        self._clock = clock

    async def due_tasks(self) -> list[DueTask]:
        """Return the open tasks of active projects that are due today or tomorrow, the first due first."""
        day = today(self._clock.now())
        rows = [row for row in await self._database.rows("projects.all") if row["state"] == "active"]
        due = [
            DueTask(task, row["name"], kind)
            for row in rows
            for task in await self._tasks.of_project(row["id"])
            if (kind := kind_of(task, day)) is not None
        ]
        return sorted(due, key=lambda item: (item.task.due, item.task.title))

    async def make(self) -> int:
        """Make the reminders of today that were not made yet; return how many."""
        tasks = [item.task for item in await self.due_tasks()]
        made = {read_row(Reminder, row) for row in await self._database.rows("reminders.all")}
        new = due_reminders(tasks, made, today(self._clock.now()))
        now = self._clock.now()
        rows = [{"task_id": item.task_id, "due": item.due, "kind": item.kind.value, "now": now} for item in new]
        if rows:
            async with self._database.transaction() as transaction:
                await transaction.run_many("reminders.put", rows)
        return len(rows)

    async def take(self) -> list[str]:
        """Return the reminders that nobody saw yet and that still hold, a line each, and mark them as shown."""
        rows = await self._database.rows("reminders.waiting")
        if not rows:
            return []
        waiting = {read_row(Reminder, row) for row in rows}
        due = [item for item in await self.due_tasks() if Reminder(item.task.id, item.task.due, item.kind) in waiting]
        async with self._database.transaction() as transaction:
            await transaction.run("reminders.mark_shown", {"now": self._clock.now()})
        return [item.describe() for item in due]
