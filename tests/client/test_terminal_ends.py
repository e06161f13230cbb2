"""Closing the terminal or signalling the program: the real command in a pseudo-terminal."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from reveries.config import Home
from tests.fakes.daemon import awake_in_thread

_SECONDS = 300.0
"""Longer means a hang; on a busy machine a process starts slowly."""


class Terminal:
    """`reveries` in a pseudo-terminal of 80 by 24."""

    def __init__(self, home: Home) -> None:
        self.keys, there = pty.openpty()
        fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.modes = termios.tcgetattr(there)
        self._there = there
        environment = os.environ | {"REVERIES_HOME": str(home.path), "TERM": "xterm-256color"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", _IN_A_TERMINAL],
            stdin=there,
            stdout=there,
            stderr=there,
            env=environment,
            start_new_session=True,
        )
        self.shown = b""

    def until(self, holds: Callable[[], bool]) -> None:
        """Read the output until a condition holds."""
        end = time.monotonic() + _SECONDS
        while not holds():
            assert time.monotonic() < end, self.shown[-2000:]
            self.read()

    def read(self) -> None:
        """The output so far."""
        if select.select([self.keys], [], [], 0.05)[0]:
            with suppress(OSError):
                self.shown += os.read(self.keys, 65536)

    def read_to_the_end(self) -> None:
        """Read the whole output of a program that has ended; one read may return only a part."""
        before = -1
        while len(self.shown) > before:
            before = len(self.shown)
            self.read()

    @property
    def modes_now(self) -> list[object]:
        """The terminal's input mode."""
        return termios.tcgetattr(self._there)

    def close(self) -> None:
        """Close the terminal, as closing a window does."""
        for end in (self.keys, self._there):
            with suppress(OSError):
                os.close(end)


_IN_A_TERMINAL = (
    "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); from reveries.client.cli import main; main()"
)


@contextmanager
def _writing(home: Home) -> Iterator[Terminal]:
    with awake_in_thread(home):
        terminal = Terminal(home)
        try:
            terminal.until(lambda: b"enter sends" in terminal.shown)
            os.write(terminal.keys, b"half a thought")
            terminal.until(lambda: b"thought" in terminal.shown)
            yield terminal
        finally:
            terminal.close()
            if terminal.process.poll() is None:
                terminal.process.kill()
            terminal.process.wait(60)


@pytest.mark.requirement("E9")
def test_told_to_end_it_gives_the_terminal_back_and_keeps_the_draft(home: Home) -> None:
    with _writing(home) as terminal:
        terminal.process.send_signal(signal.SIGTERM)
        terminal.until(lambda: terminal.process.poll() is not None)
        terminal.read_to_the_end()
        log = home.logs / "client.log"
        assert terminal.process.returncode == 128 + signal.SIGTERM, log.read_text() if log.exists() else terminal.shown
        assert home.draft.read_text() == "half a thought"
        for given_back in (b"\x1b[?1049l", b"\x1b[?1000l", b"\x1b[?25h", b"\x1b[?2004l"):
            assert given_back in terminal.shown
        assert terminal.modes_now == terminal.modes


@pytest.mark.requirement("E9")
def test_a_closed_terminal_leaves_the_draft_and_no_process(home: Home) -> None:
    with _writing(home) as terminal:
        terminal.close()
        assert terminal.process.wait(_SECONDS) == -signal.SIGHUP
        assert home.draft.read_text() == "half a thought"
        assert not (home.logs / "client.log").exists()
