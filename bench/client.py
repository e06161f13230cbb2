"""Speed of the terminal interface: the real command in a pseudo-terminal, with a daemon that answers at once.

    PYTHONPATH=. python bench/client.py [--times 5] [--idle-seconds 20] [--json]

Measured from outside, by what the program writes to its terminal: time from the start to the first frame (the border of
the draft) and to the conversation on the screen (4 turns, and a history of 1,000 messages, of which the daemon sends
the last 200 first and the rest on scrolling); from a key press to its letter on the screen while a reply streams at 50
tokens a second; processor time of `reveries status`; idle processor time; memory. The daemon is tests/fakes/daemon.py
in a thread of this process.
"""

import argparse
import contextlib
import fcntl
import json
import math
import os
import pty
import resource
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from reveries import protocol
from reveries.config import Home
from tests.fakes.daemon import NOW, Script, awake_in_thread

ROOT: Final = Path(__file__).parents[1]
SIZE: Final = (40, 120)
TOKENS_PER_SECOND: Final = 50
_KEYS: Final = "αβγδεζηθικλμνξοπρστυφχψω"
"""Letters that stand in no reply, so that the one on the screen is the one that was typed."""
_WAIT_SECONDS: Final = 15.0
_LAST_WORDS: Final = "the-last-word"
_AFTER: Final = "the-end-of-it"


class Terminal:
    """A program in a pseudo-terminal; `written` is its output so far."""

    def __init__(self, home: Home) -> None:
        self.began = time.perf_counter()
        self.pid, self.screen = pty.fork()
        if self.pid == 0:
            os.environ.update(REVERIES_HOME=str(home.path), TERM="xterm-256color", PYTHONPATH=str(ROOT))
            os.execv(sys.executable, [sys.executable, "-m", "reveries"])
        fcntl.ioctl(self.screen, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
        self.written = ""

    def until(self, holds: Callable[[str], bool]) -> float:
        """Return the seconds until the output since now satisfies the condition. Raises TimeoutError."""
        began, since = time.perf_counter(), len(self.written)
        while not holds(self.written[since:]):
            if time.perf_counter() - began > _WAIT_SECONDS:
                raise TimeoutError(self.written[-2000:])
            self.read(0.5)
        return time.perf_counter() - began

    def read(self, seconds: float) -> None:
        """Read output for up to `seconds`; returns at the first piece."""
        if select.select([self.screen], [], [], seconds)[0]:
            self.written += os.read(self.screen, 65536).decode("utf-8", "replace")

    def drain(self, seconds: float) -> None:
        """Take all that it writes for `seconds`."""
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            self.read(left)

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self.screen, keys.encode())

    def cpu_seconds(self) -> float:
        """Processor time of it so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_bytes(self) -> int:
        """Return the resident memory in bytes."""
        return int(Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def close(self) -> None:
        """Leave."""
        os.kill(self.pid, signal.SIGTERM)
        os.close(self.screen)
        os.waitpid(self.pid, 0)


@dataclass
class Figures:
    """Seconds, each measured so many times."""

    first_frame: list[float] = field(default_factory=list)
    first_frame_cpu: list[float] = field(default_factory=list)
    conversation: list[float] = field(default_factory=list)
    conversation_cpu: list[float] = field(default_factory=list)
    long_history: list[float] = field(default_factory=list)
    long_history_cpu: list[float] = field(default_factory=list)
    echo: list[float] = field(default_factory=list)
    echo_quiet: list[float] = field(default_factory=list)
    status_cpu: list[float] = field(default_factory=list)
    bare_python_cpu: list[float] = field(default_factory=list)
    idle_cpu_share: float = 0.0
    resident_mb: float = 0.0


def turns(count: int) -> list[protocol.SaidTurn]:
    """Return a conversation of `count` messages; the last ends with words that occur nowhere else."""
    said = []
    for number in range(count):
        is_owner = number % 2 == 0
        text = "What about the garden wall, and the pear tree?" if is_owner else _ANSWER.format(number)
        said.append(protocol.SaidTurn(f"t{number}", "you" if is_owner else "Reverie", is_owner, text, NOW, False))
    return [*said[:-1], protocol.SaidTurn("last", "Reverie", False, f"Done: {_LAST_WORDS}", NOW, False)]


_ANSWER: Final = (
    "It is answer {}.\n\n- The wall is *finished*.\n- The tree **stands**.\n\n```python\nprune(tree)\n```\n"
)


@dataclass
class Start:
    """One start: seconds on the clock, and of the processor, to the first frame and to the conversation."""

    frame: float
    frame_cpu: float
    talk: float
    talk_cpu: float


def start(home: Home) -> tuple[Terminal, Start]:
    """A terminal on `home` with the conversation on its screen."""
    terminal = Terminal(home)
    terminal.until(lambda written: "╭" in written)
    frame, frame_cpu = time.perf_counter() - terminal.began, terminal.cpu_seconds()
    if _LAST_WORDS not in terminal.written:
        terminal.until(lambda written: _LAST_WORDS in written)
    return terminal, Start(frame, frame_cpu, time.perf_counter() - terminal.began, terminal.cpu_seconds())


def measure_starts(times: int, said: list[protocol.SaidTurn]) -> list[Start]:
    """Starts on a conversation, of which the mind sends the last 200 messages."""
    with _home() as home, awake_in_thread(home, Script(turns=said[-200:], earlier=said[:-200])):
        starts = []
        for _ in range(times):
            terminal, one = start(home)
            terminal.close()
            starts.append(one)
    return starts


def measure_echo(rounds: int) -> tuple[list[float], list[float]]:
    """From a key to its letter on the screen: in quiet, and while a reply streams in."""
    script = Script(turns=turns(4), pieces=_pieces(rounds), tokens_per_second=TOKENS_PER_SECOND)
    with _home() as home, awake_in_thread(home, script):
        terminal, _ = start(home)
        terminal.drain(1.0)
        quiet = [_echo(terminal, number) for number in range(rounds)]
        terminal.type("\x15go\r")
        terminal.drain(1.0)
        busy = [_echo(terminal, number) for number in range(rounds)]
        assert _AFTER not in terminal.written, "the reply ended before the keys did"
        terminal.close()
    return quiet, busy


def _pieces(rounds: int) -> list[str]:
    """Enough of a reply for all keys."""
    words = [
        "the",
        "old",
        "pear",
        "tree",
        "by",
        "the",
        "*wall*",
        "survived",
        "the",
        "storm",
        "and",
        "one",
        "branch",
        "broke.",
    ]
    pieces = [words[number % len(words)] + (" " if number % 60 else "\n\n") for number in range(rounds * 20 + 400)]
    return [*pieces, _AFTER]


def _echo(terminal: Terminal, number: int) -> float:
    letter = _KEYS[number % len(_KEYS)]
    terminal.type(letter)
    seconds = terminal.until(lambda written: letter in written)
    # A person's next key: not so even that it falls on a beat.
    terminal.drain(0.07 + 0.013 * (number % 7))
    if number % 20 == 19:
        terminal.type("\x15")
        terminal.drain(0.1)
    return seconds


def measure_idle(seconds: float) -> tuple[float, float]:
    """Share of a core while nothing happens, and megabytes."""
    with _home() as home, awake_in_thread(home, Script(turns=turns(40))):
        terminal, _ = start(home)
        terminal.drain(5.0)
        before = terminal.cpu_seconds()
        terminal.drain(seconds)
        share = (terminal.cpu_seconds() - before) / seconds
        megabytes = terminal.resident_bytes() / 1e6
        terminal.close()
    return share, megabytes


def measure_status(times: int) -> tuple[list[float], list[float]]:
    """Processor time of `reveries status`, and of an interpreter that does nothing, alternately."""
    status, bare = [], []
    with _home() as home, awake_in_thread(home):
        environment = os.environ | {"REVERIES_HOME": str(home.path), "PYTHONPATH": str(ROOT)}
        for _ in range(times):
            status.append(_child_cpu_seconds([sys.executable, "-m", "reveries", "status"], environment))
            bare.append(_child_cpu_seconds([sys.executable, "-c", ""], environment))
    return status, bare


def _child_cpu_seconds(command: list[str], environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=120)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@contextlib.contextmanager
def _home() -> Iterator[Home]:
    with tempfile.TemporaryDirectory(prefix="rv") as folder:
        home = Home(Path(folder) / "h")
        home.create()
        yield home


def main() -> None:
    """Measure and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--keys", type=int, default=200)
    parser.add_argument("--idle-seconds", type=float, default=20.0)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    short, long = measure_starts(chosen.times, turns(4)), measure_starts(chosen.times, turns(1000))
    quiet, busy = measure_echo(chosen.keys)
    status, bare = measure_status(chosen.times)
    share, megabytes = measure_idle(chosen.idle_seconds)
    figures = Figures(
        first_frame=[one.frame for one in short],
        first_frame_cpu=[one.frame_cpu for one in short],
        conversation=[one.talk for one in short],
        conversation_cpu=[one.talk_cpu for one in short],
        long_history=[one.talk for one in long],
        long_history_cpu=[one.talk_cpu for one in long],
        echo=busy,
        echo_quiet=quiet,
        status_cpu=status,
        bare_python_cpu=bare,
        idle_cpu_share=share,
        resident_mb=megabytes,
    )
    if chosen.json:
        sys.stdout.write(json.dumps(asdict(figures)) + "\n")
    else:
        sys.stdout.write(format_figures(figures))


def format_figures(figures: Figures) -> str:
    """Return the figures as lines, in milliseconds."""
    rows = [
        ("first frame", figures.first_frame, 400),
        ("  its processor time", figures.first_frame_cpu, 400),
        ("conversation on the screen", figures.conversation, 500),
        ("  its processor time", figures.conversation_cpu, 500),
        ("with a history of 1,000 messages", figures.long_history, 1000),
        ("  its processor time", figures.long_history_cpu, 1000),
        ("key to echo, quiet", figures.echo_quiet, 50),
        (f"key to echo at {TOKENS_PER_SECOND} tokens/s", figures.echo, 50),
        ("reveries status, processor time", figures.status_cpu, 300),
    ]
    lines = [
        f"{name:<36} median {statistics.median(some) * 1000:6.0f}  p99 {_high(some) * 1000:6.0f}  goal {goal} ms"
        for name, some, goal in rows
    ]
    ratio = statistics.median(figures.status_cpu) / statistics.median(figures.bare_python_cpu)
    lines.append(f"{'reveries status / an interpreter':<36} {ratio:.1f}")
    lines.append(f"{'idle':<36} {figures.idle_cpu_share:.2%} of a core (goal 1%), {figures.resident_mb:.0f} MB")
    lines.append(f"load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    return "\n".join(lines) + "\n"


def _high(some: list[float]) -> float:
    """The 99th percentile; of fewer than a hundred the highest."""
    return sorted(some)[min(len(some) - 1, math.ceil(len(some) * 0.99) - 1)]


if __name__ == "__main__":
    main()
