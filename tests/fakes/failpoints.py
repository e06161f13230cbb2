"""Ends or halts this process at a named step, as a power cut or a hang would.

REVERIES_FAILPOINT=NAME:N in the environment: the N-th time the step of that name is reached the process is killed, or
what came to the place goes no further. `python -m tests.fakes.failpoints` is the daemon with that.
"""

import asyncio
import itertools
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field

from reveries.db.failpoints import HangPlace, Step, set_failpoint


@dataclass(frozen=True, slots=True)
class ArmedFailpoint:
    """One step or place, and which time counts."""

    name: str
    time: int
    _times: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def reach(self, step: Step) -> None:
        if self._is_due(step):
            os.kill(os.getpid(), signal.SIGKILL)

    async def halt(self, place: HangPlace) -> None:
        if self._is_due(place):
            await asyncio.get_running_loop().create_future()

    def _is_due(self, name: str) -> bool:
        return name == self.name and next(self._times) == self.time


def arm_from_environment() -> None:
    """Once, before anything else is done in the process."""
    name, _, number = os.environ.get("REVERIES_FAILPOINT", "").partition(":")
    set_failpoint(ArmedFailpoint(name, int(number or 1)) if name else None)


if __name__ == "__main__":
    from reveries.daemon.__main__ import main

    arm_from_environment()
    main()
