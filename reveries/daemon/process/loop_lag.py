"""Measures how late the event loop is, the first sign that something blocks it (B7; limit 50 ms at p99)."""

import contextlib
import gc
import math
import os
import sys
import threading
import traceback
from collections import deque
from collections.abc import Mapping
from types import FrameType

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
"""Shorter than a hang, or each pause between beats would be reported."""

log = structlog.get_logger("loop")


async def report_hangs(clock: Clock) -> None:
    """Write the stack of every thread to standard error whenever the loop hangs for a second, while it still hangs; if
    it hangs in a call that keeps the interpreter's lock, when that is given up. Runs until cancelled; returns at once
    without standard error.

    A thread writes it that holds that lock. `faulthandler.dump_traceback_later` needs none, but reads frames while
    their threads run, and crashes the process now and then (CPython issues 116008 and 131580)."""
    errors = sys.__stderr__ or sys.stderr
    if errors is None or errors.closed:  # The daemon was started with it closed (2>&-).
        return
    beat, stop = threading.Event(), threading.Event()
    arguments = (beat, stop, clock, errors.fileno())
    # Not joined: it may be blocked by a pipe that nobody reads.
    threading.Thread(target=_report_missing_beats, args=arguments, name="hang-reporter", daemon=True).start()
    try:
        while True:
            beat.set()
            await clock.sleep(_BEAT_SECONDS)
    finally:
        stop.set()
        beat.set()


def _report_missing_beats(beat: threading.Event, stop: threading.Event, clock: Clock, descriptor: int) -> None:
    hung_at = -math.inf
    while not stop.is_set():
        is_again = clock.monotonic() - hung_at < _AGAIN_WITHIN_SECONDS
        seconds = _HANGS_AGAIN_SECONDS if is_again else _HANGS_SECONDS
        if not beat.wait(seconds):
            hung_at = clock.monotonic()
            # Not through sys.stderr: blocked with its lock held, it would abort the process at its end.
            with contextlib.suppress(OSError):
                os.write(descriptor, _describe_stacks(seconds).encode(errors="backslashreplace"))
            beat.wait()
        beat.clear()


def _describe_stacks(seconds: float) -> str:
    """Return each thread's stack, innermost call first, without source lines: reading files takes time."""
    lines = [f"The event loop has given no sign for {seconds} s."]
    for number, innermost in _current_frames().items():
        if number != threading.get_ident():
            lines.append(f"Thread {number}:")
            for frame, line in traceback.walk_stack(innermost):
                code = frame.f_code
                lines.append(f'  File "{code.co_filename}", line {line} in {code.co_qualname}')
    return "\n".join(lines) + "\n"


def _current_frames() -> Mapping[int, FrameType]:
    # A garbage collection within the call can wait for ever for a thread that begins or ends (CPython issue 106883).
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return sys._current_frames()
    finally:
        if was_enabled:
            gc.enable()


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
