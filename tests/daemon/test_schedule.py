"""Jobs run when due, only once if late, and never in a burst."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
import structlog
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.interval import IntervalTrigger
from structlog.typing import EventDict

from reveries.daemon.occupations.schedule import Schedule, ScheduledJob, next_after
from reveries.db.database import Database
from reveries.db.driver import dbapi
from reveries.db.opening import open_database
from reveries.errors import ModelUnavailableError
from tests.fakes.patient_clock import PatientClock

_EPOCH = datetime(2020, 1, 1, tzinfo=UTC)


def _hourly() -> IntervalTrigger:
    return IntervalTrigger(hours=1, start_date=_EPOCH, timezone=UTC)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await open_database(tmp_path / "memory.db")
    yield opened
    await opened.aclose()


class _Counted:
    def __init__(self) -> None:
        self.runs = 0
        self.fails = False

    async def run(self) -> str | None:
        self.runs += 1
        if self.fails:
            raise ValueError("broken")
        return "done"


@pytest.fixture
async def clock(database: Database) -> PatientClock:
    """Waits for the database thread at every step, however busy the machine is."""
    made = PatientClock()
    await made.watch(database)
    return made


async def _live(schedule: Schedule, clock: PatientClock, *advances: float) -> None:
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(schedule.run())
        for seconds in advances:
            await clock.advance(seconds)
        task.cancel()


@pytest.mark.requirement("E1")
async def test_a_job_that_is_a_week_late_runs_once(database: Database, clock: PatientClock) -> None:
    job = _Counted()
    async with database.transaction() as transaction:
        await transaction.run(
            "schedule.put",
            {"job": "j", "next_run_at": clock.now() - 7 * 86400, "last_run_at": None, "last_outcome": ""},
        )
    await _live(Schedule(database, clock, [ScheduledJob("j", _hourly(), job.run)]), clock, 1)
    assert job.runs == 1


@pytest.mark.requirement("E1")
async def test_a_clock_set_forward_makes_a_job_due_at_the_next_look(database: Database, clock: PatientClock) -> None:
    job = _Counted()
    schedule = Schedule(database, clock, [ScheduledJob("j", _hourly(), job.run)])
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(schedule.run())
        await clock.advance(0)
        clock.step_wall(86400)
        await clock.advance(61)
        task.cancel()
    assert job.runs == 1


@pytest.mark.requirement("E1")
async def test_a_plan_from_a_clock_that_was_set_back_does_not_silence_a_job(
    database: Database, clock: PatientClock
) -> None:
    job = _Counted()
    async with database.transaction() as transaction:
        await transaction.run(
            "schedule.put",
            {"job": "j", "next_run_at": clock.now() + 3 * 365 * 86400, "last_run_at": None, "last_outcome": ""},
        )
    schedule = Schedule(database, clock, [ScheduledJob("j", _hourly(), job.run)])
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(schedule.run())
        await clock.advance(0)
        for _ in range(61):
            await clock.advance(60)
        task.cancel()
    assert job.runs == 1


@pytest.mark.requirement("E1")
@pytest.mark.parametrize("days", [1, 3650])
async def test_a_clock_set_back_while_it_is_awake_makes_a_job_an_hour_late_at_most(
    database: Database, clock: PatientClock, days: int
) -> None:
    job = _Counted()
    schedule = Schedule(database, clock, [ScheduledJob("j", _hourly(), job.run)])
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(schedule.run())
        await clock.advance(0)
        clock.step_wall(-days * 86400)
        for _ in range(62):
            await clock.advance(60)
        task.cancel()
    assert job.runs == 1


@pytest.mark.requirement("E1")
async def test_a_job_that_was_late_runs_a_whole_period_after_it_did(database: Database, clock: PatientClock) -> None:
    job = _Counted()
    schedule = Schedule(database, clock, [ScheduledJob("j", _hourly(), job.run)])
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(schedule.run())
        await clock.advance(0)
        clock.step_wall(3 * 3600 - clock.now() % 3600 - 120)
        await clock.advance(61)
        assert job.runs == 1
        await clock.advance(180)
        task.cancel()
    assert job.runs == 1


async def test_a_job_that_fails_is_planned_again_and_the_others_run(database: Database, clock: PatientClock) -> None:
    bad, good = _Counted(), _Counted()
    bad.fails = True
    for name in ("bad", "good"):
        async with database.transaction() as transaction:
            await transaction.run(
                "schedule.put",
                {"job": name, "next_run_at": clock.now() - 1, "last_run_at": None, "last_outcome": ""},
            )
    jobs = [ScheduledJob("bad", _hourly(), bad.run), ScheduledJob("good", _hourly(), good.run)]
    await _live(Schedule(database, clock, jobs), clock, 1)
    assert (bad.runs, good.runs) == (1, 1)
    rows = {row["job"]: row for row in await database.rows("schedule.all")}
    assert rows["bad"]["last_outcome"] == "failed: ValueError"
    assert rows["bad"]["next_run_at"] > clock.now()


@pytest.mark.requirement("E1", "A9", "H3")
async def test_jobs_run_at_their_times_while_another_program_keeps_their_plan_from_being_written(
    database: Database, clock: PatientClock
) -> None:
    late, later = _Counted(), _Counted()
    for name, seconds in (("late", 7200), ("later", 1)):
        async with database.transaction() as transaction:
            plan = {"job": name, "next_run_at": clock.now() - seconds, "last_run_at": None, "last_outcome": ""}
            await transaction.run("schedule.put", plan)
    await database.rows_of_text("PRAGMA busy_timeout=1", ())
    schedule = Schedule(
        database, clock, [ScheduledJob("late", _hourly(), late.run), ScheduledJob("later", _hourly(), later.run)]
    )
    with contextlib.closing(dbapi.connect(database.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with structlog.testing.capture_logs() as lines:
            await _live(schedule, clock, 1, 3600)
        other.execute("ROLLBACK")
    assert (late.runs, later.runs) == (2, 2)
    assert _not_kept(lines) == [("warning", "late"), ("warning", "later")] * 2


def _not_kept(lines: Sequence[EventDict]) -> list[tuple[str, str]]:
    return [(line["log_level"], line["job"]) for line in lines if line["event"] == "schedule.store_failed"]


async def test_a_foreseen_failure_is_a_line_of_the_log_and_a_fault_of_ours_is_a_traceback(
    database: Database, clock: PatientClock
) -> None:
    async def asks_a_model() -> str:
        raise ModelUnavailableError("The model does not answer.")

    async def has_a_fault() -> str:
        raise ValueError

    for name, run in (("asks", asks_a_model), ("faulty", has_a_fault)):
        async with database.transaction() as transaction:
            plan = {"job": name, "next_run_at": clock.now() - 1, "last_run_at": None, "last_outcome": ""}
            await transaction.run("schedule.put", plan)
        with structlog.testing.capture_logs() as lines:
            await _live(Schedule(database, clock, [ScheduledJob(name, _hourly(), run)]), clock, 1)
        [line] = [line for line in lines if line["event"] == "job.failed"]
        if name == "asks":
            assert (line["log_level"], line["why"]) == ("warning", "model_unavailable: broken")
            assert "exc_info" not in line
        else:
            assert (line["log_level"], line["exc_info"]) == ("error", True)


@pytest.mark.parametrize("trigger", [_hourly(), CronTrigger(hour=3, timezone="Europe/Zurich")])
def test_the_next_time_is_always_ahead(trigger: IntervalTrigger | CronTrigger) -> None:
    for now in (0.0, 1_750_000_000.0, 4_000_000_000.0):
        for last in (None, now - 1e8, now - 1, now):
            assert next_after(trigger, last, now) > now
