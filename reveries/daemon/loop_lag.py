"""Measures how late the event loop is, the first sign that something blocks it (B7; limit 50 ms at p99)."""

import faulthandler
import math
import sys
from collections import deque

import structlog

from reveries.clock import Clock

_PERIOD_SECONDS = 0.1
_SAMPLES = 3000
_ALARM_SECONDS = 1.0
_HANGS_SECONDS = 1.0
_HANGS_AGAIN_SECONDS = 10.0
_AGAIN_WITHIN_SECONDS = 600.0
"""For this time after a report, only longer hangs are reported: a slow machine must not fill the disk."""
_REARMED_SECONDS = 0.5
"""Each rearming replaces a C thread. It must be shorter than a hang, or a hang of one second might be missed."""

log = structlog.get_logger("loop")


async def report_hangs(clock: Clock) -> None:
    """Write the stack of every thread to standard error whenever the loop hangs for a second, while it still hangs. A C
    thread writes it, which needs nothing of Python. Runs until cancelled; returns at once without standard error."""
    errors = sys.__stderr__ or sys.stderr
    if errors is None or errors.closed:  # The daemon was started with it closed (2>&-).
        return
    hung_at = -math.inf
    try:
        while True:
            armed_at = clock.monotonic()
            is_again = armed_at - hung_at < _AGAIN_WITHIN_SECONDS
            seconds = _HANGS_AGAIN_SECONDS if is_again else _HANGS_SECONDS
            faulthandler.dump_traceback_later(seconds, file=errors)
            await clock.sleep(_REARMED_SECONDS)
            if clock.monotonic() - armed_at >= seconds:
                hung_at = clock.monotonic()
    finally:
        faulthandler.cancel_dump_traceback_later()


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
