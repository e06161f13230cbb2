"""What work on a project is charged as: work, learning or reading, and what the end of one of these budgets leaves."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from reveries.config import BudgetSettings, load_settings
from reveries.errors import BudgetExceededError
from reveries.llm.base import Role
from reveries.llm.budget import Ledger
from reveries.llm.metered import MeteredModel
from reveries.llm.tier import Tier
from reveries.projects.documents import chunks_of_text
from reveries.projects.model import Project, TaskStatus
from reveries.projects.wake_report import RestReason
from reveries.projects.work_model import WorkModel
from tests.projects.kit import Answers, Work, asked_for, finished, open_work, planned
from tests.projects.test_goals_and_input import answers

OAK = "Oak boards have a price of 20 euros each."


def budget_with(role: Role, tokens_per_day: int) -> BudgetSettings:
    budget = load_settings(None).budget
    limited = msgspec.structs.replace(getattr(budget, role.value), tokens_per_day=tokens_per_day)
    return msgspec.structs.replace(budget, **{role.value: limited})


def meter(work: Work, tier: Tier, budget: BudgetSettings) -> Ledger:
    """Let the work pay for its calls."""
    ledger = Ledger(work.database, work.clock, lambda: budget)
    model = MeteredModel(work.model, ledger)
    work.work.model = lambda project_id: WorkModel(model, project_id, tier, "Ana", ledger=ledger)
    return ledger


def roles_by_question(work: Work) -> dict[str, set[Role]]:
    found: dict[str, set[Role]] = {}
    for prompt in work.model.prompts:
        found.setdefault(asked_for(prompt.messages[0].text), set()).add(prompt.role)
    return found


def small(text: str) -> object:
    match asked_for(text):
        case "holds answer":
            return {"answer": "yes" if "20 euros" in text else "no"}
        case "plan":
            task = {"description": "", "skill_area": "wood", "depends_on": [], "rests_on": [], "kind": "find_out"}
            return planned(text, [{"title": f"Price of oak boards {n}"} | task for n in (1, 2, 3)])
    return answers(text)


def learner() -> Answers:
    """A capable model that learns something in each task."""
    learned = {"content": "Oak lasts.", "type": "insight", "tags": [], "rests_on": [], "confidence": "inferred"}

    def answer(text: str) -> object:
        return finished(learnings=[learned | {"quote": ""}]) if asked_for(text) == "step" else answers(text)

    return answer


async def begin_with_notes(work: Work) -> Project:
    project = await work.begin("Shed", "Build a shed")
    await work.store.knowledge.store(project.id, chunks_of_text("yard.md", OAK, is_own=True))
    return project


async def test_what_judges_an_outcome_is_charged_as_learning_and_what_does_it_as_work(tmp_path: Path) -> None:
    async with open_work(tmp_path, learner()) as work:
        ledger = meter(work, Tier.CAPABLE, load_settings(None).budget)
        project = await work.begin("Shed", "Build a shed")
        await work.wake(project)
        roles = roles_by_question(work)
        assert roles["audit"] == {Role.LEARNING}
        assert roles["step"] == roles["plan"] == {Role.WORK}
        calls = {one.role: one.calls for one in await ledger.usage_today()}
        assert calls["learning"] == sum(one.role is Role.LEARNING for one in work.model.prompts) >= 3
        # Whatever the role, the project pays.
        [row] = await work.database.rows("usage.used_by_project")
        assert row["calls"] == sum(calls.values())


async def test_the_step_that_gets_the_text_of_a_file_is_charged_as_reading(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "yard.md").write_text(OAK)
    reads = {"steps": [{"tool": "read_file", "path": "yard.md", "from_line": 1}]}

    def reader(text: str) -> object:
        if asked_for(text) == "step":
            return finished() if "20 euros each" in text.partition("What you did so far")[2] else reads
        return answers(text)

    async with open_work(tmp_path, reader, most_tasks=1) as work:
        meter(work, Tier.CAPABLE, load_settings(None).budget)
        project = await work.store.create("Shed", str(folder), may_write=False)
        await work.store.set_goal(project, "Build a shed", None)
        await work.wake(project)
        steps = [one.role for one in work.model.prompts if asked_for(one.messages[0].text) == "step"]
        assert steps == [Role.WORK, Role.READING]


@pytest.mark.requirement("G2")
@pytest.mark.parametrize(("role", "tier", "model"), [(Role.LEARNING, Tier.CAPABLE, learner)])
async def test_a_spent_budget_of_learning_or_reading_ends_the_wake_with_nothing_half_done(
    tmp_path: Path, role: Role, tier: Tier, model: Callable[[], Answers]
) -> None:
    async with open_work(tmp_path, model()) as work:
        ledger = meter(work, tier, budget_with(role, 0))
        project = await begin_with_notes(work)
        report = await work.wake(project)
        assert report.reason is RestReason.BUDGET
        assert f"The {role.value} has used 0 of its 0 tokens of this day" in report.message
        state = await work.state(project)
        assert {(one.status, one.tries) for one in state.tasks} == {(TaskStatus.READY, 0)}
        assert not [one for one in await work.store.knowledge.of_project(project.id) if one.task_id]
        assert not [
            one for task in state.tasks for one in await work.store.tasks.steps_of(task.id) if one.state == "begun"
        ]
        ledger.budget = lambda: load_settings(None).budget
        await work.wake(project)
        planned = {one.id for one in state.tasks}
        tasks = [one for one in (await work.state(project)).tasks if one.id in planned]
        assert [(one.status, one.tries) for one in tasks] == [(TaskStatus.DONE, 1)] * 3


@pytest.mark.requirement("G2")
@pytest.mark.parametrize("tokens_per_day", [0, 1000])
async def test_without_budget_to_judge_an_outcome_no_task_is_begun_and_none_is_paid_for_however_often_it_wakes(
    tmp_path: Path, tokens_per_day: int
) -> None:
    async with open_work(tmp_path, learner()) as work:
        ledger = meter(work, Tier.CAPABLE, budget_with(Role.LEARNING, tokens_per_day))
        project = await work.begin("Shed", "Build a shed")
        # It asks its first questions and plans; a plan is made once.
        assert (await work.wake(project)).reason is RestReason.BUDGET
        used = [(one.role, one.calls) for one in await ledger.usage_today()]
        for _ in range(4):
            assert (await work.wake(project)).reason is RestReason.BUDGET
        assert [(one.role, one.calls) for one in await ledger.usage_today()] == used
        assert not {"step", "audit", "coherence"} & roles_by_question(work).keys()
        assert {one.tries for one in (await work.state(project)).tasks} == {0}


async def test_a_task_is_begun_where_a_fallback_that_costs_nothing_could_judge_its_outcome(tmp_path: Path) -> None:
    budget = load_settings(None).budget
    no_money = msgspec.structs.replace(budget.learning, dollars_per_day=0.0)
    async with open_work(tmp_path, learner()) as work:
        ledger = Ledger(work.database, work.clock, lambda: msgspec.structs.replace(budget, learning=no_money))
        model = WorkModel(work.model, "p1", Tier.CAPABLE, "Ana", ledger=ledger, candidates=("openai/gpt-4.1",))
        with pytest.raises(BudgetExceededError):
            await model.require_budget(Role.LEARNING, 1000, 100)
        both = replace(model, candidates=("openai/gpt-4.1", "embedded/qwen"))
        await both.require_budget(Role.LEARNING, 1000, 100)
        assert not await work.database.rows("usage.used_by_project")
