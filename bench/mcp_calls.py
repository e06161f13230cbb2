"""Two programs over MCP concurrently with the chat and a working project: isolation, losses, latency.

    PYTHONPATH=.:bench python bench/mcp_calls.py [--episodes 10000] [--calls 1000] [--json]

A random mind (large_mind.py), the real daemon, two server processes with the official client, a fake model provider.
Each program writes into its own project and searches in it; a third client talks, a fourth makes a project work
repeatedly. Afterwards the rows are counted: what each program stored must be there exactly once, in its own project and
in no other.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from large_mind import fill
from mcp import Client
from synthetic import make_mind

sys.path.insert(0, str(Path(__file__).parents[1]))  # tests is not part of the package.

from reveries import protocol
from reveries.config import Home
from tests.e2e.living import Client as Talking
from tests.e2e.living import Living
from tests.e2e.mcp_program import call, mcp_client
from tests.fakes.provider import provider

_SETTINGS = """
[llm]
provider = "ollama"
conversation_model = "talker"
ollama_url = "{url}"
[monologue]
enabled = false
[mcp]
may_write = ["one", "two"]
"""
_PROJECTS = {"one": "Shed", "two": "Boat"}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--calls", type=int, default=1_000)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rv") as folder:
        report = asyncio.run(measure_calls(Home(Path(folder) / "h"), arguments.episodes, arguments.calls))
    if arguments.json:
        print(json.dumps(report, indent=2))
        return
    for name, value in report.items():
        print(f"{name:28} {value}")


async def measure_calls(home: Home, episodes: int, calls: int) -> dict[str, object]:
    """Counts, and milliseconds on the wall."""
    home.create()
    await fill(home, make_mind(episodes, hubs=False), 2)
    async with provider(time.monotonic) as there:
        daemon = Living(home, settings=_SETTINGS.format(url=there.url))
        await daemon.wake(300)
        async with mcp_client(daemon, name="one") as one, mcp_client(daemon, name="two") as two:
            for client, name in ((one, "Shed"), (two, "Boat")):
                await call(client, "create_project", vision_summary="v", success_criteria=[], name=name)
            await call(one, "recall", query="warm up")
            await loops_are_compiled(home)
            programs = [Program("one", one), Program("two", two)]
            done = asyncio.Event()
            async with daemon.client() as talking, daemon.client() as owner, asyncio.TaskGroup() as tasks:
                beside = [tasks.create_task(talk(talking, done)), tasks.create_task(work(owner, done))]
                running = [tasks.create_task(program.run(calls // 2)) for program in programs]
                for task in running:
                    await task
                done.set()
                turns, wakes = [await task for task in beside]
            report = await count_rows(programs)
        await daemon.end(seconds=120)
    times: dict[str, list[float]] = defaultdict(list)
    for program in programs:
        for tool, seconds in program.times:
            times[tool].append(seconds * 1000)
    report |= {"calls": sum(map(len, times.values())), "talk_turns": turns, "work_wakes": wakes}
    return report | {f"{tool}_p50_p99_ms": spread(found) for tool, found in sorted(times.items())}


class Program:
    """One program with its own project."""

    def __init__(self, name: str, client: Client) -> None:
        self.name, self.project, self._client = name, _PROJECTS[name], client
        self.times: list[tuple[str, float]] = []
        self.stored: dict[str, list[str]] = {"chunk": [], "task": [], "activity": [], "question": []}
        self.wrong = 0

    async def run(self, calls: int) -> None:
        """So many calls, one kind after the other."""
        for number in range(calls):
            tool, given = self._next(number)
            began = time.perf_counter()
            answer = await call(self._client, tool, **given)
            self.times.append((tool, time.perf_counter() - began))
            self.wrong += answer.get("project", self.project) != self.project
            for found in answer.get("results", ()):
                self.wrong += f"of {self.name}" not in found["chunk"]["content"]

    def _next(self, number: int) -> tuple[str, dict[str, Any]]:
        project, text = (
            {"project_id": self.project},
            f"fact {number} of {self.name}: the value is {number * 7919 % 1000}",
        )
        match number % 5:
            case 0:
                self.stored["chunk"].append(text)
                more = {"type": "research", "tags": [], "confidence": "inferred", "source": "research"}
                return "store_chunk", {**project, "content": text, **more}
            case 1:
                return "recall", {"query": f"what was said about number {number}?"}
            case 2:
                return "search_hybrid", {**project, "query": f"the value of fact {number - 2}"}
            case 3:
                self.stored["task"].append(text)
                return "create_task", {**project, "title": text, "description": "", "skill_area": "a"}
            case _:
                self.stored["activity"].append(text)
                return "log_activity", {**project, "action": text}

    async def kept(self, of: str) -> dict[str, list[str]]:
        """What the project `of` has."""
        project = {"project_id": of}
        chunks: list[str] = []
        for text in self.stored["chunk"]:
            found = await call(self._client, "search_semantic", **project, query=text, limit=5, min_similarity=0.0)
            chunks += [one["chunk"]["content"] for one in found["results"] if one["chunk"]["content"] == text]
        tasks = await call(self._client, "get_tasks", **project)
        log = await call(self._client, "get_recent_activity", **project, limit=200)
        return {
            "chunk": chunks,
            "task": [one["title"] for one in tasks["tasks"] if one["title"] in self.stored["task"]],
            "activity": [one["action"] for one in log["activities"] if one["action"] in self.stored["activity"]],
        }


async def count_rows(programs: list[Program]) -> dict[str, object]:
    """Return how many rows are lost, duplicated, or in the wrong project."""
    lost = twice = wrong = 0
    for program in programs:
        own = await program.kept(program.project)
        other = await program.kept(next(one.project for one in programs if one is not program))
        for kind in ("chunk", "task"):
            lost += len(set(program.stored[kind]) - set(own[kind]))
            twice += len(own[kind]) - len(set(own[kind]))
        wrong += program.wrong + sum(map(len, other.values()))
    return {"in_the_wrong_project": wrong, "lost": lost, "twice": twice}


async def talk(client: Talking, done: asyncio.Event) -> int:
    """Send turns one after the other at typing speed; return how many."""
    turns = 0
    while not done.is_set():
        await client.say(f"What do you remember of day {turns}?")
        turns += 1
        await asyncio.sleep(1.0)
    return turns


async def work(client: Talking, done: asyncio.Event) -> int:
    """A project of the owner's that works whenever it may; how many wakes were asked for."""
    client.send(protocol.CreateProject(client.number(), "Garden"))
    await client.next_of(protocol.ProjectDetail)
    client.send(protocol.SetGoal(client.number(), "Garden", "Find out which beans grow best."))
    await client.next_of(protocol.ProjectDetail)
    wakes = 0
    while not done.is_set():
        client.send(protocol.RequestWork(client.number(), "Garden"))
        await client.next_of(protocol.WorkRequested)
        wakes += 1
        await asyncio.sleep(0.5)
    return wakes


async def loops_are_compiled(home: Home) -> None:
    """Wait until the loops of a large memory are compiled: the first wake of an installation does that once."""
    async with asyncio.timeout(120):
        while "recall.loops" not in await asyncio.to_thread((home.logs / "daemon.log").read_text):  # noqa: ASYNC110
            await asyncio.sleep(0.5)


def spread(found: list[float]) -> str:
    """The median and the 99th percentile."""
    ordered = sorted(found)
    return f"{ordered[len(ordered) // 2]:.1f} {ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]:.1f}"


if __name__ == "__main__":
    main()
