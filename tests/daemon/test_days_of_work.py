"""Days on a hand-turned clock: three projects, talk, sleep, quiet nights, the budget gone again and again."""

import msgspec
import pytest

from reveries import protocol
from reveries.config import Home, load_settings
from reveries.llm.base import PROJECT_ROLES, Role
from tests.daemon.asking import ask
from tests.daemon.mind_kit import NOON, living
from tests.daemon.test_project_work import detail, give_project, worker
from tests.fakes.patient_clock import PatientClock

NAMES = ("Shed", "Boat", "Bench")
NIGHT = ("22:00-08:00",)


@pytest.mark.parametrize(
    ("days", "new_goals", "suspended"), [(5, (2,), 3), pytest.param(14, (4, 9), 6, marks=pytest.mark.long)]
)
@pytest.mark.system
@pytest.mark.timeout(1200)  # A fortnight is two minutes of processor time; on a busy machine it takes many times that.
@pytest.mark.requirement("V-1", "G2")
async def test_projects_overspend_nothing_starve_nothing_and_work_in_no_quiet_hour(
    home: Home, days: int, new_goals: tuple[int, ...], suspended: int
) -> None:
    settings = load_settings(None)
    monologue = msgspec.structs.replace(settings.monologue, enabled=False, quiet_hours=NIGHT)
    # So little that each day's work ends at the limit.
    work = msgspec.structs.replace(settings.budget.work, tokens_per_day=9000)
    budget = msgspec.structs.replace(settings.budget, work=work)
    settings = msgspec.structs.replace(settings, monologue=monologue, budget=budget)
    clock = PatientClock(NOON)
    model = worker(clock)
    rests: list[str] = []
    async with living(home, model, clock, settings) as life:
        life.mind.projects.happened.subscribe(
            lambda _, action, words: rests.append(words) if action == "rested" else None
        )
        for name in NAMES:
            await give_project(life, name)
        for day in range(days):
            if day in new_goals:
                for name in NAMES:
                    await ask(
                        life.mind, protocol.SetGoal(9, name, f"Build {name} number {day}"), protocol.ProjectDetail
                    )
            asked = len([one for one in model.prompts if one.role in PROJECT_ROLES])
            await life.pass_time(10)  # From noon to the quiet hours.
            worked = len([one for one in model.prompts if one.role in PROJECT_ROLES])
            await life.pass_time(9.9)  # The night.
            assert len([one for one in model.prompts if one.role in PROJECT_ROLES]) == worked, f"night {day}"
            assert worked > asked or day not in (0, *new_goals)
            await life.say(f"Good morning, it is day {day}.")
            if day == suspended:
                life.clock.step_wall(24 * 3600)  # The machine was suspended.
            await life.pass_time(4.1)
            used = {one.role: one.prompt_tokens + one.completion_tokens for one in await life.mind.ledger.usage_today()}
            assert used[Role.WORK.value] <= 9000
        for name in NAMES:
            shown = await detail(life, name)
            assert [task.status for task in shown.tasks if task.status != "dropped"][-3:] == ["done"] * 3, name
        assert sum("budget" in words for words in rests) >= 2
