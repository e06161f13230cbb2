"""How long the owner waits for a first token while a project is being worked on, compared with an idle mind.

    python bench/first_token.py [--model NAME] [--rounds 25]

A real daemon in a home of its own. Each round has three turns with the same words, to a mind that has read the prompt
ahead: idle (work is paused); at once, a second after `status` says that a new project is planned or worked on, as from
`reveries say`; and written, the same, but as the chat sends them, which tells the mind two seconds earlier that the
owner writes. Prints each round as it is measured; at the end p50 and p95 of each kind, by nearest rank, and the ratios
to the idle mind. A round is not counted if the mind did not become idle or busy in time. No deep sleep falls due: it
would come before the work (how late sleep may be is measured in tests/projects).
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

from reveries import protocol
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
_WRITING_SECONDS = 2.0
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


async def time_idle_turn(mind: MindClient, words: str) -> float | None:
    await asyncio.to_thread(run_command, "work", "--pause")
    if not await wait_for_work(mind, is_working=False):
        return None
    await asyncio.sleep(_SETTLE_SECONDS)
    return await time_first_token(mind, words)


async def time_turn_during_work(mind: MindClient, words: str, number: int, *, is_written: bool) -> float | None:
    await asyncio.sleep(_SETTLE_SECONDS)
    await asyncio.to_thread(run_command, "work", "--resume")
    # A project of its own: one that waits for the owner's answers has no work.
    project = f"{'Written' if is_written else 'At once'} {number}"
    await asyncio.to_thread(create_project, project, _GOALS[number % len(_GOALS)])
    with working_on(project):
        if not await wait_for_work(mind, is_working=True):
            return None
        await asyncio.sleep(1.0)
        if is_written:
            await mind.connection.ask(protocol.NoteWriting, protocol.Ok)
            await asyncio.sleep(_WRITING_SECONDS)
        return await time_first_token(mind, words)


async def measure_round(mind: MindClient, number: int) -> tuple[float, ...] | None:
    """Return the seconds to the first token: idle, at once, written; None if the mind was not so in time."""
    words = _WORDS[number % len(_WORDS)]
    seconds = [
        await time_idle_turn(mind, words),
        await time_turn_during_work(mind, words, number, is_written=False),
        await time_turn_during_work(mind, words, number, is_written=True),
    ]
    counted = [one for one in seconds if one is not None]
    return tuple(counted) if len(counted) == len(seconds) else None


async def measure(rounds: int) -> None:
    counted = []
    async with connect() as mind:
        await time_first_token(mind, "Good morning.")
        for number in range(rounds):
            if seconds := await measure_round(mind, number):
                print("idle {:.2f} s, at once {:.2f} s, written {:.2f} s".format(*seconds), flush=True)
                counted.append(seconds)
    print(f"{len(counted)} of {rounds} rounds were counted")
    idle_p50 = idle_p95 = 0.0
    for name, values in zip(("idle", "at once", "written"), zip(*counted, strict=True), strict=True):
        ordered = sorted(values)
        p50, p95 = statistics.median(ordered), ordered[math.ceil(0.95 * len(ordered)) - 1]
        idle_p50, idle_p95 = idle_p50 or p50, idle_p95 or p95
        print(f"{name}: p50 {p50:.2f} s ({p50 / idle_p50:.2f}), p95 {p95:.2f} s ({p95 / idle_p95:.2f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="qwen2.5-coder-1.5b-instruct")
    parser.add_argument("--rounds", type=int, default=25)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ["REVERIES_HOME"] = home
        run_command("config", "set", "llm.embedded.model", chosen.model)
        run_command("config", "set", "monologue.enabled", "false")
        run_command("config", "set", "memory.consolidation_volume", "100000")
        run_command("wake")
        try:
            asyncio.run(measure(chosen.rounds))
        finally:
            run_command("sleep")


if __name__ == "__main__":
    main()
