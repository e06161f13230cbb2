"""Signs of life: by them whoever looks tells a part that is at work from one that hangs (B7). Reads no clock."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Literal, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Pulse:
    """Of one part of the daemon. It counts as hung where it is at work and does not beat for long."""

    def __init__(self) -> None:
        self.beats = 0
        self._works = 0
        self._waits: list[float] = []

    @property
    def is_at_work(self) -> bool:
        """Whether it must beat now and then: also while it waits, where it said for how long."""
        return self._works > 0

    @property
    def wait_seconds(self) -> float:
        """How long it said that it waits; 0 while it does something."""
        return max(self._waits, default=0.0)

    def beat(self) -> None:
        """It gets on. May be called from any thread."""
        self.beats += 1

    def heard(self, tell: Callable[P, None] | None) -> Callable[P, None]:
        """`tell`, and a beat each time. None: the beat alone."""

        def told(*progress: P.args, **named: P.kwargs) -> None:
            self.beat()
            if tell is not None:
                tell(*progress, **named)

        return told

    def begin(self) -> None:
        """From now on, beats are expected, until `end` as many times."""
        self._works += 1

    def end(self) -> None:
        """What was begun is over, whatever came of it."""
        self._works -= 1

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Within it, beats are expected. To begin is none, nor to be cancelled: others may come, wait for one that
        hangs, and leave."""
        self.begin()
        try:
            yield
            self.beat()
        finally:
            self.end()

    @contextmanager
    def waiting(self, seconds: float = float("inf")) -> Iterator[None]:
        """Within work: nothing is expected for so long. Without `seconds`, for what may never come."""
        self.beat()
        self._waits.append(seconds)
        try:
            yield
        finally:
            self._waits.remove(seconds)
            self.beat()

    async def during(self, work: Awaitable[T]) -> T:
        """What comes of `work`, during which it is at work but where it says that it waits."""
        with self.at_work():
            return await work


class WatchedLock(asyncio.Lock):
    """Who holds it is at work; that it goes from one to the next is to get on."""

    def __init__(self, pulse: Pulse) -> None:
        super().__init__()
        self._pulse = pulse

    async def acquire(self) -> Literal[True]:
        await super().acquire()
        self._pulse.begin()
        self._pulse.beat()
        return True

    def release(self) -> None:
        super().release()
        self._pulse.beat()
        self._pulse.end()
