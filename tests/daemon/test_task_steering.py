"""The owner steers the tasks of a project: added, changed, put into an order, done, dropped; and what repeats."""

from datetime import date, timedelta

import msgspec
import pytest

from reveries import protocol
from reveries.client.features.project_tasks import parse_task_command
from reveries.config import Home
from reveries.daemon.due_notes import make_reminders
from reveries.daemon.notices import attach_notices, lasting_notices
from reveries.errors import NotFoundError, UsageError
from reveries.projects.model import MadeBy, TaskKind, TaskStatus, WorkTask
from reveries.projects.proposal_store import NewProposal
from reveries.projects.reminders import ReminderKind, kind_of
from reveries.projects.task_days import comes_later, first_due, next_due, read_due, read_repeat, today
from reveries.projects.wake import read_state
from tests.daemon.asking import ask
from tests.daemon.mind_kit import NOON, living
from tests.daemon.test_project_work import QUIET, worker
from tests.fakes.patient_clock import PatientClock
from tests.rows import check_rows

NAME = "Boat"
DAY_SECONDS = 86400.0
SATURDAY = date(2026, 11, 28)


@check_rows(
    ("words", "due"),
    [
        ("9 December", "2026-12-09"),
        ("Friday", "2026-12-04"),
        ("next Friday at 14:00", "2026-12-04T14:00"),
        ("1 September", "2027-09-01"),
        ("9. Dezember um 14 Uhr", "2026-12-09T14:00"),
        ("le 6 mars", "2027-03-06"),
        ("el 5 de enero", "2027-01-05"),
        ("venerdì", "2026-12-04"),
        ("overmorgen", "2026-11-30"),
        ("om to uker", "2026-12-12"),
        ("today", "2026-11-28"),
        ("", ""),
    ],
)
def test_a_day_is_read_in_seven_languages_and_lies_ahead(words: str, due: str) -> None:
    assert read_due(words, SATURDAY) == due


@pytest.mark.parametrize("words", ["soon", "31 November", "5 or 6 December"])
def test_what_names_no_day_or_two_is_refused(words: str) -> None:
    with pytest.raises(UsageError):
        read_due(words, SATURDAY)


@check_rows(
    ("words", "first", "later"),
    [
        ("Monday", "2026-11-30", "2026-12-07"),
        ("jeden Dienstag", "2026-12-01", "2026-12-08"),
        ("chaque mois", "2026-12-28", "2027-01-28"),
        ("dos semanas", "2026-12-12", "2026-12-26"),
        ("settimanale", "2026-12-05", "2026-12-12"),
        ("elk jaar", "2027-11-28", "2028-11-28"),
        ("hver fredag", "2026-12-04", "2026-12-11"),
        ("30 9 1 * *", "2026-12-01T09:30", "2027-01-01T09:30"),
    ],
)
def test_what_repeats_has_a_first_day_and_a_next_one(words: str, first: str, later: str) -> None:
    repeats = read_repeat(words)
    assert (first_due(repeats, SATURDAY), next_due(repeats, first, SATURDAY)) == (first, later)


def test_the_last_of_a_month_stays_the_last_and_a_day_missed_is_not_made_up() -> None:
    assert next_due("1 month", "2027-01-31", SATURDAY) == "2027-02-28"
    assert next_due("1 week", "2026-10-05T08:00", SATURDAY) == "2026-11-30T08:00"
    assert next_due("1 month", "2026-08-15", SATURDAY) == "2026-12-15"
    with pytest.raises(UsageError):
        read_repeat("now and then")


@pytest.mark.parametrize(
    ("repeats", "due", "later"),
    [
        ("1 month", "2027-01-30", "2027-02-28"),
        ("3 month", "2026-11-30", "2027-02-28"),
        ("1 year", "2028-02-29", "2029-02-28"),
        ("1 year", "2027-02-28", "2028-02-28"),
    ],
)
def test_a_month_without_that_day_is_not_left_out(repeats: str, due: str, later: str) -> None:
    assert next_due(repeats, due, SATURDAY) == later


@pytest.mark.parametrize(("due", "waits"), [("2026-11-29", True), ("2026-11-28T09:00", False), ("2026-11-27", False)])
def test_what_repeats_is_begun_on_its_day_and_not_before(due: str, waits: bool) -> None:
    assert comes_later("1 week", due, SATURDAY) is waits


def test_a_leap_day_that_is_over_comes_again_in_the_next_leap_year() -> None:
    assert read_due("29 February", date(2028, 3, 5)) == "2032-02-29"


async def test_the_owner_adds_edits_orders_finishes_and_drops_tasks_and_a_weekly_one_comes_back(home: Home) -> None:
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        mind, store = life.mind, life.mind.projects.store

        async def steer(words: str) -> protocol.TasksChanged:
            return await ask(mind, parse_task_command(1, words), protocol.TasksChanged)

        await ask(mind, protocol.CreateProject(1, NAME), protocol.ProjectDetail)
        project = await store.find(NAME)
        await steer('add Boat "Paint the hull" --description "two coats"')
        added = await steer('add Boat "Call the plumber" --due "9 December" --mine')
        assert [(task.title, task.due, task.is_mine, task.made_by) for task in added.tasks] == [
            ("Call the plumber", "2026-12-09", True, "owner")
        ]
        await steer('add Boat "Pump out" --every Monday')
        changed = await steer('edit Boat plumber --title "Call the electrician" --due "10 December at 9:30"')
        assert [(task.title, task.due) for task in changed.tasks] == [("Call the electrician", "2026-12-10T09:30")]

        await steer("move Boat pump 1")
        tasks = await store.tasks.of_project(project.id)
        assert [task.title for task in tasks] == ["Pump out", "Paint the hull", "Call the electrician"]
        assert {task.made_by for task in tasks} == {MadeBy.OWNER}
        # Nobody works on what is the owner's, nor before its day on what repeats.
        assert [task.title for task in (await read_state(store, project.id)).queue] == ["Paint the hull"]

        done = await steer('done Boat pump --outcome "dry"')
        assert [(task.status, task.outcome, bool(task.due)) for task in done.tasks] == [
            ("done", "dry", True),
            ("ready", "", True),
        ]
        assert done.tasks[0].due < done.tasks[1].due
        with pytest.raises(NotFoundError):
            await steer("done Boat dry")
        await steer('add Boat "Grease the winch" --every month --mine')
        greased = await steer("done Boat winch")
        assert [(task.status, task.is_mine) for task in greased.tasks] == [("done", True), ("ready", True)]
        await steer("drop Boat winch")

        async with store.transaction() as transaction:
            await store.proposals.update(transaction, project.id, [NewProposal("Buy rope", "", "a.md", 1, "Buy rope")])
        dropped = await steer('drop Boat "Buy rope" hull')
        assert dropped.message == "Dropped: Paint the hull; Buy rope."
        open_tasks = [task for task in await store.tasks.of_project(project.id) if task.status is TaskStatus.READY]
        assert {task.title for task in open_tasks} == {"Pump out", "Call the electrician"}

        # A new goal drops what was planned for the old one, and nothing of the owner's.
        for goal in ("Sell the boat.", "Sail to Samsø."):
            await store.set_goal(project, goal, None)
        state = await read_state(store, project.id)
        assert state.goal is not None
        async with store.transaction() as transaction:
            await store.tasks.drop_open(transaction, project.id, state.goal.id)
        assert len([task for task in await store.tasks.of_project(project.id) if task.status is TaskStatus.READY]) == 2


def test_each_task_command_becomes_its_request() -> None:
    assert parse_task_command(7, "add Boat hull --every month") == protocol.AddTask(7, NAME, "hull", every="month")
    assert parse_task_command(7, "edit Boat hull --due ''") == protocol.EditTask(
        7, NAME, "hull", protocol.TaskEdit(due="")
    )
    assert parse_task_command(7, "drop Boat hull rope") == protocol.DropTasks(7, NAME, ("hull", "rope"))
    assert parse_task_command(7, "move Boat hull 2") == protocol.MoveTask(7, NAME, "hull", 2)
    assert parse_task_command(7, "done Boat hull") == protocol.FinishTask(7, NAME, "hull")


@pytest.mark.parametrize("words", ["", "paint Boat", "add", 'add Boat "x', "move Boat hull first", "add --help"])
def test_a_wrong_task_command_says_how_it_is_used(words: str) -> None:
    with pytest.raises(UsageError):
        parse_task_command(1, words)


@pytest.mark.parametrize(
    ("status", "days_ahead", "kind"),
    [
        (TaskStatus.READY, 1, ReminderKind.DAY_BEFORE),
        (TaskStatus.BLOCKED, 0, ReminderKind.ON_DAY),
        (TaskStatus.READY, -1, None),
        (TaskStatus.DONE, 1, None),
        (TaskStatus.DROPPED, 0, None),
    ],
)
def test_nobody_is_reminded_of_what_is_over(status: TaskStatus, days_ahead: int, kind: ReminderKind | None) -> None:
    due = f"{SATURDAY + timedelta(days=days_ahead)}T14:00"
    task = WorkTask("Call", "", TaskKind.OTHER, due=due, id="t", project_id="p", status=status)
    assert kind_of(task, SATURDAY) is kind


async def test_a_due_task_is_told_the_day_before_and_on_the_day_once_each_and_not_in_quiet_hours(home: Home) -> None:
    clock = PatientClock(NOON)
    day = today(NOON)
    async with living(home, worker(), clock, QUIET) as life:
        mind, store = life.mind, life.mind.projects.store
        await ask(mind, protocol.CreateProject(1, NAME), protocol.ProjectDetail)
        due = f"{day + timedelta(days=1)} 14:00"
        await ask(mind, protocol.AddTask(1, NAME, "Call the plumber", due=due), protocol.TasksChanged)
        await ask(mind, protocol.AddTask(1, NAME, "Paint", due=f"{day + timedelta(days=9)}"), protocol.TasksChanged)
        note = "Due tomorrow, 14:00: Call the plumber (Boat)"
        assert note in await attach_notices(mind)
        assert note not in await attach_notices(mind)
        assert note in await lasting_notices(mind)

        clock.step_wall(DAY_SECONDS)
        assert await make_reminders(mind) == "1 made"
        assert await make_reminders(mind) is None
        assert "Due today, 14:00: Call the plumber (Boat)" in await attach_notices(mind)
        assert await store.reminders.take() == []
        await ask(mind, protocol.FinishTask(1, NAME, "plumber"), protocol.TasksChanged)
        assert not any(text.startswith("Due") for text in await lasting_notices(mind))


async def test_reminders_survive_a_restart_and_wait_for_the_end_of_quiet_hours(home: Home) -> None:
    clock = PatientClock(NOON)
    async with living(home, worker(), clock, QUIET) as life:
        await ask(life.mind, protocol.CreateProject(1, NAME), protocol.ProjectDetail)
        await ask(life.mind, protocol.AddTask(1, NAME, "Call", due="today"), protocol.TasksChanged)
        assert await make_reminders(life.mind) == "1 made"
    asleep = msgspec.structs.replace(QUIET.monologue, quiet_hours=("00:00-12:00", "12:00-00:00"))
    async with living(home, worker(), clock, msgspec.structs.replace(QUIET, monologue=asleep)) as life:
        assert await make_reminders(life.mind) is None
        assert not any(text.startswith("Due") for text in await attach_notices(life.mind))
    async with living(home, worker(), clock, QUIET) as life:
        assert await make_reminders(life.mind) is None
        assert "Due today: Call (Boat)" in await attach_notices(life.mind)
