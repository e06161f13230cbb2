"""Heartbeats of the daemon's parts, by which the watchdog tells a working part from a hung one (B7). Reads no clock."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Literal, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Pulse:
    """The heartbeat of one part of the daemon. The part counts as hung if it is at work and has not beaten for long."""

    def __init__(self) -> None:
        self.beats = 0
        self._works = 0
        self._waits: list[float] = []

    @property
    def is_at_work(self) -> bool:
        """Whether beats are expected; also true while it waits for a declared time."""
        return self._works > 0

    @property
    def wait_seconds(self) -> float:
        """The longest wait that was declared; 0 if it is not waiting."""
        return max(self._waits, default=0.0)

    def beat(self) -> None:
        """Record progress. May be called from any thread."""
        self.beats += 1

    def beat_on_call(self, callback: Callable[P, None] | None) -> Callable[P, None]:
        """Wrap `callback` so that each call is a beat too. None: only the beat."""

        def beat_and_call(*args: P.args, **kwargs: P.kwargs) -> None:
            self.beat()
            if callback is not None:
                callback(*args, **kwargs)

        return beat_and_call

    def begin(self) -> None:
        """Expect beats from now on, until `end` was called as often as `begin`."""
        self._works += 1

    def end(self) -> None:
        """End what `begin` began, also after a failure."""
        self._works -= 1

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Expect beats within the block. Entering it is no beat, nor is being cancelled: other tasks may enter, wait
        for one that hangs, and give up."""
        self.begin()
        try:
            yield
            self.beat()
        finally:
            self.end()

    @contextmanager
    def waiting(self, seconds: float = float("inf")) -> Iterator[None]:
        """Within work: expect no beat for so long. Without `seconds`, the wait may last for ever."""
        self.beat()
        self._waits.append(seconds)
        try:
            yield
        finally:
            self._waits.remove(seconds)
            self.beat()

    async def during(self, work: Awaitable[T]) -> T:
        """Await `work` and return its result; beats are expected meanwhile."""
        with self.at_work():
            return await work


class WatchedLock(asyncio.Lock):
    """A lock whose holder counts as at work; acquiring and releasing it are beats."""

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
