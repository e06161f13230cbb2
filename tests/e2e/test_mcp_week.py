"""A coding agent without a memory of its own works for a week through MCP, and is killed and replaced each day."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from mcp import Client

from reveries import protocol
from tests.e2e.living import Living
from tests.e2e.mcp_program import call, mcp_client

pytestmark = [pytest.mark.e2e, pytest.mark.system]

_DAYS = 7
_TASKS_A_DAY = 3
_PLAN = (
    ("Choose the parser", ()),
    ("Read the format", (0,)),
    ("Write the parser", (0, 1)),
    ("Test the parser", (2,)),
    ("Choose the storage", ()),
    ("Store what was parsed", (2, 4)),
    ("Write the command line", (5,)),
    ("Test the command line", (6,)),
    ("Write the manual", (6,)),
    ("Release it", (3, 7, 8)),
)
_CHOICES = {"Choose the parser": "Which parser?", "Choose the storage": "Which storage?"}
_ANSWERS = {"Which parser?": "A hand-written one.", "Which storage?": "SQLite."}


@dataclass
class World:
    """What the agent does outside of the mind: what it built can be built twice, and that is what must not happen."""

    built: list[str] = field(default_factory=list)
    seen: list[dict[str, Any]] = field(default_factory=list)
    """What each day's agent found when it began."""


@dataclass
class Agent:
    """One day's agent. All that it knows it asks for."""

    client: Client
    world: World

    async def work(self, *, is_killed_after_building: bool, is_killed_before_building: bool) -> None:
        """One day: look, take up what was left, do three tasks; killed in the middle of the last one."""
        if not (await call(self.client, "list_projects"))["projects"]:
            await self._plan()
        project = {"project_id": "Converter"}
        page = await call(self.client, "get_orientation", **project)
        tasks = (await call(self.client, "get_tasks", **project))["tasks"]
        answers = (await call(self.client, "get_questions", **project, status="answered"))["questions"]
        decisions = (await call(self.client, "search_tags", **project, tags=["decision"]))["chunks"]
        found = {"page": page["orientation"], "tasks": tasks, "answers": answers, "decisions": decisions}
        self.world.seen.append(found)
        await self._decide(answers, decisions)
        for number in range(_TASKS_A_DAY):
            task = await self._next()
            if task is None:
                return
            if task["title"] in _CHOICES and not any(one["question"] == _CHOICES[task["title"]] for one in answers):
                asked = {"question": _CHOICES[task["title"]], "context": task["title"], "blocks_tasks": [task["id"]]}
                await call(self.client, "create_question", **project, **asked)
                continue
            if task["status"] == "ready":
                await call(self.client, "update_task", **project, task_id=task["id"], updates={"status": "in_progress"})
            is_last = number == _TASKS_A_DAY - 1
            if is_last and is_killed_before_building:
                return
            if not await self._was_built(task):
                self.world.built.append(task["title"])
                await call(self.client, "log_activity", **project, action="built", details=task["id"])
            if is_last and is_killed_after_building:
                return
            done = {"status": "done", "outcome": "Built."}
            await call(self.client, "update_task", **project, task_id=task["id"], updates=done)

    async def _plan(self) -> None:
        given = {"vision_summary": "A converter for old notes.", "success_criteria": ["Every note is converted."]}
        await call(self.client, "create_project", **given, constraints=["no network"], name="Converter")
        ids: list[str] = []
        for title, needs in _PLAN:
            new = {"title": title, "description": "", "skill_area": "code", "depends_on": [ids[one] for one in needs]}
            ids.append((await call(self.client, "create_task", project_id="Converter", **new))["task"]["id"])

    async def _decide(self, answers: list[dict[str, Any]], decisions: list[dict[str, Any]]) -> None:
        """What the owner answered becomes a decision, once."""
        known = {one["content"] for one in decisions}
        for one in answers:
            text = f"{one['question']} {one['answer']}"
            if text not in known:
                chunk = {"content": text, "type": "decision", "tags": ["decision"], "confidence": "verified"}
                await call(self.client, "store_chunk", project_id="Converter", **chunk, source="user")

    async def _next(self) -> dict[str, Any] | None:
        for status in ("in_progress", "ready"):
            found = (await call(self.client, "get_tasks", project_id="Converter", status=status))["tasks"]
            if found:
                return dict(found[0])
        return None

    async def _was_built(self, task: dict[str, Any]) -> bool:
        log = (await call(self.client, "get_recent_activity", project_id="Converter", limit=200))["activities"]
        return any((one["action"], one["details"]) == ("built", task["id"]) for one in log)


async def test_each_days_agent_finds_where_the_one_before_it_stood_and_repeats_nothing(living: Living) -> None:
    living.settings += '[mcp]\nmay_write = ["agent"]\n'
    world = World()
    await living.wake()
    for day in range(_DAYS):
        async with mcp_client(living) as client:
            agent = Agent(client, world)
            await agent.work(is_killed_after_building=day % 3 == 1, is_killed_before_building=day % 3 == 2)
        if day % 2:
            # The machine goes down with it.
            living.kill()
            await living.wake()
        await answer_as_owner(living)
    assert sorted(world.built) == sorted(title for title, _ in _PLAN)
    order = [world.built.index(title) for title, _ in _PLAN]
    assert all(order[at] > order[need] for at, (_, needs) in enumerate(_PLAN) for need in needs)
    await check_days(world)
    async with mcp_client(living) as client:
        tasks = (await call(client, "get_tasks", project_id="Converter"))["tasks"]
        assert {task["status"] for task in tasks} == {"done"}
        decisions = (await call(client, "search_tags", project_id="Converter", tags=["decision"]))["chunks"]
        assert sorted(one["content"] for one in decisions) == sorted(f"{q} {a}" for q, a in _ANSWERS.items())
    await living.end()


async def check_days(world: World) -> None:
    """Each day begins with at least what the day before knew."""
    for before, after in zip(world.seen, world.seen[1:], strict=False):
        assert after["page"]["vision_summary"] == "A converter for old notes."
        assert after["page"]["constraints"] == ["no network"]
        done = [{one["id"] for one in day["tasks"] if one["status"] == "done"} for day in (before, after)]
        assert done[0] <= done[1]
        assert len(after["tasks"]) == len(_PLAN)
        assert {one["id"] for one in before["answers"]} <= {one["id"] for one in after["answers"]}
        assert {one["id"] for one in before["decisions"]} <= {one["id"] for one in after["decisions"]}
    assert len(world.seen[-1]["answers"]) == len(_ANSWERS)


async def answer_as_owner(living: Living) -> None:
    """Overnight, in the terminal."""
    async with living.client() as owner:
        owner.send(protocol.AskOpenQuestions(owner.number()))
        for one in (await owner.next_of(protocol.OpenQuestions)).questions:
            owner.send(protocol.AnswerQuestion(owner.number(), one.question_id, _ANSWERS[one.question]))
            await owner.next_of(protocol.QuestionAnswered)
