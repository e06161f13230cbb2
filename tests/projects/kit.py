"""What the tests of projects share: real rows, a scripted model that answers by what it is asked."""

import itertools
import json
import os
import re
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from reveries.clock import Clock
from reveries.config import load_settings
from reveries.db.database import Database, Transaction
from reveries.db.opening import open_database
from reveries.errors import NotFoundError
from reveries.knowledge.model import Chunk
from reveries.knowledge.project_knowledge import ProjectKnowledge
from reveries.llm.base import Embedder, Prompt
from reveries.llm.tier import Tier
from reveries.memory.model import Experience, ExperienceKind, Origin
from reveries.memory.rows import experience_row
from reveries.projects.model import AgentState, Project, WorkTask
from reveries.projects.store import ProjectStore
from reveries.projects.task_tools import TaskTools, ToolServices
from reveries.projects.wake import read_state
from reveries.projects.wake_report import WakeReport
from reveries.projects.work import ProjectWork
from reveries.projects.work_model import WorkModel
from reveries.projects.work_observers import StepRows
from reveries.tools.folder_copies import FolderCopies
from reveries.tools.mcp_servers import McpServer
from reveries.tools.sandbox import Sandbox
from tests.fakes.clock import HandClock
from tests.fakes.scripted import Piece, ScriptedModel
from tests.memory.kit import NOW, WordEmbedder

Answers = Callable[[str], object]
"""What the model answers to a question: JSON, or text as it is."""


@dataclass
class Work:
    """A project's rows with somebody who works on them."""

    store: ProjectStore
    work: ProjectWork
    model: ScriptedModel
    clock: HandClock
    database: Database
    told: list[tuple[str, str]] = field(default_factory=list)

    async def begin(self, name: str, goal: str = "") -> Project:
        project = await self.store.create(name)
        if goal:
            await self.store.set_goal(project, goal, None)
        return project

    async def wake(self, project: Project) -> WakeReport:
        return await self.work.wake(project.id)

    async def state(self, project: Project) -> AgentState:
        return await read_state(self.store, project.id)

    async def task(self, project: Project, title: str) -> WorkTask:
        [found] = [one for one in (await self.state(project)).tasks if one.title == title]
        return found

    async def remembered(self) -> list[tuple[str, bool]]:
        """The experiences of the work, each with whether it is tainted."""
        ids = [row["id"] for row in await self.database.rows("experiences.to_sleep_on")]
        rows = await self.database.rows("experiences.of_ids", {"ids": json.dumps(ids)})
        return [(str(row["content"]), bool(row["tainted"])) for row in rows]

    async def answer(self, tag: str, words: str) -> None:
        """Answer the first open question that has `tag`, or whose text holds it."""
        for _, question in await self.store.questions.list_open():
            if tag in question.context_tags or tag in question.question:
                await self.store.questions.answer(question.id, words)
                return
        raise AssertionError(f"No open question has {tag}.")


@dataclass(frozen=True, slots=True)
class RowMemory:
    """A memory that keeps experiences and never sleeps."""

    clock: Clock

    async def put_experience(self, transaction: Transaction, text: str, *, is_tainted: bool) -> None:
        name, now = os.urandom(8).hex(), self.clock.now()
        experience = Experience(name, ExperienceKind.EXTERNAL, now, text, 0.5, 0.0, Origin.SELF, is_tainted)
        await transaction.run("experiences.insert", experience_row(experience, 0))

    async def light_sleep(self) -> None:
        """Nothing has to be recallable."""


@asynccontextmanager
async def open_work(
    folder: Path,
    answers: Answers,
    *,
    tier: Tier = Tier.CAPABLE,
    embedder: Embedder | None = None,
    clock: HandClock | None = None,
    first_id: int = 0,
    new_id: Callable[[], str] | None = None,
    most_tasks: int = 10,
    services: ToolServices | None = None,
) -> AsyncIterator[Work]:
    """Work on the projects of the file in `folder`."""
    clock = clock or HandClock(NOW)
    count = itertools.count(first_id)
    settings = msgspec.structs.replace(load_settings(None).projects, most_tasks=most_tasks)

    def script(prompt: Prompt) -> Iterable[Piece]:
        answer = answers(prompt.messages[0].text)
        text = answer if isinstance(answer, str) else msgspec.json.encode(answer).decode()
        return re.findall(r"\s*\S+|\s+$", text)

    model = ScriptedModel(otherwise=script, context_tokens=16384)
    database = await open_database(folder / "memory.db", folder / "backups")
    try:
        knowledge = ProjectKnowledge(
            database, embedder or WordEmbedder(), clock, new_id or (lambda: f"c{next(count):05}")
        )
        store = ProjectStore(database, knowledge, clock, new_id or (lambda: f"p{next(count):05}"))

        work = ProjectWork(
            store=store,
            settings=lambda: settings,
            model=lambda project_id: WorkModel(model, project_id, tier, "Ana"),
            memory=RowMemory(clock),
            services=services or tool_services(folder),
            report_event=lambda action, words: one.told.append((action, words)),
        )
        one = Work(store, work, model, clock, database)
        yield one
    finally:
        await database.aclose()


def tool_services(folder: Path, sandbox: Sandbox | None = None, *, web: bool = False, **more: Any) -> ToolServices:
    """Tools of a mind that lives in `folder`; without a sandbox unless one is given."""
    settings = msgspec.structs.replace(load_settings(None).web, enabled=web, search_url=more.pop("search_url", ""))
    return ToolServices(
        sandbox=sandbox or Sandbox(),
        copies=FolderCopies(folder / "undo"),
        web=lambda: settings,
        open_server=more.pop("open_server", _no_server),
        **more,
    )


def _no_server(name: str) -> McpServer:
    raise NotFoundError(f"There is no MCP server {name}.", advice="")


async def task_tools(work: Work, project: Project, services: ToolServices) -> TaskTools:
    """The tools of the project's first task, as work opens them."""
    state = await read_state(work.store, project.id)

    async def find_chunks(query: str, limit: int) -> list[Chunk]:
        return []

    return TaskTools(
        services=services,
        store=work.store,
        state=state,
        task=state.tasks[0],
        steps=StepRows(work.store, state.tasks[0], lambda action, words: None),
        find_chunks=find_chunks,
        sources=set(),
    )


FIRST_QUESTIONS = ("What is it for?", "What is there?", "By when is it?")


def planned(text: str, tasks: Iterable[object], questions: Iterable[str] = FIRST_QUESTIONS) -> dict[str, object]:
    """The plan of a model; the first one of a goal asks its owner three questions."""
    if "There is no plan for this goal yet." not in text:
        return {"tasks": list(tasks)}
    about = ("criteria", "start", "constraints")
    asked = [{"question": one, "about": tag, "for_tasks": []} for one, tag in zip(questions, about, strict=False)]
    goal = text.partition("Goal, in Ana's words: ")[2].partition("\n")[0]
    return {"tasks": list(tasks), "questions": asked, "vision_summary": goal}


def asked_for(text: str) -> str:
    """Which of the prompts a question was made with."""
    beginnings = {
        "You keep one page": "orient", "You plan": "plan", "You work": "step",
        "You check": "audit", "A project's goal": "coherence", "Task: ": "holds answer", "Write this": "draft",
    }  # fmt: skip
    return next((name for beginning, name in beginnings.items() if text.startswith(beginning)), "sides")


def task_in(text: str) -> str:
    """The title of the task that a step or an audit is asked about."""
    found = re.search(r"^(?:The task|Task): (.*)$", text, re.MULTILINE)
    return found[1] if found else ""


def finished(status: str = "complete", outcome: str = "It is done.", **more: object) -> dict[str, object]:
    return {"steps": [{"tool": "finish", "status": status, "outcome": outcome} | more]}
