"""Jobs at their times. APScheduler's triggers say when (pure functions of now); this small loop runs what is due.

`next_run` is kept in SQLite and compared with the wall clock at least every 60 s, so that suspend and clock steps make
a job late at most, and late jobs run once (E1).
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

_LOOK_SECONDS = 60.0

log = structlog.get_logger("schedule")


class Trigger(Protocol):
    """What APScheduler's interval and cron triggers are: when next, given when last."""

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime | None: ...


@dataclass(frozen=True, slots=True)
class ScheduledJob:
    """`run` returns what it did in a few words, or None when its conditions did not hold."""

    name: str
    trigger: Trigger
    run: Callable[[], Awaitable[str | None]]
    has_own_pulse: bool = False
    """Whether it is watched by itself: then a schedule that waits for it does not hang."""


class Schedule:
    """Runs each job when it is due, one at a time, once however late."""

    def __init__(self, database: Database, clock: Clock, jobs: Sequence[ScheduledJob]) -> None:
        self._database = database
        self._clock = clock
        self._jobs = {job.name: job for job in jobs}
        self._next_run_at: dict[str, float] = {}
        self.pulse = Pulse()

    async def run(self) -> None:
        """Load what was planned, then look and run for ever."""
        await self._load()
        while True:
            with self.pulse.waiting():
                await self._database.room.wait()
            self._heed_clock()
            for name in self.due():
                await self._run_job(self._jobs[name])
            seconds = self._seconds_to_next()
            with self.pulse.waiting(seconds):
                await self._clock.sleep(seconds)

    def due(self) -> list[str]:
        """The jobs whose time has come, the longest overdue first."""
        now = self._clock.now()
        return sorted((name for name, at in self._next_run_at.items() if at <= now), key=self._next_run_at.__getitem__)

    async def _load(self) -> None:
        planned = {row["job"]: float(row["next_run_at"]) for row in await self._database.rows("schedule.all")}
        now = self._clock.now()
        for name, job in self._jobs.items():
            first = next_after(job.trigger, None, now)
            # A plan further away than one period comes from a clock that has since been set back.
            self._next_run_at[name] = min(planned.get(name, first), first)

    def _heed_clock(self) -> None:
        """No plan is further away than one period from now: one that is comes from a clock that was set back since."""
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
        except ReveriesError as error:  # Foreseen: a model that does not answer is no fault of the program.
            log.warning("job.failed", job=job.name, why=error.for_log)
            outcome = f"failed: {type(error).__name__}"
        except Exception as error:  # A named boundary: one job's fault is logged; the others go on.
            log.exception("job.failed", job=job.name)
            outcome = f"failed: {type(error).__name__}"
        now = self._clock.now()
        self._next_run_at[job.name] = next_after(job.trigger, began, now)
        if outcome is not None:
            log.info("job.done", job=job.name, outcome=outcome)
        await self._keep_outcome(job.name, began, outcome or "")

    async def _keep_outcome(self, name: str, began: float, outcome: str) -> None:
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
            # Another program holds the file, perhaps for hours. It is in mind here: who began anew would read what was
            # planned before, and do the same job again and again.
            log.warning("schedule.not_kept", job=name, why=error.for_log)

    def _seconds_to_next(self) -> float:
        soonest = min(self._next_run_at.values(), default=self._clock.now() + _LOOK_SECONDS)
        return min(_LOOK_SECONDS, max(0.5, soonest - self._clock.now()))


def next_after(trigger: Trigger, last: float | None, now: float) -> float:
    """The first time after `now` (unix seconds) at which `trigger` fires."""
    previous = None if last is None else datetime.fromtimestamp(last, UTC)
    moment = datetime.fromtimestamp(now, UTC)
    found = trigger.get_next_fire_time(previous, moment)
    for _ in range(3):
        if found is None or found.timestamp() > now:
            break
        found = trigger.get_next_fire_time(found, moment)
    return found.timestamp() if found is not None and found.timestamp() > now else now + _LOOK_SECONDS
