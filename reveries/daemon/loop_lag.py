"""Measures how late the event loop is, the first sign that something blocks it (B7; limit 50 ms at p99)."""

import math
import sys
import threading
import traceback
from collections import deque
from typing import TextIO

import structlog

from reveries.clock import Clock

_PERIOD_SECONDS = 0.1
_SAMPLES = 3000
_ALARM_SECONDS = 1.0
_HANGS_SECONDS = 1.0
_HANGS_AGAIN_SECONDS = 10.0
_AGAIN_WITHIN_SECONDS = 600.0
"""For this time after a report, only longer hangs are reported: a slow machine must not fill the disk."""
_BEAT_SECONDS = 0.5
"""Shorter than a hang, or a hang of one second might be missed."""

log = structlog.get_logger("loop")


async def report_hangs(clock: Clock) -> None:
    """Write the stack of every thread to standard error whenever the loop hangs for a second, while it still hangs.
    Runs until cancelled; returns at once without standard error.

    A thread writes it that holds the interpreter's lock. `faulthandler.dump_traceback_later` needs no lock, but reads
    frames while their threads run, and crashes the process now and then (CPython issues 116008 and 131580)."""
    errors = sys.__stderr__ or sys.stderr
    if errors is None or errors.closed:  # The daemon was started with it closed (2>&-).
        return
    beat, ended = threading.Event(), threading.Event()
    arguments = (beat, ended, clock, errors)
    # Nobody waits for its end: standard error may be a pipe that nobody reads.
    threading.Thread(target=_report_missing_beats, args=arguments, name="hang-reporter", daemon=True).start()
    try:
        while True:
            beat.set()
            await clock.sleep(_BEAT_SECONDS)
    finally:
        ended.set()
        beat.set()


def _report_missing_beats(beat: threading.Event, ended: threading.Event, clock: Clock, errors: TextIO) -> None:
    hung_at = -math.inf
    while not ended.is_set():
        is_again = clock.monotonic() - hung_at < _AGAIN_WITHIN_SECONDS
        seconds = _HANGS_AGAIN_SECONDS if is_again else _HANGS_SECONDS
        if not beat.wait(seconds):
            hung_at = clock.monotonic()
            try:
                print(f"The event loop hangs for {seconds} s.", *_describe_stacks(), sep="\n", file=errors, flush=True)
            except (OSError, ValueError):  # A full disk, or a stream that was closed meanwhile.
                return
            beat.wait()
        beat.clear()


def _describe_stacks() -> list[str]:
    """Return each thread's stack, innermost call first, without source lines: reading files takes time."""
    lines: list[str] = []
    for number, frame in sys._current_frames().items():
        lines.append(f"Thread {number}:")
        for place, line in traceback.walk_stack(frame):
            lines.append(f'  File "{place.f_code.co_filename}", line {line} in {place.f_code.co_qualname}')
    return lines


class LoopLag:
    """Measures ten times a second how late a timer fires; keeps the last five minutes."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._late_seconds: deque[float] = deque(maxlen=_SAMPLES)

    async def run(self) -> None:
        """Measure until cancelled."""
        while True:
            due = self._clock.monotonic() + _PERIOD_SECONDS
            await self._clock.sleep(_PERIOD_SECONDS)
            late = max(0.0, self._clock.monotonic() - due)
            self._late_seconds.append(late)
            if late > _ALARM_SECONDS:
                log.warning("loop.blocked", seconds=round(late, 3))

    def p99_ms(self) -> float:
        """Return the 99th percentile of the last five minutes in milliseconds; 0 before the first sample."""
        if not self._late_seconds:
            return 0.0
        ordered = sorted(self._late_seconds)
        return ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))] * 1000

    def max_ms(self) -> float:
        """Return the maximum of the last five minutes in milliseconds."""
        return max(self._late_seconds, default=0.0) * 1000
