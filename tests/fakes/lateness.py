"""How late this machine is. What a daemon promises to do within so many seconds, it promises on one that has time."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

_NAP_SECONDS = 0.01
_TURNS = 10
"""So often another process waits for its turn, until what it does has been seen by who asked."""


@dataclass
class Lateness:
    """What a timer of this process, which does nothing meanwhile, was late at worst."""

    worst_seconds: float = 0.0

    @property
    def allowance_seconds(self) -> float:
        """What another process may be late for it. On a machine that has time: a few hundredths of a second."""
        return _TURNS * self.worst_seconds


@contextlib.asynccontextmanager
async def lateness() -> AsyncIterator[Lateness]:
    """Measured while the block lasts, in which this process only waits."""
    seen = Lateness()

    async def nap() -> None:
        while True:
            began = time.monotonic()
            await asyncio.sleep(_NAP_SECONDS)
            seen.worst_seconds = max(seen.worst_seconds, time.monotonic() - began - _NAP_SECONDS)

    async with asyncio.TaskGroup() as tasks:
        napping = tasks.create_task(nap(), name="naps")
        yield seen
        napping.cancel()
