"""Checks the log of a daemon that does not run: did the last start fail, was it started again and again?"""

import json
import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from reveries.client.checkup.place import Place
from reveries.protocol import Fault, Finding
from reveries.safe_text import one_line

_TOO_MANY_STARTS = 5
_STARTS_SECONDS = 600.0
_LOG_TAIL_BYTES = 256 * 1024

ASLEEP = Fault("asleep", "note", "The mind is asleep.", "Wake it: reveries wake")
WAKE_FAILED = Fault("last-wake-failed", "wrong", "The last attempt to wake failed.", "Follow its message.")
CRASH_LOOP = Fault(
    "crash-loop", "wrong", "The daemon was started repeatedly and never stopped.", "See: reveries logs -n 50"
)


def check(place: Place) -> Iterator[Finding]:
    """Yield what the log says, unless a daemon runs."""
    if not place.is_usable or place.is_running:
        return
    yield ASLEEP.found()
    output, log = place.home.logs / "daemon.out", place.home.logs / "daemon.log"
    events = list(_log_events(log))
    [*_, last_row] = _read_tail(output).strip().splitlines() or [""]
    if last_row.startswith("reveries: "):
        awake_at = [at for at, event in events if event == "awake"]
        if not awake_at or awake_at[-1] < output.stat().st_mtime:
            message = one_line(last_row.removeprefix("reveries: "), 600)
            yield WAKE_FAILED.found(f"The last start failed: {message}", where=output)
    starts = 0
    for at, event in events:
        if at >= place.machine.now() - _STARTS_SECONDS:
            starts = starts + 1 if event == "waking" else 0 if event == "closing" else starts
    if starts >= _TOO_MANY_STARTS:
        yield CRASH_LOOP.found(f"The daemon started {starts} times in ten minutes without a regular shutdown.", "", log)


def _log_events(log: Path) -> Iterator[tuple[float, str]]:
    """Yield time (unix seconds) and event of the log's last lines."""
    for row in _read_tail(log).splitlines():
        try:
            entry = json.loads(row)
            yield datetime.fromisoformat(entry["timestamp"]).timestamp(), str(entry["event"])
        except (ValueError, KeyError, TypeError):
            continue


def _read_tail(log: Path) -> str:
    try:
        with log.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(0, end - _LOG_TAIL_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""
