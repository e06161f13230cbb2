"""Checks what a running daemon answers."""

import contextlib
from collections.abc import Iterator

from reveries import __version__
from reveries.client.checkup.place import Place
from reveries.errors import OtherVersionError
from reveries.protocol import Fault, Finding
from reveries.safe_text import one_line

_SLOW_LOOP_MS = 1000.0
_WAIT = "It may still be waking. If it stays so, end the process, then: reveries wake"
_RESTART = "Restart it with the installed version: reveries wake"

SILENT = Fault("not-answering", "wrong", "The daemon is running but does not answer.", _WAIT)
OTHER_PROTOCOL = Fault("other-protocol", "wrong", "The daemon speaks another version of the protocol.", _RESTART)
OTHER_VERSION = Fault("other-version", "watch", "The running daemon is not the installed version.", _RESTART)
DEGRADED = Fault("degraded", "wrong", "The mind reports that a part of it does not work.", "Follow its message.")
LOOP_SLOW = Fault("loop-slow", "watch", "The daemon answers slowly.", "See what it is doing: reveries status")


def check(place: Place) -> Iterator[Finding]:
    """Yield why it does not answer, or what its status says."""
    if not place.is_usable or (answer := place.answer) is None:
        return
    if isinstance(answer.error, OtherVersionError):
        yield OTHER_PROTOCOL.found(answer.error.message, where=place.home.socket)
    elif answer.error is not None:
        pid = "unknown"
        with contextlib.suppress(OSError):
            pid = one_line(place.home.lock.read_text(encoding="ascii", errors="replace"), 20) or pid
        sentence = f"The daemon (process {pid}) does not answer: {answer.error.message}"
        yield SILENT.found(sentence, where=place.home.socket)
    if (status := answer.status) is None:
        return
    if status.reveries != __version__:
        yield OTHER_VERSION.found(f"The daemon runs Reveries {status.reveries}, and {__version__} is installed.")
    for problem in status.problems:
        yield DEGRADED.found(one_line(problem, 600), "Then check again: reveries doctor")
    if status.loop_lag_p99_ms > _SLOW_LOOP_MS:
        seconds = status.loop_lag_p99_ms / 1000
        yield LOOP_SLOW.found(f"One event loop step in a hundred is {seconds:.1f} s late or more.")
