"""The first trigger that fires wins; the others are cancelled."""

import asyncio

import pytest

from reveries.monologue.thought import Reactivation, ThinkingReason
from reveries.monologue.triggers import after_seconds, wait_for_first, when_set
from tests.fakes.clock import HandClock, settle


@pytest.mark.requirement("R-57", "R-59", "R-62")
async def test_the_timer_wins_when_nothing_else_happens_and_the_rest_is_cancelled() -> None:
    clock = HandClock()
    cancelled: list[str] = []

    async def never() -> Reactivation:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append("never")
            raise
        raise AssertionError

    async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
        race = tasks.create_task(wait_for_first([never, after_seconds(clock, 300)]))
        await clock.advance(299)
        assert not race.done()
        await clock.advance(1)
        assert (await race).reason is ThinkingReason.TIMER
    assert cancelled == ["never"]


@pytest.mark.requirement("R-57", "R-58")
async def test_a_conversation_wins_over_a_timer_of_the_same_moment() -> None:
    clock, event = HandClock(), asyncio.Event()
    async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
        waiters = [when_set(event, lambda: Reactivation(ThinkingReason.CONVERSATION)), after_seconds(clock, 1)]
        race = tasks.create_task(wait_for_first(waiters))
        await settle()
        event.set()
        await clock.advance(1)
        assert (await race).reason is ThinkingReason.CONVERSATION


@pytest.mark.requirement("R-62")
async def test_a_race_that_is_cancelled_leaves_nobody_waiting() -> None:
    clock = HandClock()
    async with asyncio.TaskGroup() as tasks:
        race = tasks.create_task(wait_for_first([after_seconds(clock, 1), after_seconds(clock, 2)]))
        await settle()
        assert clock.sleeper_count == 2
        race.cancel()
    assert clock.sleeper_count == 0
