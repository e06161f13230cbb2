"""Runs scheduled jobs. APScheduler's triggers say when (pure functions of now); this small loop runs what is due.

`next_run` is stored in SQLite and compared with the wall clock at least every 60 s, so that suspend and clock changes
only make a job late, and late jobs run once (E1).
"""

import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

import structlog

from reveries.clock import Clock
from reveries.db.database import Database
from reveries.db.failpoints import HangPlace, may_hang
from reveries.errors import DiskFullError, ReveriesError, StorageError, StorageLostError
from reveries.heartbeat import Pulse

_POLL_SECONDS = 60.0

log = structlog.get_logger("schedule")


class Trigger(Protocol):
    """The interface of APScheduler's triggers: the next time, given the last."""

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime | None: ...


@dataclass(frozen=True, slots=True)
class ScheduledJob:
    """A job. `run` returns its outcome in a few words, or None if there was nothing to do."""

    name: str
    trigger: Trigger
    run: Callable[[], Awaitable[str | None]]
    has_own_pulse: bool = False
    """Whether the watchdog watches it separately: then the schedule counts as waiting."""


class Schedule:
    """Runs each job when it is due, one at a time, and only once if it is late."""

    def __init__(self, database: Database, clock: Clock, jobs: Sequence[ScheduledJob]) -> None:
        self._database = database
        self._clock = clock
        self._jobs = {job.name: job for job in jobs}
        self._next_run_at: dict[str, float] = {}
        self.pulse = Pulse()

    async def run(self) -> None:
        """Load the plans, then run due jobs for ever."""
        await self._load_plans()
        while True:
            with self.pulse.waiting():
                await self._database.room.wait()
            self._correct_plans()
            for name in self.due():
                await self._run_job(self._jobs[name])
            seconds = self._seconds_to_next()
            with self.pulse.waiting(seconds):
                await self._clock.sleep(seconds)

    def due(self) -> list[str]:
        """Return the names of due jobs, the longest overdue first."""
        now = self._clock.now()
        return sorted((name for name, at in self._next_run_at.items() if at <= now), key=self._next_run_at.__getitem__)

    async def _load_plans(self) -> None:
        planned = {row["job"]: float(row["next_run_at"]) for row in await self._database.rows("schedule.all")}
        now = self._clock.now()
        for name, job in self._jobs.items():
            first = next_after(job.trigger, None, now)
            # A plan more than one period ahead comes from before the clock was set back.
            self._next_run_at[name] = min(planned.get(name, first), first)

    def _correct_plans(self) -> None:
        """Bring plans that are more than one period ahead nearer, because the clock was set back."""
        now = self._clock.now()
        for name, job in self._jobs.items():
            self._next_run_at[name] = min(self._next_run_at[name], next_after(job.trigger, now, now))

    async def _run_job(self, job: ScheduledJob) -> None:
        began = self._clock.now()
        self.pulse.beat()
        try:
            await may_hang(HangPlace.JOB)
            with self.pulse.waiting() if job.has_own_pulse else contextlib.nullcontext():
                outcome = await job.run()
        except (StorageLostError, DiskFullError):
            raise
        except ReveriesError as error:  # Expected, for example a model that does not answer.
            log.warning("job.failed", job=job.name, why=error.for_log)
            outcome = f"failed: {type(error).__name__}"
        except Exception as error:  # A named boundary: a failing job is logged; the others go on.
            log.exception("job.failed", job=job.name)
            outcome = f"failed: {type(error).__name__}"
        now = self._clock.now()
        self._next_run_at[job.name] = next_after(job.trigger, began, now)
        if outcome is not None:
            log.info("job.completed", job=job.name, outcome=outcome)
        await self._store_outcome(job.name, began, outcome or "")

    async def _store_outcome(self, name: str, began: float, outcome: str) -> None:
        plan = {
            "job": name,
            "next_run_at": self._next_run_at[name],
            "last_run_at": began,
            "last_outcome": outcome,
        }
        try:
            async with self._database.transaction() as transaction:
                await transaction.run("schedule.put", plan)
        except (StorageLostError, DiskFullError):
            raise
        except StorageError as error:
            # Another program locks the file, perhaps for hours. The plan in memory is right; a restart of this task
            # would load the old plan and run the same job again and again.
            log.warning("schedule.store_failed", job=name, why=error.for_log)

    def _seconds_to_next(self) -> float:
        soonest = min(self._next_run_at.values(), default=self._clock.now() + _POLL_SECONDS)
        return min(_POLL_SECONDS, max(0.5, soonest - self._clock.now()))


def next_after(trigger: Trigger, last: float | None, now: float) -> float:
    """Return the first time after `now` (unix seconds) at which `trigger` fires."""
    previous = None if last is None else datetime.fromtimestamp(last, UTC)
    moment = datetime.fromtimestamp(now, UTC)
    fires_at = trigger.get_next_fire_time(previous, moment)
    for _ in range(3):
        if fires_at is None or fires_at.timestamp() > now:
            break
        fires_at = trigger.get_next_fire_time(fires_at, moment)
    return fires_at.timestamp() if fires_at is not None and fires_at.timestamp() > now else now + _POLL_SECONDS
