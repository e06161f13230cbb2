"""Signals that end a terminal: it was closed, or somebody wants the program to end. Both are leaving."""

import asyncio
import contextlib
import errno
import os
import signal
import sys
import termios
from collections.abc import Callable

_ENDING = (signal.SIGTERM, signal.SIGHUP)


def leave_on_signals(keep: Callable[[], object], leave: Callable[[signal.Signals], object]) -> None:
    """With the first of them: keep what was written, at once, and leave; of a terminal that is gone there is nothing to
    give back, and drawing on it would wait for ever. With a second SIGTERM the program ends whatever it does."""
    loop = asyncio.get_running_loop()

    def heard(number: signal.Signals) -> None:
        for one in _ENDING:
            loop.remove_signal_handler(one)
        keep()
        if _is_terminal_gone():
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        # A terminal that is being closed may say so twice.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        leave(number)

    # Not in a thread, where signals do not come.
    with contextlib.suppress(RuntimeError, ValueError):
        for one in _ENDING:
            loop.add_signal_handler(one, heard, one)


def _is_terminal_gone() -> bool:
    try:
        termios.tcgetattr(sys.__stdin__.fileno() if sys.__stdin__ else 0)
    except termios.error as error:
        return error.args[0] in (errno.EIO, errno.ENXIO)
    except (OSError, ValueError):
        return False
    return False
