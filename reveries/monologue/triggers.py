"""The race of what ends idleness (R-57..R-62): the first that fires wins, the others are cancelled."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from reveries.clock import Clock
from reveries.monologue.thought import Reactivation, ThinkingReason

_SALIENCE_PER_FURTHER_THOUGHT = 2.0
"""About six exchanges of plain talk, or three that matter much."""
_MOST_THOUGHTS_ABOUT_TALK = 4

Waiter = Callable[[], Awaitable[Reactivation]]
"""Returns when it fires; may wait for ever."""


async def first_of(waiters: Sequence[Waiter]) -> Reactivation:
    """Run `waiters` against each other. The winner's reactivation; of several at once, the one named first."""
    async with asyncio.TaskGroup() as race:
        tasks = [
            race.create_task(_wait_for_trigger(waiter), name=f"waiter-{place}") for place, waiter in enumerate(waiters)
        ]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
    return next(task.result() for task in tasks if not task.cancelled())


def after_seconds(clock: Clock, seconds: float) -> Waiter:
    """The timer (R-59): idleness may not last for ever."""

    async def wait() -> Reactivation:
        await clock.sleep(seconds)
        return Reactivation(ThinkingReason.TIMER)

    return wait


def when_set(event: asyncio.Event, reactivation: Callable[[], Reactivation]) -> Waiter:
    """Fires when somebody sets `event` (a conversation began or ended, R-58)."""

    async def wait() -> Reactivation:
        await event.wait()
        return reactivation()

    return wait


def thoughts_deserved(talk_salience: float) -> int:
    """How many thoughts a stretch of talk deserves whose exchanges have that salience together (R-33): one for a few
    words, some more after a rich conversation, none for silence."""
    if talk_salience <= 0.0:
        return 0
    return min(_MOST_THOUGHTS_ABOUT_TALK, 1 + int(talk_salience / _SALIENCE_PER_FURTHER_THOUGHT))


async def _wait_for_trigger(waiter: Waiter) -> Reactivation:
    return await waiter()
