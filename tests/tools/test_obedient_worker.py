"""A worker that obeys every text it reads: nothing of it goes out, grants itself, or hides where it came from."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import httpx
import pytest

from reveries.errors import UsageError
from reveries.gates import ToolGate
from reveries.projects.grants import give_grant
from reveries.projects.model import NewTask, Project, TaskKind
from reveries.projects.task_tools import ToolServices
from reveries.projects.work_observers import StepRows
from reveries.tools.reach import Reach, digest_call
from reveries.tools.sandbox import Sandbox, find_sandbox
from reveries.tools.web import WebTools
from tests.fakes.openable_gates import opened
from tests.projects.kit import Work, open_work, task_tools, tool_services
from tests.tools.poisoned import EVIL, INTERNAL, OWNER_PAGE, SECRET, Obedient, poisoned_texts

_NO_SANDBOX = Sandbox()
_SEARCH = "http://127.0.0.1:8888/search"


@dataclass
class World:
    """What lies outside: it answers everybody, and remembers who asked what."""

    page: str = ""
    asked: list[str] = field(default_factory=list)

    def answer(self, request: httpx.Request) -> httpx.Response:
        host = request.headers["host"]
        self.asked.append(f"{request.url.scheme}://{host}{request.url.raw_path.decode()}")
        if request.url.path == "/search":
            found = {"url": f"https://{EVIL}/order", "title": "a page", "content": self.page}
            return httpx.Response(200, json={"results": [found]})
        return httpx.Response(200, text=self.page, headers={"content-type": "text/plain"})

    async def resolve(self, host: str, port: int) -> list[str]:
        return ["10.0.0.7"] if host == INTERNAL else ["127.0.0.1"] if host == "127.0.0.1" else ["93.184.216.34"]

    def services(self, folder: Path, sandbox: Sandbox | None = None, *, web: bool = True) -> ToolServices:
        return tool_services(
            folder, sandbox, web=web, search_url=_SEARCH,
            open_web=lambda words, url: WebTools(words, url, self.resolve, httpx.MockTransport(self.answer)),
        )  # fmt: skip


@dataclass
class Came:
    """What came of a run."""

    effects: list[str] = field(default_factory=list)
    asked: int = 0
    """Approvals that the owner was asked for."""


def lay_out(at: Path, text: str) -> Path:
    folder = at / "notes"
    (folder / ".git" / "hooks").mkdir(parents=True)
    (folder / "a.md").write_text(text)
    (folder / "rent.md").write_text(f"The rent is {SECRET}.")
    return folder


async def begin(work: Work, folder: Path | None) -> Project:
    project = await work.store.create("Notes", str(folder or ""), may_write=folder is not None)
    goal = await work.store.set_goal(project, f"Put the notes in order. See {OWNER_PAGE}.", None)
    async with work.database.transaction() as transaction:
        new = NewTask("Look into it", "", TaskKind.OTHER, goal_id=goal.id)
        await work.store.tasks.put(transaction, project.id, [new])
    return project


async def live(
    at: Path,
    text: str,
    opening: dict[str, object],
    granted: Sequence[str],
    allowed: Sequence[str],
    sandbox: Sandbox = _NO_SANDBOX,
) -> Came:
    """One task that begins with reading `text`; `allowed`: what may be asked of the world after these grants."""
    folder = lay_out(at, text)
    world, came = World(text), Came()
    async with open_work(at, Obedient(opening), most_tasks=1, services=world.services(at, sandbox)) as work:
        project = await begin(work, folder if opening in (READ, RUN) else None)
        for name in granted:
            await give_grant(work.store, project, name)
        await work.wake(project)
        came.effects += [f"asked {one}" for one in world.asked if one not in allowed]
        came.effects += await silent_grants(work, len(granted))
        came.effects += await rows_without_sources(work, project, opening)
        came.effects += [f"remembered as its own: {one}" for one, tainted in await work.remembered() if not tainted]
        came.asked = sum(one.kind.value == "approval" for _, one in await work.store.questions.list_open())
    if (at / "outside.txt").exists() or list((folder / ".git" / "hooks").iterdir()):
        came.effects.append("wrote what it may not")
    return came


async def silent_grants(work: Work, given: int) -> list[str]:
    rows = await work.database.rows_of_text("SELECT kind, name FROM grants", ())
    return [f"granted {row['name']}" for row in rows[given:]]


async def rows_without_sources(work: Work, project: Project, opening: dict[str, object]) -> list[str]:
    """What was made after the poison was read and does not say so."""
    found = []
    [task] = (await work.state(project)).tasks
    steps = [one for one in await work.store.tasks.steps_of(task.id) if one.reach]
    if not steps:
        return []
    for table in ("chunks", "questions"):
        where = "task_id IS NOT NULL" if table == "chunks" else "kind = 'approval'"
        rows = await work.database.rows_of_text(f"SELECT foreign_sources FROM {table} WHERE {where}", ())
        found += [f"{table} without sources" for row in rows if row["foreign_sources"] == "[]"]
    found += [f"step {one.tool} without sources" for one in steps if not one.foreign_sources and one.state == "done"]
    if task.status.value == "done" and not task.foreign_sources:
        found.append("a task without sources")
    return found


READ: dict[str, object] = {"tool": "read_file", "path": "a.md", "from_line": 1}
FETCH: dict[str, object] = {"tool": "fetch", "url": OWNER_PAGE, "from_line": 1}
RUN: dict[str, object] = {"tool": "run_command", "command": "cat a.md", "seconds": 5}
SEARCH: dict[str, object] = {"tool": "web_search", "query": "rents"}


async def live_all(at: Path, texts: Sequence[str], *, until_effect: bool = False) -> Came:
    """Each text by one of the ways: with nothing, with tools, and with tools and sources granted."""
    every = Came()
    for number, text in enumerate(texts):
        # Without a folder nothing foreign stands before the first step.
        ways: list[tuple[dict[str, object], list[str], list[str]]] = [
            (FETCH, [], []),
            (READ, [], []),
            (READ, ["fetch", "web_search"], []),
            (FETCH, ["fetch"], [OWNER_PAGE]),
            # With its source granted, an address in a page may be followed; one that a model made may not.
            (FETCH, ["fetch", "web:owner.example"], [OWNER_PAGE, f"https://{EVIL}/order"]),
            (SEARCH, ["web_search"], ["http://127.0.0.1:8888/search?q=rents&format=json"]),
        ]
        opening, granted, allowed = ways[number % len(ways)]
        came = await live(at / str(number), text, opening, granted, allowed)
        every.effects += [f"{number}: {one}" for one in came.effects]
        every.asked += came.asked
        if until_effect and every.effects:
            break
    return every


@pytest.mark.requirement("F9", "F2")
async def test_a_worker_that_obeys_every_poisoned_text_has_no_effect_outside_and_hides_no_source(
    tmp_path: Path,
) -> None:
    came = await live_all(tmp_path, poisoned_texts(78))
    assert came.effects == []
    assert came.asked >= 15, "what it was ordered to do was asked about"


@pytest.mark.system
@pytest.mark.long
@pytest.mark.requirement("F9", "F2")
async def test_the_same_with_three_hundred_texts(tmp_path: Path) -> None:
    came = await live_all(tmp_path, poisoned_texts(300))
    assert came.effects == []


@pytest.mark.system
@pytest.mark.requirement("F9", "F2")
async def test_the_same_where_a_command_says_it(tmp_path: Path) -> None:
    sandbox = find_sandbox()
    for number, text in enumerate(poisoned_texts(26)):
        came = await live(tmp_path / str(number), text, RUN, ["fetch", "web_search"], [], sandbox)
        assert came.effects == []


@pytest.mark.requirement("F9", "H4")
@pytest.mark.parametrize("gate", [one for one in ToolGate if one not in (ToolGate.LISTED, ToolGate.UNKNOWN)])
async def test_with_any_one_gate_taken_out_something_goes_out(tmp_path: Path, gate: ToolGate) -> None:
    with opened(gate):
        came = await live_all(tmp_path, poisoned_texts(78), until_effect=True)
    assert came.effects


@pytest.mark.requirement("F9")
async def test_fifty_tasks_whose_tool_and_sources_were_granted_ask_nothing(tmp_path: Path) -> None:
    world, worker = World("Nothing but a page."), Obedient(FETCH)
    async with open_work(tmp_path, worker, most_tasks=1, services=world.services(tmp_path)) as work:
        for number in range(50):
            project = await work.store.create(f"Project {number}")
            goal = await work.store.set_goal(project, f"Look at {OWNER_PAGE}", None)
            async with work.database.transaction() as transaction:
                new = NewTask("Look into it", "", TaskKind.OTHER, goal_id=goal.id)
                await work.store.tasks.put(transaction, project.id, [new])
            for name in ("fetch", "folder", "web:owner.example"):
                await give_grant(work.store, project, name)
            worker.has_opened = False
            await work.wake(project)
            [task] = (await work.state(project)).tasks
            assert task.status.value == "done"
        asked = [one for _, one in await work.store.questions.list_open() if one.kind.value == "approval"]
    assert (asked, len(world.asked)) == ([], 50)


async def take_up_what_was_begun(at: Path) -> tuple[list[str], int]:
    """A fetch was begun, and the mind was stopped; everything is granted, and the model wants it again."""
    world = World("a page")
    async with open_work(at, Obedient(FETCH), most_tasks=1, services=world.services(at)) as work:
        project = await begin(work, None)
        for name in ("fetch", "web:owner.example"):
            await give_grant(work.store, project, name)
        [task] = (await work.state(project)).tasks
        async with work.database.transaction() as transaction:
            await transaction.run("projects.begin_task", {"id": task.id, "now": work.store.now})
        steps = StepRows(work.store, replace(task, tries=1), lambda action, words: None)
        digest = digest_call("fetch", {"url": OWNER_PAGE, "from_line": 1})
        await steps.begin_call("fetch", {"url": OWNER_PAGE, "from_line": 1}, Reach.OUT, frozenset(), digest)
        await work.wake(project)
        asked = [one for _, one in await work.store.questions.list_open() if one.kind.value == "approval"]
        if asked:
            assert "may have happened already" in asked[0].context
    return world.asked, len(asked)


@pytest.mark.requirement("F9", "A1")
async def test_what_was_begun_and_may_have_happened_is_not_done_again_without_a_yes(tmp_path: Path) -> None:
    assert await take_up_what_was_begun(tmp_path) == ([], 1)


@pytest.mark.requirement("H4")
async def test_with_that_gate_taken_out_it_is_done_again(tmp_path: Path) -> None:
    with opened(ToolGate.UNKNOWN):
        assert await take_up_what_was_begun(tmp_path) == ([OWNER_PAGE], 0)


async def call_unlisted(at: Path) -> list[str]:
    """A call by name of what the settings switched off, in a project that has every grant."""
    world = World("a page")
    lay_out(at / "one", "a page")
    services = world.services(at, web=False)
    async with open_work(at, Obedient(FETCH), services=services) as work:
        project = await begin(work, at / "one" / "notes")
        await give_grant(work.store, project, "fetch")
        tools = await task_tools(work, project, services)
        with contextlib.suppress(UsageError):
            await tools.call("fetch", {"url": OWNER_PAGE})
        await tools.close()
    return world.asked


async def test_a_tool_that_is_not_listed_cannot_be_called_by_its_name(tmp_path: Path) -> None:
    assert await call_unlisted(tmp_path) == []


@pytest.mark.requirement("H4")
async def test_with_the_list_taken_out_it_can(tmp_path: Path) -> None:
    with opened(ToolGate.LISTED):
        assert await call_unlisted(tmp_path) == [OWNER_PAGE]
