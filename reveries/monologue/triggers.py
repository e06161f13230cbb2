"""Triggers that end idleness (R-57..R-62): they race, the first that fires wins, and the others are cancelled."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from reveries.clock import Clock
from reveries.monologue.thought import Reactivation, ThinkingReason

_SALIENCE_PER_FURTHER_THOUGHT = 2.0
"""About six exchanges of small talk, or three important ones."""
_MOST_THOUGHTS_ABOUT_TALK = 4

Waiter = Callable[[], Awaitable[Reactivation]]
"""Returns when its trigger fires; may wait forever."""


async def wait_for_first(waiters: Sequence[Waiter]) -> Reactivation:
    """Run `waiters` concurrently; return the reactivation of the first that fires, ties by order."""
    async with asyncio.TaskGroup() as race:
        tasks = [race.create_task(_run_waiter(waiter), name=f"waiter-{place}") for place, waiter in enumerate(waiters)]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
    return next(task.result() for task in tasks if not task.cancelled())


def after_seconds(clock: Clock, seconds: float) -> Waiter:
    """Return a waiter that fires after `seconds` (R-59), so that idleness ends at some time."""

    async def wait() -> Reactivation:
        await clock.sleep(seconds)
        return Reactivation(ThinkingReason.TIMER)

    return wait


def when_set(event: asyncio.Event, reactivation: Callable[[], Reactivation]) -> Waiter:
    """Return a waiter that fires when `event` is set (a conversation began or ended, R-58)."""

    async def wait() -> Reactivation:
        await event.wait()
        return reactivation()

    return wait


def count_deserved_thoughts(talk_salience: float) -> int:
    """Return how many thoughts a conversation deserves by the total salience of its exchanges (R-33): one after a few
    words, more after a rich conversation, none after silence."""
    if talk_salience <= 0.0:
        return 0
    return min(_MOST_THOUGHTS_ABOUT_TALK, 1 + int(talk_salience / _SALIENCE_PER_FURTHER_THOUGHT))


async def _run_waiter(waiter: Waiter) -> Reactivation:
    return await waiter()
