"""An hour of a mind left alone: a short talk, then nobody says a word, in real time and with the model that ships.

    python bench/an_hour.py --out an-hour.md [--minutes 60] [--model smollm2-135m] [--reveries .venv/bin/reveries]

The mind has a home of its own, and is a daemon like any other. Every thought is written down as it came, with why it
began and ended and what it cost; besides, how busy the daemon and the model were, and in which states the mind was.
Nothing is left out or mended.
"""

import argparse
import contextlib
import json
import os
import platform
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

TALK = (
    "My sister Marta had her first day at the harbour office today. She was so nervous that she forgot her lunch.",
    "I want to build her a bookshelf before her birthday in three weeks, but I have never worked with wood.",
    "My neighbour Ivo lends me his saw. He says oak is too hard for a beginner.",
    "And my father has not called since we argued about the house. I do not know whether to ring him first.",
    "I have to go now. Good night!",
)
_LOOK_SECONDS = 10.0
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Hour:
    """What was seen."""

    states: Counter[str] = field(default_factory=Counter)
    replies: list[tuple[str, str]] = field(default_factory=list)
    cpu_seconds: float = 0.0
    minutes: float = 0.0
    thoughts: list[dict[str, object]] = field(default_factory=list)
    usage: str = ""
    status: str = ""


class Mind:
    """`reveries` in a home of its own."""

    def __init__(self, program: Sequence[str], home: Path) -> None:
        self._program = program
        self._environment = {**os.environ, "REVERIES_HOME": str(home), "NO_COLOR": "1"}

    def run(self, *words: str, seconds: float = 300.0) -> str:
        """What a command printed. Raises RuntimeError with it when the command failed."""
        done = subprocess.run(
            [*self._program, *words],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"reveries {shlex.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout.rstrip()

    def status(self) -> dict[str, object]:
        found: dict[str, object] = json.loads(self.run("status", "--json"))
        return found


def cpu_seconds_of(pid: int) -> float:
    """Processor time of a process and of the children it has and had."""
    total = 0.0
    for one in (pid, *_children(pid)):
        with contextlib.suppress(OSError):
            numbers = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            total += sum(int(number) for number in numbers[11 : 15 if one == pid else 13]) / _TICKS
    return total


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(word) for word in tasks.read_text().split()]
    return found


def live(mind: Mind, minutes: float) -> Hour:
    """Talk, then look now and then until the time is over."""
    hour = Hour(minutes=minutes)
    for words in TALK:
        hour.replies.append((words, mind.run("say", words)))
    pid = int(str(mind.status()["pid"]))
    end, used_before = time.monotonic() + 60.0 * minutes, cpu_seconds_of(pid)
    while (left := end - time.monotonic()) > 0:
        hour.states[str(mind.status()["state"])] += 1
        time.sleep(min(_LOOK_SECONDS, left))
    hour.cpu_seconds = cpu_seconds_of(pid) - used_before
    hour.thoughts = json.loads(mind.run("monologue", "history", "--limit", "1000", "--json"))["thoughts"]
    hour.usage, hour.status = mind.run("usage", "--plain"), mind.run("status")
    return hour


def told(hour: Hour, command: str) -> str:
    """The hour as a page of Markdown."""
    ends = Counter(str(thought["why_ended"]) for thought in hour.thoughts)
    begins = Counter(str(thought["why_began"]) for thought in hour.thoughts)
    written = sum(int(str(thought["tokens"])) for thought in hour.thoughts)
    looks = sum(hour.states.values()) or 1
    lines = [
        (
            f"`{command}`, {datetime.now(UTC):%d %B %Y}, {platform.machine()} with {os.cpu_count()} cores, load "
            f"{os.getloadavg()[2]:.1f} at the end."
        ),
        "",
        f"- {len(hour.thoughts)} thoughts in {hour.minutes:g} minutes, {written:,} tokens thought.",
        f"- They began with: {_listed(begins)}.",
        f"- They ended with: {_listed(ends)}.",
        f"- Seen every {_LOOK_SECONDS:.0f} s it was: "
        + ", ".join(f"{state} {100 * count / looks:.0f} %" for state, count in hour.states.most_common())
        + ".",
        (
            f"- Daemon and model used {hour.cpu_seconds:,.0f} s of processor time: "
            f"{100 * hour.cpu_seconds / (60 * hour.minutes):.1f} % of one core."
        ),
        "",
        "## The talk before",
        "",
    ]
    for words, reply in hour.replies:
        lines += [f"> {words}", "", "```text", reply, "```", ""]
    lines += ["## Every thought, as it came", ""]
    for thought in sorted(hour.thoughts, key=lambda one: float(str(one["began_at"]))):
        lines += _thought(thought)
    lines += ["## `reveries usage` at the end", "", "```text", hour.usage, "```", ""]
    lines += ["## `reveries status` at the end", "", "```text", hour.status, "```", ""]
    return "\n".join(lines)


def _thought(thought: dict[str, object]) -> list[str]:
    began, ended = float(str(thought["began_at"])), float(str(thought["ended_at"]))
    head = f"**{datetime.fromtimestamp(began, UTC):%H:%M:%S}**, {ended - began:.0f} s, {thought['tokens']} tokens"
    occasion = f": {thought['occasion']}" if thought.get("occasion") else ""
    cost = (
        f"; {thought['prompt_tokens']} tokens read, {thought['completion_tokens']} written, ${thought['dollars']:.4f}"
        if "dollars" in thought
        else ""
    )
    explanation = f": {thought['explanation']}" if thought.get("explanation") else ""
    return [
        f"{head}. Began: {thought['why_began']}{occasion}. Ended: {thought['why_ended']}{explanation}{cost}.",
        "",
        "```text",
        str(thought["text"]).strip(),
        "```",
        "",
    ]


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} ({count})" for name, count in counts.most_common()) or "nothing"


def main() -> None:
    """Run the hour and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--model", default="", help="another embedded model than the one that ships")
    parser.add_argument("--reveries", default=".venv/bin/reveries", help="the program, as a shell would be told")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rv-") as folder:
        mind = Mind(shlex.split(chosen.reveries), Path(folder))
        if chosen.model:
            for role in ("conversation", "monologue", "consolidation"):
                mind.run("config", "set", f"llm.{role}_model", chosen.model)
        mind.run("wake")
        pid = int(str(mind.status()["pid"]))
        try:
            hour = live(mind, chosen.minutes)
        finally:
            os.kill(pid, signal.SIGTERM)
        chosen.out.write_text(told(hour, f"python bench/an_hour.py {shlex.join(sys.argv[1:])}"), encoding="utf-8")


if __name__ == "__main__":
    main()
