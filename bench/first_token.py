"""How long the owner waits for a first token while a project is being worked on, compared with an idle mind.

    python bench/first_token.py [--model NAME] [--turns 40]

A real daemon in a home of its own, turns of two kinds alternating: one to an idle mind (work is paused), one while the
model is planning or working on a project (a new one with a goal, and the words come a second after `status` says that
work goes on). Before each turn the model has read the prompt ahead. Prints each pair as it is measured; at the end p50
and p95 of both kinds and the ratio of the p95. A turn is not counted if the mind did not become idle or busy in time. No
deep sleep falls due meanwhile: it would come before the work (how late sleep may be is measured in tests/projects).
"""

import argparse
import asyncio
import contextlib
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from reveries.client.mind import MindClient, connect

_GOALS = (
    "Plan a spring clean of the boat", "Find a weekend for the choir's concert", "Get the car through its inspection",
    "Sort the recipes for the school fair", "Prepare the garden for the frost", "Plan a week in the mountains",
)  # fmt: skip
_WORDS = (
    "I was at the market this morning.", "What is a good name for a cat?", "My brother comes on Sunday.",
    "Why is bread salted?", "It rained all night.", "Tell me something about owls.", "I slept badly.",
    "How long does an egg boil?",
)  # fmt: skip
_SETTLE_SECONDS = 8.0
_MOST_WAIT_SECONDS = 60.0
NOTES = Path(__file__).parent / "work_notes"


def run_command(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "reveries", *words], check=True, capture_output=True, timeout=300)


def create_project(name: str, goal: str) -> None:
    run_command("project", "new", name)
    for note in sorted(NOTES.glob("*.md")):
        run_command("project", "add", name, str(note), "--own")
    run_command("project", "goal", name, goal)


@contextlib.contextmanager
def working_on(project: str) -> Iterator[None]:
    """Let the mind work on `project` within the block. The command ends only when the project rests."""
    command = [sys.executable, "-m", "reveries", "work", "--now", "--project", project]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.kill()  # The mind goes on with the work, or has broken it off.


async def time_first_token(mind: MindClient, words: str) -> float:
    began = time.perf_counter()
    exchange, first = mind.say(words), 0.0
    async for _ in exchange:
        first = first or time.perf_counter() - began
    return first


async def wait_for_work(mind: MindClient, is_working: bool) -> bool:
    """Return whether the mind begins (or ends) to work within `_MOST_WAIT_SECONDS`."""
    began = time.perf_counter()
    while time.perf_counter() - began < _MOST_WAIT_SECONDS:
        if ((await mind.status()).state == "working") is is_working:
            return True
        await asyncio.sleep(0.1)
    return False


async def measure_pair(mind: MindClient, number: int) -> tuple[float, float] | None:
    """Return the seconds to the first token of an idle and of a working mind; None if it was not so in time."""
    words = _WORDS[number % len(_WORDS)]
    await asyncio.to_thread(run_command, "work", "--pause")
    if not await wait_for_work(mind, is_working=False):
        return None
    await asyncio.sleep(_SETTLE_SECONDS)
    idle = await time_first_token(mind, words)
    await asyncio.sleep(_SETTLE_SECONDS)
    await asyncio.to_thread(run_command, "work", "--resume")
    # A project of its own: one that waits for the owner's answers has no work.
    project = f"Bench {number}"
    await asyncio.to_thread(create_project, project, _GOALS[number % len(_GOALS)])
    with working_on(project):
        if not await wait_for_work(mind, is_working=True):
            return None
        await asyncio.sleep(1.0)
        return idle, await time_first_token(mind, words)


async def measure(turns: int) -> None:
    pairs = []
    async with connect() as mind:
        await time_first_token(mind, "Good morning.")
        for number in range(turns):
            if pair := await measure_pair(mind, number):
                print(f"idle {pair[0]:.2f} s, working {pair[1]:.2f} s", flush=True)
                pairs.append(pair)
    print(f"{len(pairs)} of {turns} turns were counted")
    p95 = {}
    for name, values in zip(("idle", "working"), zip(*pairs, strict=True), strict=True):
        ordered = sorted(values)
        p95[name] = ordered[math.ceil(0.95 * len(ordered)) - 1]  # by nearest rank
        print(f"{name}: p50 {statistics.median(ordered):.2f} s, p95 {p95[name]:.2f} s")
    print(f"p95 working / idle: {p95['working'] / p95['idle']:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="qwen2.5-coder-1.5b-instruct")
    parser.add_argument("--turns", type=int, default=40)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ["REVERIES_HOME"] = home
        run_command("config", "set", "llm.embedded.model", chosen.model)
        run_command("config", "set", "monologue.enabled", "false")
        run_command("config", "set", "memory.consolidation_volume", "100000")
        run_command("wake")
        try:
            asyncio.run(measure(chosen.turns))
        finally:
            run_command("sleep")


if __name__ == "__main__":
    main()
