"""Kills of a worker at any moment, for `work.py --kills`: nothing that it acknowledged is lost, nothing is done twice.

The worker tells over a pipe what it has acknowledged. After each kill another process compares that with what is there,
wakes the project once and compares again.
"""

import asyncio
import multiprocessing
import multiprocessing.context
import os
import random
import re
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from reveries.llm.tier import Tier
from reveries.projects.model import AgentState, Project, TaskStatus
from tests.fakes.clock import HandClock
from tests.memory.kit import NOW
from tests.projects.kit import Work, asked_for, open_work
from tests.projects.test_goals_and_input import answers

_KILLS_A_MIND: Final = 50
_LONGEST_LIFE_SECONDS: Final = 0.4
_REST_SECONDS: Final = 0.02
"""After a wake nothing changes for so long: kills in it find the state that was told."""
Message = tuple[str, Any]


@dataclass
class Acknowledged:
    """What the worker told of one mind. Tasks are counted by their titles."""

    planned: Counter[str] = field(default_factory=Counter)
    begun: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    answers: dict[str, str] = field(default_factory=dict)
    state: AgentState | None = None
    """The state that was read last; None if something has changed since."""
    now: float = NOW
    has_project: bool = False

    def note(self, message: Message) -> None:
        match message:
            case "begun", float(now):
                self.has_project, self.now = True, now
            case "planned", str(titles):
                self.planned.update(titles.split("; "))
            case "task", str(title):
                self.begun[title] += 1
            case "done", str(words):
                self.done[words.partition(": ")[0]] += 1
            case "answer", (str(name), str(words)):
                self.answers[name] = words
            case "state", AgentState() | None as state:
                self.state = state


class TellingList(list[tuple[str, str]]):
    """Tells each event of the work as it comes."""

    def __init__(self, heard: Connection) -> None:
        super().__init__()
        self._heard = heard

    def append(self, event: tuple[str, str], /) -> None:
        self._heard.send(event)


def _answer(text: str) -> object:
    """As the scripted model answers, with titles that no other goal's tasks have."""
    answer = answers(text)
    if asked_for(text) == "plan" and (goal := re.search("^Goal: (.*)$", text, re.MULTILINE)):
        assert isinstance(answer, dict)
        return {"tasks": [task | {"title": f"{task['title']} of {goal[1]}"} for task in answer["tasks"]]}
    return answer


def _new_id() -> str:
    return os.urandom(8).hex()


# --- the worker -------------------------------------------------------------------------------------------------------


async def live_scripted(folder: Path, heard: Connection) -> None:
    """One life of the worker that is killed: a scripted model, wake after wake."""
    clock = HandClock(NOW + time.time() % 1e6)
    async with open_work(folder, _answer, tier=Tier.CAPABLE, clock=clock, new_id=_new_id) as work:
        projects = await work.store.projects()
        project = projects[0] if projects else await work.begin("Shed", "Build a shed")
        heard.send(("begun", clock.now()))
        work.told = TellingList(heard)
        while True:
            await work.wake(project)
            for _, question in await work.store.questions.list_open():
                words = f"answer to {question.id}"
                await work.store.questions.answer(question.id, words)
                heard.send(("answer", (question.id, words)))
            heard.send(("state", await work.state(project)))
            await asyncio.sleep(_REST_SECONDS)
            heard.send(("state", None))
            await work.store.set_goal(project, f"Build shed {_new_id()}", None)


def _live(folder: Path, heard: Connection) -> None:
    asyncio.run(live_scripted(folder, heard))


# --- the comparison ---------------------------------------------------------------------------------------------------


async def check_after_kill(folder: Path, told: Acknowledged) -> list[str]:
    """What is not as it has to be: what was acknowledged and is lost, what was done or remembered twice or never."""
    clock = HandClock(told.now)
    async with open_work(folder, _answer, tier=Tier.CAPABLE, clock=clock, new_id=_new_id) as work:
        there = await work.store.projects()
        if not there:
            return ["the project is lost"] if told.has_project else []
        state = await work.state(there[0])
        faults = ["the state is not the one that was told"] if told.state not in (None, state) else []
        faults += await _lost(work, there[0], told)
        await work.wake(there[0])
        faults += await _lost(work, there[0], told)
        return faults + await _not_once(work, there[0], told)


async def _lost(work: Work, project: Project, told: Acknowledged) -> list[str]:
    """Acknowledged tasks and answers that are not there."""
    state, log = await work.state(project), await work.store.log.newest(project.id, 100_000)
    done = Counter(task.title for task in state.tasks if task.status is TaskStatus.DONE)
    faults = [f"planned and lost: {title}" for title in told.planned - Counter(task.title for task in state.tasks)]
    begun = Counter(one.details for one in log if one.action == "task.began")
    faults += [f"begun and lost: {title}" for title in told.begun - begun]
    faults += [f"done and is not: {title}" for title in told.done - done]
    said = {one.id: one.answer for one in state.questions if one.status.value == "answered"}
    return faults + [f"lost: {words}" for name, words in told.answers.items() if said.get(name) != words]


async def _not_once(work: Work, project: Project, told: Acknowledged) -> list[str]:
    """After a wake: tasks that were not done or remembered once, answers that are not one chunk."""
    tasks, log = (await work.state(project)).tasks, await work.store.log.newest(project.id, 100_000)
    done = Counter(one.task_id for one in log if one.action == "task.done")
    faults = [f"done {done[one.id]} times: {one.title}" for one in tasks if done[one.id] != _is_done(one.status)]
    wanted = Counter(f"I worked on Shed: {one.title}. {one.outcome}" for one in tasks if _is_done(one.status))
    kept = Counter(text for text, _ in await work.remembered())
    faults += [f"not remembered: {text}" for text in wanted - kept]
    faults += [f"remembered too often: {text}" for text in kept - wanted]
    chunks = await work.store.knowledge.of_project(project.id)
    noted = Counter(one.content.rpartition("\nA: ")[2] for one in chunks if one.type.value == "user_input")
    return faults + [f"{noted[one]} chunks: {one}" for one in told.answers.values() if noted[one] != 1]


def _is_done(status: TaskStatus) -> bool:
    return status is TaskStatus.DONE


def _check(folder: Path, told: Acknowledged, answer: Connection) -> None:
    answer.send(asyncio.run(check_after_kill(folder, told)))


# --- the kills --------------------------------------------------------------------------------------------------------


def run_kills(number: int, seed: int) -> None:
    """Kill the worker at random moments, and compare after each.

    A fork server that has imported everything starts each life, so that a life begins in milliseconds."""
    chance, lives = random.Random(seed), multiprocessing.get_context("forkserver")
    lives.set_forkserver_preload(["__main__", "work_kills"])
    minds, faults, at_rest = list[Acknowledged](), list[str](), 0
    with tempfile.TemporaryDirectory() as name:
        for kills in range(1, number + 1):
            if kills % _KILLS_A_MIND == 1:  # A mind that grew for ever would make each life slower.
                folder = Path(name) / str(kills)
                folder.mkdir()
                minds.append(Acknowledged())
            told = minds[-1]
            _kill_one(lives, folder, told, chance.uniform(0, _LONGEST_LIFE_SECONDS))
            at_rest += told.state is not None
            faults += _check_apart(lives, folder, told)
            if faults:
                break
    print(
        f"{kills} kills, {at_rest} of them at a state that was told; acknowledged: "
        f"{sum(one.planned.total() for one in minds)} tasks planned, {sum(one.begun.total() for one in minds)} begun, "
        f"{sum(one.done.total() for one in minds)} done, {sum(len(one.answers) for one in minds)} answers; "
        f"faults: {faults or 0}"
    )


def _kill_one(
    lives: multiprocessing.context.ForkServerContext, folder: Path, told: Acknowledged, seconds: float
) -> None:
    """Start a life, note what it tells, and kill it `seconds` after it began."""
    ours, theirs = lives.Pipe(duplex=False)
    life = lives.Process(target=_live, args=(folder, theirs))
    told.state = None
    life.start()
    theirs.close()
    try:
        told.note(ours.recv())
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if ours.poll(left):
                told.note(ours.recv())
        life.kill()
        while True:
            told.note(ours.recv())
    except (EOFError, OSError):  # A message that the kill cut is not acknowledged.
        life.join()


def _check_apart(lives: multiprocessing.context.ForkServerContext, folder: Path, told: Acknowledged) -> list[str]:
    ours, theirs = lives.Pipe(duplex=False)
    check = lives.Process(target=_check, args=(folder, told, theirs))
    check.start()
    theirs.close()
    try:
        found: list[str] = ours.recv()
    except EOFError:
        found = ["what was left could not be read"]
    check.join()
    return found
