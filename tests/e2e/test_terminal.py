"""A day in the terminal, by the keys alone: the real command in tmux, on the real process with the small real model."""

import asyncio
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.e2e.living import Living

pytestmark = [pytest.mark.e2e, pytest.mark.system]

_SIZE: Final = (100, 30)
_LEFTOVERS: Final = re.compile(r"\[\?\d+[hl]|\d+;\d+[mMR]|\x1b|\]52;|\[<\d")
"""What a terminal shows of an escape that nobody took."""


class Tmux:
    """One window of a tmux server of its own."""

    def __init__(self, living: Living, folder: Path) -> None:
        self._socket = folder / "tmux"
        command = f"export REVERIES_HOME={living.home.path}; {sys.executable} -m reveries; exec sh -i"
        self._run("new-session", "-d", "-x", str(_SIZE[0]), "-y", str(_SIZE[1]), "-s", "t", command)

    def type(self, *keys: str) -> None:
        """Press keys, by tmux's names."""
        self._run("send-keys", "-t", "t", *keys)

    def write(self, text: str) -> None:
        """Type letters."""
        self._run("send-keys", "-t", "t", "-l", text)

    def screen(self) -> str:
        """What stands there."""
        return self._run("capture-pane", "-p", "-t", "t")

    async def until(self, words: str, seconds: float = 300) -> str:
        """Wait for words on the screen; the screen. Fails with what stood there instead."""
        return await self._until(lambda seen: words in seen, words, seconds)

    async def until_gone(self, words: str, seconds: float = 300) -> str:
        """Wait until words are not there any more."""
        return await self._until(lambda seen: words not in seen, f"no {words}", seconds)

    async def _until(self, holds: Callable[[str], bool], what: str, seconds: float) -> str:
        seen = ""
        try:
            async with asyncio.timeout(seconds):
                while not holds(seen := await asyncio.to_thread(self.screen)):  # noqa: ASYNC110 - a screen tells nobody
                    await asyncio.sleep(0.1)
        except TimeoutError as error:
            raise AssertionError(f"{what}\n{seen}") from error
        assert not _LEFTOVERS.search(seen), seen
        return seen

    def end(self) -> None:
        """Take the server down."""
        self._run("kill-server")

    def _run(self, *words: str) -> str:
        return subprocess.run(
            ["tmux", "-S", str(self._socket), *words], capture_output=True, check=True, text=True, timeout=300
        ).stdout


@pytest.mark.requirement("R-166")
async def test_a_day_in_the_terminal(living: Living, tmp_path: Path) -> None:
    await living.wake()
    terminal = Tmux(living, tmp_path)
    try:
        await _first_talk(terminal)
        await _look_inside(terminal)
        await _see_what_forgetting_would_take(terminal)
        await _sleep_and_undo(terminal)
        await _leave_and_come_back(terminal)
        await _outlive_the_daemon(terminal, living)
    finally:
        terminal.end()


async def _first_talk(terminal: Tmux) -> None:
    await terminal.until("Say something.")
    terminal.write("My sister Anna moved to Oslo in May.")
    terminal.type("Enter")
    await terminal.until(" read ")
    terminal.write("She grows pears there.")
    terminal.type("Enter")
    await terminal.until("She grows pears there.")
    terminal.type("Escape")
    # The conversation rests, and sleep makes memories of it.
    terminal.write("/new")
    terminal.type("Enter")
    await terminal.until("A mind that stays on your machine.")


async def _look_inside(terminal: Tmux) -> None:
    terminal.write("/memory Anna Oslo")
    terminal.type("Enter")
    await terminal.until("details")  # How long it lasted may stand below, where the model said much.
    terminal.type("Escape")
    await terminal.until_gone("what it remembers")
    terminal.write("Where does my sister live?")
    terminal.type("Enter")
    await terminal.until("My sister Anna moved")
    terminal.type("F3")
    await terminal.until("recalled for your last")
    await terminal.until("cue")
    terminal.type("Escape")
    await terminal.until_gone("recalled for your last")


async def _see_what_forgetting_would_take(terminal: Tmux) -> None:
    terminal.write("/memory Anna Oslo")
    terminal.type("Enter")
    await terminal.until("details")  # How long it lasted may stand below, where the model said much.
    terminal.type("d")
    await terminal.until("what would be affected")
    terminal.write("no")
    terminal.type("Enter", "Escape")
    await terminal.until_gone("what would be affected")
    terminal.type("Escape")
    await terminal.until_gone("what it remembers")


async def _sleep_and_undo(terminal: Tmux) -> None:
    terminal.type("F5")
    await terminal.until("light sleep")
    terminal.type("u")
    await terminal.until("Undo what this sleep pass changed?")
    terminal.type("y")
    await terminal.until("undone")
    terminal.type("Escape")
    await terminal.until_gone("sleep passes")


async def _leave_and_come_back(terminal: Tmux) -> None:
    terminal.write("half a thought")
    terminal.type("C-d")
    await terminal.until("the mind stays awake")
    terminal.write(f"{sys.executable} -m reveries")
    terminal.type("Enter")
    await terminal.until("half a thought")
    await terminal.until("Where does my sister live?")


async def _outlive_the_daemon(terminal: Tmux, living: Living) -> None:
    living.kill()
    await terminal.until("reconnecting")
    terminal.write(" and more")
    await living.wake()
    await terminal.until_gone("reconnecting")
    await terminal.until("half a thought and more")
    terminal.type("C-c", "C-c")
    await terminal.until("the mind stays awake")
