"""Time as an argument: the one seam through which anything learns what time it is or waits.

Wall time is unix seconds in UTC (float). Monotonic time is for durations and never jumps.
"""

import asyncio
import time
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment by both clocks, the first of which counts: one stands still in suspend, the other may be set."""

    wall: float = 0.0
    monotonic: float = 0.0

    @classmethod
    def after(cls, seconds: float, clock: Clock) -> "Deadline":
        """`seconds` from now."""
        return cls(clock.now() + seconds, clock.monotonic() + seconds)

    def seconds_left(self, clock: Clock) -> float:
        """Until it; below 0 when it has passed."""
        return min(self.wall - clock.now(), self.monotonic - clock.monotonic())

    def seconds_since(self, clock: Clock) -> float:
        """How long ago it was, 0 or more. A clock that was set back takes nothing of that."""
        return max(0.0, -self.seconds_left(clock))


async def wait_for_event(event: asyncio.Event, seconds: float, clock: Clock) -> bool:
    """Wait until `event` is set, `seconds` at most. Whether it was set. The event is left as it is."""
    if event.is_set():
        return True
    async with asyncio.TaskGroup() as tasks:
        waiter = tasks.create_task(event.wait(), name="event")
        timer = tasks.create_task(clock.sleep(max(0.0, seconds)), name="timer")
        await asyncio.wait((waiter, timer), return_when=asyncio.FIRST_COMPLETED)
        waiter.cancel()
        timer.cancel()
    return event.is_set()


async def wait_for_lock(lock: asyncio.Lock, seconds: float, clock: Clock) -> bool:
    """Wait until `lock` is free, `seconds` at most. Whether it was. It is left free."""
    was_free = asyncio.Event()

    async def try_it() -> None:
        async with lock:
            was_free.set()

    async with asyncio.TaskGroup() as tasks:
        trying = tasks.create_task(try_it(), name="lock")
        await wait_for_event(was_free, seconds, clock)
        trying.cancel()
    return was_free.is_set()
