"""A clock that is turned by hand."""

import asyncio
import heapq
import itertools
from collections.abc import Coroutine, Sized
from typing import TypeVar

_IDLE_TURNS = 3
"""Each turn of the loop also looks for input once."""
T = TypeVar("T")


class HandClock:
    """Time stands still until `advance` is called; sleepers whose time has come are woken in order."""

    def __init__(self, start: float = 1_750_000_000.0) -> None:
        self._now = start
        self._monotonic = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = itertools.count()

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    async def sleep(self, seconds: float) -> None:
        future = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._monotonic + max(0.0, seconds), next(self._order), future))
        await future

    async def advance(self, seconds: float) -> None:
        """Let `seconds` pass, waking each sleeper at its own moment and letting it run before the next."""
        end = self._monotonic + seconds
        await settle()
        while self._sleepers and self._sleepers[0][0] <= end:
            due, _, future = heapq.heappop(self._sleepers)
            self._step_to(due)
            if not future.done():
                future.set_result(None)
            await settle()
        self._step_to(end)

    async def drive(self, work: Coroutine[object, object, T]) -> T:
        """Run `work` to its end, letting exactly the time pass that it waits for. Its threads have real time."""
        async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
            task = tasks.create_task(work, name="driven")
            while not (await asyncio.wait([task], timeout=0.002))[0]:
                if self._sleepers:
                    await self.advance(max(0.0, self._sleepers[0][0] - self._monotonic))
        return task.result()

    def step_wall(self, seconds: float) -> None:
        """Set the wall clock forward or back, as a person or NTP would; monotonic time does not move."""
        self._now += seconds

    @property
    def sleeper_count(self) -> int:
        return sum(1 for _, _, future in self._sleepers if not future.done())

    def _step_to(self, monotonic: float) -> None:
        self._now += monotonic - self._monotonic
        self._monotonic = monotonic


async def settle(turns: int = 20) -> None:
    """Give every task that can run its turn, until none can for a few turns of the loop; `turns` at most."""
    # asyncio has no public way to ask whether a callback waits. Without the question most of a simulated day is spent
    # in turns of a loop that has nothing to do.
    ready: Sized = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]
    idle = 0
    for _ in range(turns):
        await asyncio.sleep(0)
        idle = 0 if len(ready) else idle + 1
        if idle == _IDLE_TURNS:
            return
