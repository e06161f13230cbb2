"""The clock: all code reads the time and waits through it, so that tests can control time.

Wall time is unix seconds in UTC (float). Monotonic time is for durations and never jumps.
"""

import asyncio
import time
from dataclasses import dataclass
from typing import Protocol


class Clock(Protocol):
    """Wall time, monotonic time and waiting. Tests use a manual one (`tests/fakes/clock.py`)."""

    def now(self) -> float:
        """Unix seconds, UTC. May step when the machine's clock is set."""
        ...

    def monotonic(self) -> float:
        """Seconds since some fixed point. Never goes back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait `seconds` of monotonic time (at least one iteration of the event loop)."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point in time on both clocks, reached when either reaches it: the monotonic clock stops during suspend, and the
    wall clock may be set."""

    wall: float = 0.0
    monotonic: float = 0.0

    @classmethod
    def after(cls, seconds: float, clock: Clock) -> "Deadline":
        """Return the deadline `seconds` from now."""
        return cls(clock.now() + seconds, clock.monotonic() + seconds)

    def seconds_left(self, clock: Clock) -> float:
        """Return the seconds until the deadline; below 0 when it has passed."""
        return min(self.wall - clock.now(), self.monotonic - clock.monotonic())

    def seconds_since(self, clock: Clock) -> float:
        """Return how long ago the deadline passed, at least 0. Setting a clock back does not reduce it."""
        return max(0.0, -self.seconds_left(clock))


async def wait_for_event(event: asyncio.Event, seconds: float, clock: Clock) -> bool:
    """Wait until `event` is set, `seconds` at most; return whether it is set. Does not change the event."""
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
    """Wait until `lock` is free, `seconds` at most; return whether it was. Does not keep the lock."""
    was_free = asyncio.Event()

    async def acquire_and_release() -> None:
        async with lock:
            was_free.set()

    async with asyncio.TaskGroup() as tasks:
        waiter = tasks.create_task(acquire_and_release(), name="lock")
        await wait_for_event(was_free, seconds, clock)
        waiter.cancel()
    return was_free.is_set()
