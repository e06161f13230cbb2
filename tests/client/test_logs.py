"""`reveries logs`: the last lines, what comes, what took a log's place; nothing of it is obeyed by a terminal."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from reveries.client.features.logs import entry_as_json, read_last_lines, render_entry
from reveries.config import Home
from tests.client.command_line import environment, reveries
from tests.client.test_tui import HOSTILE


def entry(event: str, **more: object) -> str:
    return json.dumps({"event": event, "level": "info", "timestamp": "2026-11-21T20:30:46.85Z"} | more)


@pytest.fixture
def log(home: Home) -> Path:
    home.create()
    return home.logs / "daemon.log"


def test_the_last_lines_come_from_what_was_rotated_away_too(log: Path) -> None:
    log.with_name("daemon.log.2").write_text("a\nb\n")
    log.with_name("daemon.log.1").write_text("c\nd\n")
    log.write_text("e\nf\n")
    assert read_last_lines(log, 1) == ["f"]
    assert read_last_lines(log, 3) == ["d", "e", "f"]
    assert read_last_lines(log, 100) == list("abcdef")
    assert read_last_lines(log, 0) == []


def test_long_logs_are_read_from_their_end(log: Path) -> None:
    log.write_text("".join(f"{number:0100}\n" for number in range(5000)))
    assert [int(row) for row in read_last_lines(log, 3)] == [4997, 4998, 4999]


def test_a_line_says_when_how_bad_and_what(home: Home, log: Path) -> None:
    log.write_text(entry("provider.failed", level="warning", provider="openai", why="no route to host") + "\n")
    ran = reveries(home, "logs")
    assert ran.code == 0
    assert "warning provider.failed" in ran.out
    assert 'provider=openai why="no route to host"' in ran.out
    assert json.loads(reveries(home, "logs", "--json").out)["provider"] == "openai"


def test_without_a_log_it_says_how_one_begins(home: Home) -> None:
    ran = reveries(home, "logs")
    assert ran.code == 1
    assert ran.err.endswith("It is created by: reveries wake\n")


@pytest.mark.requirement("R-10")
@pytest.mark.parametrize("row", [HOSTILE, entry(HOSTILE, why=HOSTILE, exception=HOSTILE), '{"event": 3}', "[]", "{"])
def test_nothing_in_a_log_is_obeyed(row: str) -> None:
    shown = "".join(part.text for part in render_entry(row)) + entry_as_json(row)
    assert not {char for char in shown if ord(char) < 32 or 127 <= ord(char) < 160}


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A job that a shell runs in the background ignores SIGINT, and hands that down to what it starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_what_is_written_is_followed_over_a_rotation(home: Home, log: Path) -> None:
    log.write_text(entry("first") + "\n")
    command = [sys.executable, "-m", "reveries", "logs", "-f", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment(home), text=True) as follower:
        assert follower.stdout is not None
        try:
            assert json.loads(follower.stdout.readline())["event"] == "first"
            with log.open("a") as file:
                file.write(entry("second") + "\n")
            assert json.loads(follower.stdout.readline())["event"] == "second"
            log.rename(log.with_name("daemon.log.1"))
            log.write_text(entry("third") + "\n")
            assert json.loads(follower.stdout.readline())["event"] == "third"
            follower.send_signal(signal.SIGINT)
            assert follower.wait(20) == 130
        finally:
            follower.kill()
