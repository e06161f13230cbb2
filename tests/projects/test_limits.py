"""What work costs: by project, and never more than its goal may carry."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from reveries.config import load_settings
from reveries.errors import BudgetExceededError
from reveries.llm.base import ChatMessage, Prompt, Role, Usage
from reveries.llm.budget import Ledger
from reveries.llm.caps import PlannedCall
from reveries.llm.metered import MeteredModel
from reveries.llm.prices import Price
from reveries.llm.structured import collect
from reveries.projects.model import Phase, TaskStatus
from reveries.projects.wake_report import RestReason
from tests.projects.kit import Work, open_work
from tests.projects.test_goals_and_input import answers

CENT_A_CALL = Price(10.0, 0.0)
"""A thousand tokens of prompt cost a cent."""


def ask(project_id: str) -> PlannedCall:
    return PlannedCall(Role.WORK, "openai/gpt-4.1", CENT_A_CALL, 1000, 0, project_id)


def ledger_of(work: Work) -> Ledger:
    return Ledger(work.database, work.clock, lambda: load_settings(None).budget)


@pytest.mark.requirement("G2")
async def test_no_call_is_made_that_could_cost_more_than_the_goal_may_and_other_projects_go_on(tmp_path: Path) -> None:
    async with open_work(tmp_path, lambda _: "") as work:
        ledger = ledger_of(work)
        shed, boat = await work.begin("Shed"), await work.begin("Boat", "Build a boat")
        await work.store.set_goal(shed, "Build a shed", 0.025)
        for _ in range(2):
            await ledger.settle(await ledger.reserve(ask(shed.id)), Usage(1000, 0))
        with pytest.raises(BudgetExceededError, match=r"The goal's limit of \$0.03"):
            await ledger.reserve(ask(shed.id))
        await ledger.reserve(ask(boat.id))
        rows = {row["project_id"]: row["microdollars"] for row in await work.database.rows("usage.used_by_project")}
        assert rows == {shed.id: 20_000, boat.id: 10_000}


@pytest.mark.requirement("G2")
async def test_a_call_that_is_under_way_counts_at_its_worst_and_a_new_goal_begins_anew(tmp_path: Path) -> None:
    async with open_work(tmp_path, lambda _: "") as work:
        ledger, shed = ledger_of(work), await work.begin("Shed")
        await work.store.set_goal(shed, "Build a shed", 0.01)
        await ledger.reserve(ask(shed.id))
        with pytest.raises(BudgetExceededError):
            await ledger.reserve(ask(shed.id))
        await work.clock.advance(60)
        async with work.database.transaction() as transaction:
            await transaction.run("projects.end_active_goal", {"project_id": shed.id})
        await work.store.set_goal(shed, "Build a larger shed", 0.01)
        await ledger.reserve(ask(shed.id))


@pytest.mark.requirement("G2")
async def test_the_ledger_knows_whose_work_a_prompt_is_and_work_stops_before_sleep_does(tmp_path: Path) -> None:
    async with open_work(tmp_path, lambda _: "Yes.") as work:
        budget = msgspec.structs.replace(
            load_settings(None).budget, tokens_per_day=1000, conversation_reserve_share=0.2
        )
        ledger = Ledger(work.database, work.clock, lambda: budget)
        model = MeteredModel(work.model, ledger)
        prompt = Prompt(Role.WORK, (ChatMessage("user", "Is it?"),), 20, project_id="p1")
        await collect(model, prompt)
        assert [row["project_id"] for row in await work.database.rows("usage.used_by_project")] == ["p1"]
        large = PlannedCall(Role.WORK, "scripted/model", Price(0.0, 0.0), 698, 0)
        with pytest.raises(BudgetExceededError):
            await ledger.reserve(large)
        await ledger.reserve(PlannedCall(Role.CONSOLIDATION, "scripted/model", Price(0.0, 0.0), 698, 0))


@pytest.mark.requirement("G2", "V-50")
async def test_another_limit_for_the_same_goal_keeps_plan_questions_and_spending(tmp_path: Path) -> None:
    async with open_work(tmp_path, answers, most_tasks=1) as work:
        ledger, shed = ledger_of(work), await work.begin("Shed")
        goal = await work.store.set_goal(shed, "Build a shed", 0.01)
        await work.wake(shed)
        before = await work.state(shed)
        await ledger.settle(await ledger.reserve(ask(shed.id)), Usage(1000, 0))
        await work.clock.advance(60)
        assert (await work.store.set_goal(shed, " Build  a\nshed ", 0.025)).id == goal.id
        after = await work.state(shed)
        assert (after.goal, after.pending_goal) == (replace(goal, dollars_limit=0.025), None)
        assert (after.tasks, after.questions) == (before.tasks, before.questions)
        await ledger.settle(await ledger.reserve(ask(shed.id)), Usage(1000, 0))
        with pytest.raises(BudgetExceededError):
            await ledger.reserve(ask(shed.id))
        await work.wake(shed)
        assert [one.status for one in (await work.state(shed)).tasks].count(TaskStatus.DONE) == 2


@pytest.mark.requirement("G2", "V-50")
async def test_a_project_that_rested_at_its_limit_goes_on_with_another_limit_at_once(tmp_path: Path) -> None:
    async with open_work(tmp_path, answers) as work:
        shed = await work.begin("Shed", "Build a shed")
        async with work.store.transaction() as transaction:
            await work.store.rests.note(transaction, shed.id, RestReason.BUDGET.value)
        await work.store.set_goal(shed, "Build a shed", 5.0)
        assert (await work.store.find("Shed")).rested_because == ""
        [entry] = await work.store.log.newest(shed.id, 1)
        assert (entry.action, entry.details) == ("goal.limited", "$5.00")


@pytest.mark.requirement("V-50")
async def test_a_goal_said_again_while_it_is_pending_or_instead_of_the_pending_one_is_that_goal(tmp_path: Path) -> None:
    async with open_work(tmp_path, answers) as work:
        shed = await work.begin("Shed")
        first = await work.store.set_goal(shed, "Build a shed", None)
        pending = await work.store.set_goal(shed, "Build a boat", None)
        assert (await work.store.set_goal(shed, "Build a boat", 2.0)).id == pending.id
        state = await work.state(shed)
        assert (state.goal, state.pending_goal) == (first, replace(pending, dollars_limit=2.0))
        await work.store.set_goal(shed, "Build a shed", None)
        state = await work.state(shed)
        assert (state.goal, state.pending_goal) == (first, None)


@pytest.mark.requirement("V-50")
async def test_a_goal_said_again_without_a_limit_keeps_its_limit_and_zero_takes_it_away(tmp_path: Path) -> None:
    async with open_work(tmp_path, answers) as work:
        shed = await work.begin("Shed")
        await work.store.set_goal(shed, "Build a shed", 2.0)
        assert (await work.store.set_goal(shed, "Build a shed", None)).dollars_limit == 2.0
        state = await work.state(shed)
        assert (state.goal and state.goal.dollars_limit) == 2.0
        assert not [one for one in await work.store.log.newest(shed.id, 9) if one.action == "goal.limited"]
        assert (await work.store.set_goal(shed, "Build a shed", 0.0)).dollars_limit is None
        state = await work.state(shed)
        assert state.goal is not None
        assert state.goal.dollars_limit is None


@pytest.mark.requirement("V-50", "V-90")
async def test_a_goal_that_is_reached_and_said_again_is_a_new_goal(tmp_path: Path) -> None:
    async with open_work(tmp_path, answers) as work:
        shed = await work.begin("Shed")
        first = await work.store.set_goal(shed, "Clean the shed", 2.0)
        newest = await work.store.orientation(shed.id)
        reached = msgspec.structs.replace(newest.content, current_phase=Phase.COMPLETE)
        async with work.store.transaction() as transaction:
            await work.store.put_orientation(transaction, shed.id, newest, reached, "milestone", frozenset())
        again = await work.store.set_goal(shed, "Clean the shed", None)
        assert again.id != first.id
        assert again.dollars_limit is None
        assert (await work.store.set_goal(shed, "Clean the shed", 1.0)).id == again.id
        await work.wake(shed)
        state = await work.state(shed)
        assert state.goal is not None
        assert state.goal.id == again.id
        assert state.tasks
