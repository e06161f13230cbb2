"""Work in a folder that is killed again and again: no command happens twice, the folder is as the rows say, and undoing
the task gives it back byte for byte.

    python -m tests.tools.killed_work ROUNDS [SEED]     # one line of JSON

Each round is a task of nine steps in a fork of this process, killed at random moments until it is done.
"""

import asyncio
import hashlib
import json
import os
import random
import re
import signal
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from reveries.projects.model import TaskStatus
from reveries.tools.folder_marks import mark_folder
from reveries.tools.sandbox import Sandbox, find_sandbox
from tests.projects.kit import Work, asked_for, finished, open_work, tool_services
from tests.tools.test_task_with_a_folder import TITLE, begin, step

_RUN: Final = "printf '{0}\\n' >> done.txt; sleep 0.0{1}; printf '{0} ended\\n' >> ended.txt"
_LONGEST_SECONDS: Final = 1.2
_MOST_LIVES: Final = 40


@dataclass
class Tally:
    """What became of all rounds."""

    kills: int = 0
    tasks: int = 0
    unknown: int = 0
    """Commands of which nobody knew whether they had happened, and the owner said: not again."""
    repeated: int = 0
    not_as_told: int = 0
    not_given_back: int = 0
    stuck: int = 0


def plan() -> list[dict[str, object]]:
    """Nine steps; each command leaves its own mark, once each time it is run."""
    return [
        step("run_command", command=_RUN.format("one", 1), seconds=5),
        step("write_file", path="notes/a.md", text="first\n"),
        step("run_command", command=_RUN.format("two", 3), seconds=5),
        step("edit_file", path="kept.md", old="as it was", new="as it is"),
        step("read_file", path="kept.md", from_line=1),
        step("run_command", command="rm gone.md; mkdir -p made/deep; " + _RUN.format("three", 5), seconds=5),
        step("write_file", path="made/deep/b.md", text="b\n" * 1000),
        step("edit_file", path="notes/a.md", old="first", new="second"),
        step("run_command", command=_RUN.format("four", 2), seconds=5),
    ]


def next_step(text: str) -> object:
    """The first of the plan that does not stand among what was done: the model remembers nothing by itself."""
    match asked_for(text):
        case "audit":
            return {"why": "fine", "accepted": True}
        case "orient":
            return {
                "vision_summary": "order", "success_criteria": [], "constraints": [], "skills": [],
                "phase": "execution", "priorities": [],
            }  # fmt: skip
        case "step":
            done = text.partition("What you did so far")[2]
            for one in plan():
                called = dict(one["steps"][0])  # type: ignore[index]
                name = called.pop("tool")
                told = json.dumps(called, separators=(",", ":"), ensure_ascii=False)[:300]
                found = re.findall(rf"^\d+\. {name} {re.escape(told)}(.*)$", done, re.MULTILINE)
                if not found or found[-1] == " (unknown)":
                    return one
            return finished("complete", "All of it is done.")
    return {"why": "fine", "serves": True}


def lay_out(folder: Path) -> None:
    (folder / "sub").mkdir(parents=True)
    (folder / "kept.md").write_text("as it was\n")
    (folder / "gone.md").write_text("here\n")
    (folder / "sub" / "run.sh").write_text("#!/bin/sh\n")
    (folder / "sub" / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("kept.md")
    (folder / "empty").mkdir()


async def life(at: Path, sandbox: Sandbox) -> None:
    """One wake; what waits for a yes is answered with no."""
    services = tool_services(at, sandbox)
    async with open_work(at, next_step, most_tasks=1, services=services, new_id=_new_id) as work:
        [project] = await work.store.projects()
        for _, question in await work.store.questions.list_open():
            if question.kind.value == "approval":
                await work.store.questions.answer(question.id, "no")
        await work.wake(project)


async def begin_anew(at: Path) -> None:
    lay_out(at / "folder")
    async with open_work(at, next_step, new_id=_new_id) as work:
        await begin(work, at / "folder")


def _new_id() -> str:
    return os.urandom(8).hex()


def live_and_be_killed(at: Path, sandbox: Sandbox, seconds: float) -> bool:
    """A life in a fork, ended after so long; whether it was killed."""
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        try:
            asyncio.run(life(at, sandbox))
        finally:
            os._exit(0)
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        if os.waitpid(child, os.WNOHANG)[0]:
            return False
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


async def look(at: Path, tally: Tally) -> bool:
    """Compare the rows with the folder once the task is done; whether it is."""
    services = tool_services(at)
    async with open_work(at, next_step, services=services, new_id=_new_id) as work:
        [project] = await work.store.projects()
        task = await work.task(project, TITLE)
        if task.status is not TaskStatus.DONE:
            return False
        await _compare(work, task.id, at / "folder", tally)
        services.copies.restore(task.id, at / "folder")
    return True


async def _compare(work: Work, task_id: str, folder: Path, tally: Tally) -> None:
    steps = [one for one in await work.store.tasks.steps_of(task_id) if one.reach == "inside"]
    marks = (folder / "done.txt").read_text().split() if (folder / "done.txt").exists() else []
    tally.repeated += len(marks) - len(set(marks))
    for one in steps:
        if one.tool == "run_command":
            [name] = re.findall(r"printf '(\w+)\\\\n'", one.arguments)[:1]
            tally.unknown += one.state == "unknown"
            tally.not_as_told += one.state == "done" and marks.count(name) != 1
    last = {one.path: one.sha256 for one in steps if one.path and one.state == "done"}
    for one in steps:
        if one.state == "unknown":  # It may have been written or not: that is what the row says.
            last.pop(json.loads(one.arguments).get("path", ""), None)
    for path, digest in last.items():
        tally.not_as_told += hashlib.sha256((folder / path).read_bytes()).hexdigest() != digest


def run_rounds(kills: int, seed: int) -> Tally:
    """Tasks, until so many lives were ended by a kill."""
    chance, tally, sandbox = random.Random(seed), Tally(), find_sandbox()
    while tally.kills < kills:
        with tempfile.TemporaryDirectory() as name:
            at = Path(name)
            asyncio.run(begin_anew(at))
            before = mark_folder(at / "folder")
            for life_number in range(_MOST_LIVES):
                # On a machine that is busy or slow the first lives are too short for a step: later ones last longer.
                longest = _LONGEST_SECONDS * (1 + life_number / 10)
                tally.kills += live_and_be_killed(at, sandbox, chance.uniform(0.05, longest))
                if asyncio.run(look(at, tally)):
                    break
            else:
                tally.stuck += 1
                continue
            tally.tasks += 1
            tally.not_given_back += mark_folder(at / "folder") != before
    return tally


if __name__ == "__main__":
    print(json.dumps(asdict(run_rounds(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1))))  # noqa: T201
