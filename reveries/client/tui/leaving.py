"""Leaving the terminal interface: the confirmation before running work is lost, and the signals that end it."""

import asyncio
import contextlib
import errno
import os
import signal
import sys
import termios
from collections.abc import Callable, Sequence
from typing import Final

AGAIN_SECONDS: Final = 2.0
"""A second Ctrl+C within this time leaves."""
AGAIN_FOR_WORK_SECONDS: Final = 6.0
"""The same for Ctrl+D and /exit, which first name the running work."""
_ENDING = (signal.SIGTERM, signal.SIGHUP)


class LeaveConfirmation:
    """Decides whether leaving needs a second key press. Pure: the time is an argument."""

    def __init__(self) -> None:
        self._ctrl_c_at: float | None = None
        self._asked_at: float | None = None

    def may_leave(self, work: Sequence[str], now: float) -> bool:
        """Whether Ctrl+D leaves: at once without running work, else the second time."""
        if not work or (self._asked_at is not None and now - self._asked_at <= AGAIN_FOR_WORK_SECONDS):
            return True
        self._asked_at = now
        return False

    def is_second_press(self, now: float) -> bool:
        """Whether this Ctrl+C is the second within the time."""
        before, self._ctrl_c_at = self._ctrl_c_at, now
        return before is not None and now - before <= AGAIN_SECONDS

    def hint_text(self, work: Sequence[str], key: str) -> str:
        """Return the hint that says what pressing the key again does."""
        if not work:
            return f"{key} again leaves; the mind stays awake"
        return f"{key} again leaves and stops what runs here: {', '.join(work)}; /stop stops that alone"


def leave_on_signals(keep: Callable[[], object], leave: Callable[[signal.Signals], object]) -> None:
    """On the first SIGTERM or SIGHUP call `keep`, then `leave`; a second SIGTERM ends the program at once.

    If the terminal is gone the process ends right after `keep`: drawing on it would block forever."""
    loop = asyncio.get_running_loop()

    def handle(number: signal.Signals) -> None:
        for ending in _ENDING:
            loop.remove_signal_handler(ending)
        keep()
        if _is_terminal_gone():
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        # A closing terminal may send SIGHUP twice.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        leave(number)

    # Signal handlers cannot be set outside the main thread.
    with contextlib.suppress(RuntimeError, ValueError):
        for signal_number in _ENDING:
            loop.add_signal_handler(signal_number, handle, signal_number)


def _is_terminal_gone() -> bool:
    try:
        termios.tcgetattr(sys.__stdin__.fileno() if sys.__stdin__ else 0)
    except termios.error as error:
        return error.args[0] in (errno.EIO, errno.ENXIO)
    except (OSError, ValueError):
        return False
    return False
