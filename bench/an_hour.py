"""An hour of thinking in real time: what the mind thought, what ended each thought, what it cost.

    python bench/an_hour.py --out docs/an-hour.md                 # the default embedded model, 60 minutes
    python bench/an_hour.py --model smollm2-135m --minutes 3      # to try it
    python bench/an_hour.py --made development                    # with a simulated clock, see bench/made_hour.py

A mind is woken in a new home and receives a few messages; then it is left alone. During the hour a calendar event comes
near, the owner sends one more message, and asks it to think about something. Everything goes through the command line.
The report is the complete log; nothing is left out or selected.
"""

import argparse
import asyncio
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import psutil
from made_hour import play_hours

TOLD = (
    "My mother planted the pear tree in our garden in the spring of 1984.",
    "It is dying now, I think. Half of it had no leaves this summer.",
    "My brother Paul wants to cut it down before winter. I don't know what to say to him.",
)
LATER = "Paul called. He will come on Saturday with a saw, and I have not told him that I mind."
NUDGE = "think about what I could say to Paul"
EVENT = "Paul comes for the pear tree"
LATER_AT, NUDGE_AT, EVENT_AT = 0.3, 0.55, 0.75
"""Shares of the hour."""
LOOK_SECONDS = 5.0
CALL_SECONDS = 300.0


@dataclass
class Hour:
    """What was seen."""

    model: str
    minutes: float
    began_at: float = 0.0
    replies: list[tuple[str, str]] = field(default_factory=list)
    states: Counter[str] = field(default_factory=Counter)
    """Seconds by what the mind did."""
    daemon_cpu: float = 0.0
    model_cpu: float = 0.0
    """Processor seconds."""
    most_rss: int = 0
    thoughts: list[dict[str, object]] = field(default_factory=list)
    status: dict[str, object] = field(default_factory=dict)
    load: tuple[float, float, float] = (0.0, 0.0, 0.0)


def main() -> int:
    """Live it and write it down. The exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="qwen2.5-coder-1.5b-instruct", help="a name of `reveries models`")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--out", type=Path, help="where the page goes; without it, to the terminal")
    parser.add_argument("--made", choices=("development", "once"), help="made owners' hours, without their time")
    parser.add_argument("--seed", type=int, default=1, help="with --made: of the occasions and of the model")
    parser.add_argument("--tier", type=int, default=1, help="with --made: as what the model is asked")
    options = parser.parse_args()
    if options.made:
        show = partial(_write_page, out=options.out)
        asyncio.run(play_hours(options.model, options.made, show, seed=options.seed, tier=options.tier))
        return 0
    with tempfile.TemporaryDirectory(prefix="rvh") as folder:
        mind = Mind(Path(folder) / "h", options.model, options.minutes)
        try:
            hour = mind.live()
        finally:
            mind.call("sleep", check=False)
    return _write_page(page(hour), options.out)


def _write_page(text: str, out: Path | None) -> int:
    if out is None:
        print(text)
    else:
        out.write_text(text, encoding="utf-8")
    return 0


class Mind:
    """A mind in a separate home, used through the command line."""

    def __init__(self, home: Path, model: str, minutes: float) -> None:
        home.mkdir(mode=0o700)
        self._calendar = home / "calendar.ics"
        self._hour = Hour(model, minutes)
        self._environment = {**os.environ, "REVERIES_HOME": str(home), "NO_COLOR": "1"}
        settings = {
            "owner.name": "Ana",
            "llm.provider": "embedded",
            "llm.embedded.model": model,
            "calendar.path": str(self._calendar),
            "calendar.lead_minutes": "1",
        }
        for key, value in settings.items():
            self.call("config", "set", key, value)

    def call(self, *words: str, check: bool = True) -> str:
        """What `reveries WORDS` writes."""
        done = subprocess.run(
            [sys.executable, "-m", "reveries", *words],
            capture_output=True,
            text=True,
            timeout=CALL_SECONDS,
            check=False,
            env=self._environment,
        )
        if check and done.returncode:
            raise SystemExit(f"reveries {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout.strip()

    def live(self) -> Hour:
        """Wake the mind, talk to it, then leave it alone and sample its state."""
        hour, seconds = self._hour, self._hour.minutes * 60
        self.call("wake")
        hour.replies += [(words, self.call("say", words)) for words in TOLD]
        hour.began_at = time.time()
        self._write_event(hour.began_at + seconds * EVENT_AT + 60)
        due = [(LATER_AT, self._say_later), (NUDGE_AT, lambda: self.call("monologue", "nudge", NUDGE))]
        processes = self._processes()
        before = [_cpu(one) for one in processes]
        while (passed := time.time() - hour.began_at) < seconds:
            while due and passed >= due[0][0] * seconds:
                due.pop(0)[1]()
            looked = time.time()
            status = json.loads(self.call("status", "--json"))
            time.sleep(LOOK_SECONDS)
            hour.states[str(status["state"])] += round(time.time() - looked)
            hour.most_rss = max(hour.most_rss, sum(_rss(one) for one in self._processes()))
        after = [_cpu(one) for one in processes]
        hour.daemon_cpu = after[0] - before[0]
        hour.model_cpu = sum(after[1:]) - sum(before[1:])
        hour.status = json.loads(self.call("status", "--json"))
        hour.thoughts = json.loads(self.call("monologue", "history", "--since", "2h", "--json"))["thoughts"]
        hour.load = os.getloadavg()
        return hour

    def _say_later(self) -> None:
        self._hour.replies.append((LATER, self.call("say", LATER)))

    def _write_event(self, at: float) -> None:
        starts = datetime.fromtimestamp(at, UTC)
        ends = starts + timedelta(hours=1)
        lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//reveries//an hour//", "BEGIN:VEVENT", "UID:saw",
                 f"DTSTAMP:{starts:%Y%m%dT%H%M%SZ}", f"DTSTART:{starts:%Y%m%dT%H%M%SZ}", f"DTEND:{ends:%Y%m%dT%H%M%SZ}",
                 f"SUMMARY:{EVENT}", "END:VEVENT", "END:VCALENDAR", ""]  # fmt: skip
        self._calendar.write_text("\r\n".join(lines), encoding="utf-8")

    def _processes(self) -> list[psutil.Process]:
        daemon = psutil.Process(int(json.loads(self.call("status", "--json"))["pid"]))
        return [daemon, *daemon.children(recursive=True)]


def page(hour: Hour) -> str:
    """The hour as Markdown."""
    ended = Counter(str(one["why_ended"]) for one in hour.thoughts)
    read, written = (
        sum(int(str(one[name])) for one in hour.thoughts) for name in ("prompt_tokens", "completion_tokens")
    )
    whole = hour.minutes * 60
    thinking = sum(seconds for state, seconds in hour.states.items() if state == "thinking")
    lines = [
        "# An hour of its own",
        "",
        _opening(hour),
        "",
        "| | |",
        "|---|---:|",
        f"| thoughts | {len(hour.thoughts)} |",
        f"| how they ended | {', '.join(f'{name} {count}' for name, count in ended.most_common())} |",
        f"| tokens read, written | {read:,}, {written:,} |",
        f"| dollars | {sum(float(str(one['dollars'])) for one in hour.thoughts):.2f} |",
        f"| of the time it thought | {100 * thinking / max(1, sum(hour.states.values())):.0f} % |",
        f"| processor time of the daemon | {hour.daemon_cpu:.0f} s, {100 * hour.daemon_cpu / whole:.1f} % of a core |",
        f"| processor time of the model | {hour.model_cpu:.0f} s, {100 * hour.model_cpu / whole:.0f} % of a core |",
        f"| memory at most | {hour.most_rss / 2**20:,.0f} MB |",
        f"| health at the end | {hour.status.get('health')} |",
        "",
        "## What it was told",
        "",
    ]
    for words, reply in hour.replies:
        lines += [f"> **Ana:** {words}", ">", *(f"> {line}".rstrip() for line in reply.splitlines()), ""]
    lines += ["## What it thought", ""]
    for thought in hour.thoughts:
        lines += _thought(thought, hour.began_at)
    return "\n".join(lines).rstrip() + "\n"


def _opening(hour: Hour) -> str:
    machine = f"{os.cpu_count()} cores ({platform.machine()}, {platform.system()}; load {hour.load[1]:.1f} at the end)"
    return (
        f"What a mind did in {hour.minutes:g} minutes of real time on "
        f"{datetime.fromtimestamp(hour.began_at):%d %B %Y}, with `{hour.model}` on {machine}. Made by "
        "`python bench/an_hour.py`: it was told three things, left alone, told one thing more, asked to think about "
        "one, and an event of its calendar came near. Every thought is here, complete and unedited."
    )


def _thought(thought: dict[str, object], began: float) -> list[str]:
    at = float(str(thought["began_at"]))
    minutes, seconds = divmod(max(0, round(at - began)), 60)
    lasted = float(str(thought["ended_at"])) - at
    occasion = f" ({thought['occasion']})" if thought["why_began"] in ("nudge", "calendar", "association") else ""
    used = len(thought["recalled"]) if isinstance(thought["recalled"], list) else 0
    words = [line for line in str(thought["text"]).strip().splitlines() if line.strip()]
    return [
        f"### {minutes}:{seconds:02} {thought['why_began']}{occasion}",
        "",
        *(f"> {line}" for line in words),
        "",
        f"{thought['tokens']} tokens in {lasted:.0f} s, {thought['prompt_tokens']} read, {used} memories before it.",
        f"Ended: {thought['why_ended']}. {thought['explanation']}",
        "",
    ]


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _rss(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.NoSuchProcess:
        return 0


if __name__ == "__main__":
    sys.exit(main())
