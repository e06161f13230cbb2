"""How long the owner waits for a first token while a project is being worked on, compared with an idle mind.

    python bench/first_token.py [--model NAME] [--turns 20]

A real daemon in a home of its own, two turns of each kind alternating: one to an idle mind, one while the model is
planning or working on a project (a new goal is given, and the words come as soon as `status` says that work goes on).
Before each turn the model has read the prompt ahead. Prints both lists, their p50 and p95, and the ratio of the p95.
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
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


async def time_first_token(mind: MindClient, words: str) -> float:
    began = time.perf_counter()
    exchange, first = mind.say(words), 0.0
    async for _ in exchange:
        first = first or time.perf_counter() - began
    return first


async def wait_for_work(mind: MindClient, is_working: bool) -> None:
    began = time.perf_counter()
    while time.perf_counter() - began < _MOST_WAIT_SECONDS:
        if ((await mind.status()).state == "working") is is_working:
            return
        await asyncio.sleep(0.1)


async def measure(turns: int) -> None:
    seconds: dict[str, list[float]] = {"idle": [], "working": []}
    async with connect() as mind:
        await time_first_token(mind, "Good morning.")
        for number in range(turns):
            words = _WORDS[number % len(_WORDS)]
            await wait_for_work(mind, is_working=False)
            await asyncio.sleep(_SETTLE_SECONDS)
            seconds["idle"].append(await time_first_token(mind, words))
            await asyncio.sleep(_SETTLE_SECONDS)
            await asyncio.to_thread(
                run_command, "project", "goal", "Bench", f"{_GOALS[number % len(_GOALS)]} ({number})"
            )
            await asyncio.to_thread(run_command, "work", "--now")
            await wait_for_work(mind, is_working=True)
            await asyncio.sleep(1.0)
            seconds["working"].append(await time_first_token(mind, words))
    for name, values in seconds.items():
        ordered = sorted(values)
        p95 = ordered[min(len(ordered) - 1, round(0.95 * len(ordered)))]
        print(f"{name}: p50 {statistics.median(ordered):.2f} s, p95 {p95:.2f} s; {[round(one, 2) for one in values]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="qwen2.5-coder-1.5b-instruct")
    parser.add_argument("--turns", type=int, default=20)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ["REVERIES_HOME"] = home
        run_command("config", "set", "llm.embedded.model", chosen.model)
        run_command("config", "set", "monologue.enabled", "false")
        run_command("wake")
        try:
            run_command("project", "new", "Bench")
            for note in sorted(NOTES.glob("*.md")):
                run_command("project", "add", "Bench", str(note), "--own")
            asyncio.run(measure(chosen.turns))
        finally:
            run_command("sleep")


if __name__ == "__main__":
    main()
