"""The project browsers on a real daemon: what is listed, and what each key does."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot

from reveries import protocol
from reveries.client.tui.browser import Browser
from reveries.client.tui.project_listings import ProjectListing, QuestionListing, WorkLogListing
from reveries.clock import SystemClock
from reveries.config import Home
from reveries.projects.model import Criterion, NewQuestion, NewTask, Orientation, QuestionKind, TaskKind
from reveries.projects.proposal_store import NewProposal
from tests.client.screen_text import text_of, until
from tests.daemon.asking import ask
from tests.daemon.mind_kit import NOON, Living, living
from tests.daemon.test_project_work import QUIET, worker
from tests.fakes.patient_clock import PatientClock


class Terminal(App[None]):
    """An application that shows one browser."""


@dataclass
class Shown:
    """A browser on a daemon with the project Fair, and the text on the screen."""

    life: Living
    app: Terminal
    pilot: Pilot[None]

    async def sees(self, *words: str) -> None:
        try:
            async with asyncio.timeout(300):
                await until(self.pilot, lambda: all(one in " ".join(text_of(self.app).split()) for one in words))
        except TimeoutError:
            pytest.fail(f"{words} are not on the screen:\n{text_of(self.app)}")

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def detail(self) -> protocol.ProjectDetail:
        return await ask(self.life.mind, protocol.AskProject(1, "Fair"), protocol.ProjectDetail)


@asynccontextmanager
async def browser(
    home: Home, listing: Callable[[Any, Any], Any], size: tuple[int, int] = (120, 40)
) -> AsyncIterator[Shown]:
    """The browser of a project with a task, a question, a second version of its page and a grant."""
    async with asyncio.timeout(300), living(home, worker(), PatientClock(NOON), QUIET) as life:
        await ask(life.mind, protocol.CreateProject(1, "Fair"), protocol.ProjectDetail)
        store = life.mind.projects.store
        project = await store.find("Fair")
        async with store.transaction() as transaction:
            await store.tasks.put(transaction, project.id, [NewTask("Find the fees", "", TaskKind.FIND_OUT, "money")])
            [task] = await store.tasks.of_project(project.id, transaction)
            asked = NewQuestion("Who pays the fee?", context="of the hall", blocks=(task.id,))
            await store.questions.put(transaction, project.id, asked)
            await store.questions.put(transaction, project.id, NewQuestion("Is it reached?", QuestionKind.DECISION))
            old = await store.orientation(project.id, transaction)
            new = Orientation("A fair in May.", (Criterion("It takes place."),))
            await store.put_orientation(transaction, project.id, old, new, "goal", frozenset())
        await ask(life.mind, protocol.GiveGrant(1, "Fair", "fetch"), protocol.Grants)

        async def asking(make: Callable[[int], protocol.Request], answer: type[protocol.Frame]) -> protocol.Frame:
            return await ask(life.mind, make(1), answer)

        app = Terminal()
        async with app.run_test(size=size) as pilot:
            app.push_screen(Browser(listing(asking, SystemClock())))
            yield Shown(life, app, pilot)


@pytest.mark.requirement("V-106")
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_projects_are_listed_and_each_key_looks_deeper_and_comes_back(home: Home, size: tuple[int, int]) -> None:
    async with browser(home, ProjectListing, size) as shown:
        await shown.sees("Fair", "2 questions", "your projects")
        for key, words in (
            ("enter", ("Find the fees", "waits for")),
            ("q", ("Who pays the fee?",)),
            ("o", ("orientation", "A fair in May.", "+ A fair in May.")),
            ("l", ("created", "work log, live")),
            ("g", ("fetch", "may be used")),
        ):
            await shown.press(key)
            await shown.sees(*words)
            await shown.press("escape")
            await shown.sees("your projects")


async def test_a_proposal_becomes_a_task_and_a_conflict_is_decided_with_one_key_each(home: Home) -> None:
    async with browser(home, ProjectListing) as shown:
        await shown.sees("Fair")
        for name, price in (("a.md", "480"), ("b.md", "520")):
            text = f"The tent rental costs {price} EUR.\n"
            await ask(shown.life.mind, protocol.AddMaterial(1, "Fair", name, text, True), protocol.Chunks)
        store = shown.life.mind.projects.store
        project = await store.find("Fair")
        async with store.transaction() as transaction:
            proposed = NewProposal("Mend the tent", "", "a.md", 1, "Mend the tent")
            await store.proposals.update(transaction, project.id, [proposed])
        await shown.press("t")
        await shown.sees("Mend the tent", "what the notes propose")
        await shown.press("enter")
        await shown.sees("It is a task now.")
        assert "Mend the tent" in {task.title for task in (await shown.detail()).tasks}
        await shown.press("escape")
        await shown.sees("your projects")
        await shown.press("c")
        await shown.sees("480 EUR", "520 EUR", "what does not go together")
        await shown.press("b")
        await shown.sees("Noted.")
        assert not (await store.read_facts(project.id)).conflicts


async def test_a_project_is_paused_and_goes_on(home: Home) -> None:
    async with browser(home, ProjectListing) as shown:
        await shown.sees("Fair")
        await shown.press("p")
        await shown.sees("It is paused.")
        assert (await shown.detail()).project.state == "paused"
        await shown.sees("paused,")
        await shown.press("p")
        await shown.sees("It is resumed.")
        assert (await shown.detail()).project.state == "active"
        await shown.press("w")
        await shown.sees("Fair is next")


async def test_a_question_is_answered_in_place_with_two_keys_beside_the_words(home: Home) -> None:
    async with browser(home, QuestionListing) as shown:
        await shown.sees("Who pays the fee?", "of the hall")
        await shown.press("enter", *"Els", "enter")
        await shown.sees("Answered, for Fair: Els")
        await shown.press("a")
        await shown.sees("Let it do this")
        await shown.press("y")
        await shown.sees("This question cannot be")
        [left] = (await shown.detail()).questions
        assert left.question == "Is it reached?"
        await shown.press("y")
        await shown.sees("Answered, for Fair: yes")
        told = await ask(shown.life.mind, protocol.AskTaskTrace(1, "Fair", "Find"), protocol.TaskTrace)
        assert told.task.status == "ready"


async def test_a_stray_yes_answers_no_question_that_asks_for_words(home: Home) -> None:
    async with browser(home, QuestionListing) as shown:
        await shown.sees("Who pays the fee?")
        for key in ("y", "n"):
            await shown.press(key)
            await shown.sees("This question cannot be")
        assert len((await shown.detail()).questions) == 2


async def test_what_is_read_in_the_live_log_stays_while_the_work_goes_on(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WorkLogListing, "refresh_seconds", 0.02)
    async with browser(home, lambda asking, clock: WorkLogListing(asking, clock, "Fair")) as shown:
        store = shown.life.mind.projects.store
        project = await store.find("Fair")
        task = (await store.tasks.of_project(project.id))[0]

        async def log(action: str) -> None:
            async with store.transaction() as transaction:
                await store.log.put(transaction, project.id, action, "Find: the fees", task)

        await log("task.began")
        await shown.sees("began", "Find: the fees")
        await shown.press("enter")
        await shown.sees("waits for")
        await log("task.failed")
        await shown.pilot.pause(0.3)
        await shown.sees("waits for")
        await shown.press("down", "up")
        await shown.sees("did not work")


async def test_a_page_is_given_back_and_a_grant_is_taken_back_after_a_yes(home: Home) -> None:
    async with browser(home, ProjectListing) as shown:
        await shown.sees("Fair")
        await shown.press("o")
        await shown.sees("A fair in May.")
        await shown.press("down", "r")
        await shown.sees("Make this version the newest?")
        await shown.press("y")
        await shown.sees("reverted to 1")
        await shown.press("escape")
        await shown.sees("your projects")
        await shown.press("g")
        await shown.sees("fetch")
        await shown.press("r")
        await shown.sees("Revoke this grant?")
        await shown.press("y")
        await shown.sees("Revoked.")
        assert (await ask(shown.life.mind, protocol.AskGrants(1, "Fair"), protocol.Grants)).grants == []


async def test_the_log_follows_the_work(home: Home) -> None:
    async with browser(home, ProjectListing) as shown:
        await shown.sees("Fair")
        await shown.press("l")
        await shown.sees("rewrote the page")
        store = shown.life.mind.projects.store
        project = await store.find("Fair")
        async with store.transaction() as transaction:
            [task, *_] = await store.tasks.of_project(project.id, transaction)
            await store.log.put(transaction, project.id, "task.done", "Find the fees: nine pounds", task)
        await shown.sees("nine pounds")
        await shown.press("enter")
        await shown.sees("Find the fees", "waits for")
