"""Time as an argument: the one seam through which anything learns what time it is or waits.

Wall time is unix seconds in UTC (float). Monotonic time is for durations and never jumps.
"""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Wall time, monotonic time and waiting. Tests turn one by hand (`tests/fakes/clock.py`)."""

    def now(self) -> float:
        """Unix seconds, UTC. May step when the machine's clock is set."""
        ...

    def monotonic(self) -> float:
        """Seconds since some fixed point. Never goes back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait `seconds` of monotonic time (at least one turn of the loop)."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
