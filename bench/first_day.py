"""A first day as a new user has it: `make wake` in a terminal (tmux), two turns, detach, watch the monologue,
`reveries sleep`, wake again, ask about the first conversation. Run it in a clean clone; it needs tmux.

    python bench/first_day.py --runs 5 --out first-day.md

Each run has a new home and uses another fact. The report is what the terminal showed.
"""

import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

SESSION = "reveries-first-day"


@dataclass(frozen=True)
class Day:
    """The statement of the first day, the question of the second, and the word that a right answer contains."""

    first: str
    second: str
    question: str
    expected: tuple[str, ...]


DAYS = (
    Day(
        "My sister Anna moved to Oslo last week to work at the hospital there.",
        "I am going to visit her in March.",
        "Where does my sister Anna live now?",
        ("oslo",),
    ),
    Day(
        "I have a cello audition on the third of December, I will play the Elgar concerto.",
        "I practise every evening after work.",
        "Which instrument am I preparing an audition on?",
        ("cello",),
    ),
    Day(
        "Our cat Miso had surgery on her leg on Tuesday.",
        "She has to wear a cone for ten days and hates it.",
        "What is the name of my cat?",
        ("miso",),
    ),
    Day(
        "I hid the spare key under the blue flowerpot by the garage.",
        "My neighbour Paul knows it too.",
        "Where did I hide the spare key?",
        ("flowerpot", "flower pot"),
    ),
    Day(
        "My daughter Lena is allergic to walnuts, we found out on Sunday.",
        "The doctor gave us a pen to carry around.",
        "What is Lena allergic to?",
        ("walnut",),
    ),
)


@dataclass
class Terminal:
    """One tmux session with a separate home."""

    home: Path
    clone: Path
    transcript: list[str] = field(default_factory=list)

    def __enter__(self) -> "Terminal":
        tmux("kill-session", "-t", SESSION, check=False)
        path = f"{self.clone}/.venv/bin:{os.environ['PATH']}"
        tmux("new-session", "-d", "-s", SESSION, "-x", "120", "-y", "40", "-c", str(self.clone), "-e",
             f"REVERIES_HOME={self.home}", "-e", f"PATH={path}", "bash --norc --noprofile")  # fmt: skip
        return self

    def __exit__(self, *_: object) -> None:
        tmux("kill-session", "-t", SESSION, check=False)

    def type(self, text: str, key: str = "Enter") -> None:
        tmux("send-keys", "-t", SESSION, "-l", text)
        time.sleep(0.3)
        tmux("send-keys", "-t", SESSION, key)

    def key(self, name: str) -> None:
        tmux("send-keys", "-t", SESSION, name)

    def screen(self) -> str:
        return tmux("capture-pane", "-t", SESSION, "-p").rstrip()

    def wait(self, until: str, seconds: float) -> None:
        """Wait until `until` is on the screen."""
        end = time.monotonic() + seconds
        while until not in self.screen():
            if time.monotonic() > end:
                raise TimeoutError(f"{until!r} did not come within {seconds:.0f} s:\n{self.screen()}")
            time.sleep(0.5)

    def note(self, title: str) -> None:
        self.transcript += [f"**{title}**", "", "```text", self.screen(), "```", ""]

    def run(self, *command: str, seconds: float = 120) -> str:
        """Run a `reveries` command outside the terminal, in the same home, and return its output."""
        environment = {**os.environ, "REVERIES_HOME": str(self.home)}
        done = subprocess.run(
            [str(self.clone / ".venv/bin/reveries"), *command],
            env=environment, capture_output=True, text=True, timeout=seconds, check=False,
        )  # fmt: skip
        return (done.stdout + done.stderr).rstrip()

    def turns(self) -> int:
        return int(json.loads(self.run("status", "--json"))["memory"]["turns"])

    def say(self, words: str, turns_before: int) -> float:
        """Send a message in the chat, wait for the stored reply, and return the seconds until then."""
        began = time.monotonic()
        self.type(words)
        while self.turns() < turns_before + 2:
            if time.monotonic() - began > 240:
                raise TimeoutError(self.screen())
            time.sleep(0.5)
        time.sleep(1.5)
        return time.monotonic() - began


def tmux(*words: str, check: bool = True) -> str:
    return subprocess.run(["tmux", *words], capture_output=True, text=True, check=check).stdout


def live_a_day(number: int, day: Day, clone: Path, make_words: str) -> tuple[bool, list[str]]:
    with (
        tempfile.TemporaryDirectory(prefix="rv-", ignore_cleanup_errors=True) as folder,
        Terminal(Path(folder), clone) as terminal,
    ):
        terminal.transcript.append(f"## Run {number}\n")
        terminal.type(f"make wake {make_words}".strip())
        terminal.wait("enter sends", 900)
        time.sleep(2)
        terminal.note("`make wake`")
        first = terminal.say(day.first, 0)
        second = terminal.say(day.second, 2)
        terminal.note(f"Two turns ({first:.0f} s and {second:.0f} s until the reply was stored)")
        terminal.key("C-d")
        time.sleep(1)
        terminal.type("clear; timeout 40 .venv/bin/reveries monologue")
        time.sleep(42)
        terminal.note("Detached; `reveries monologue` for 40 seconds")
        began = time.monotonic()
        slept = terminal.run("sleep", seconds=180)
        terminal.transcript += [f"`reveries sleep` ({time.monotonic() - began:.0f} s): {slept}", ""]
        terminal.type("clear; make wake")
        terminal.wait("enter sends", 120)
        time.sleep(20)
        asked = terminal.say(day.question, 4)
        terminal.note(f"The next wake, 20 seconds later ({asked:.0f} s)")
        reply = json.loads(terminal.run("memory", "search", "--json", day.question))
        history = terminal.screen().lower()
        answer = history.rpartition(day.question.lower()[:40])[2]
        remembers = any(word in answer for word in day.expected)
        terminal.transcript += ["`reveries memory search`:", "", "```text"]
        terminal.transcript += [terminal.run("memory", "search", day.question), "```", ""]
        top = reply["episodes"][0]["episode_id"] if reply["episodes"] else ""
        terminal.transcript += [f"`reveries memory inspect {top}`:", "", "```text"]
        terminal.transcript += [terminal.run("memory", "inspect", top), "```", ""]
        terminal.transcript += [f"Remembered: {'yes' if remembers else 'no'}", ""]
        status = json.loads(terminal.run("status", "--json"))
        os.kill(status["pid"], signal.SIGTERM)
        return remembers, terminal.transcript


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, choices=range(1, len(DAYS) + 1))
    parser.add_argument("--clone", type=Path, default=Path.cwd())
    parser.add_argument("--make", default="", help="words for `make wake`, such as MODEL=smollm2-135m")
    parser.add_argument("--out", type=Path, required=True)
    chosen = parser.parse_args()
    lines: list[str] = []
    remembered = 0
    for number, day in enumerate(DAYS[: chosen.runs], 1):
        try:
            good, transcript = live_a_day(number, day, chosen.clone.absolute(), chosen.make)
        except TimeoutError as error:
            good, transcript = False, [f"## Run {number}\n", "```text", str(error), "```", ""]
        remembered += good
        lines += transcript
        print(f"run {number}: {'remembered' if good else 'did not remember'}", flush=True)
    lines.insert(0, f"Remembered in {remembered} of {chosen.runs} runs. Command: `{shlex.join(sys.argv)}`\n")
    chosen.out.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
