"""Observers have no influence; a slow one misses pieces and gets their number."""

import asyncio
from contextlib import aclosing

import pytest

from reveries.monologue.observers import QUEUE_EVENTS, Observers, ThoughtEnd, ThoughtPiece, ThoughtStart


@pytest.mark.requirement("R-39")
async def test_a_late_watcher_is_told_the_running_thought_so_far() -> None:
    observers = Observers()
    observers.notify(ThoughtStart("t", "timer", ""))
    observers.notify(ThoughtPiece("I remember "))
    observers.notify(ThoughtPiece("the sea."))
    async with asyncio.timeout(300), aclosing(observers.watch()) as events:
        assert await anext(events) == ThoughtStart("t", "timer", "I remember the sea.")
        observers.notify(ThoughtPiece(" It"))
        assert await anext(events) == ThoughtPiece(" It")


@pytest.mark.requirement("R-39", "E4")
async def test_a_slow_watcher_skips_and_learns_how_many_and_still_hears_the_end() -> None:
    observers = Observers()
    observers.notify(ThoughtStart("t", "timer", ""))
    async with asyncio.timeout(300), aclosing(observers.watch()) as events:
        await anext(events)
        for number in range(QUEUE_EVENTS * 3):
            observers.notify(ThoughtPiece(str(number)))
        observers.notify(ThoughtEnd("t", "settled", "", 1))
        observers.notify(ThoughtStart("u", "timer", ""))
        heard = [await anext(events)]
        while not isinstance(heard[-1], ThoughtStart):
            heard.append(await anext(events))
        observers.notify(ThoughtPiece("after"))
        after = await anext(events)
    assert ThoughtEnd("t", "settled", "", 1) in heard
    pieces = [event for event in heard if isinstance(event, ThoughtPiece)]
    assert isinstance(after, ThoughtPiece)
    assert len(pieces) + after.skipped == QUEUE_EVENTS * 3


async def test_a_watcher_that_leaves_is_forgotten() -> None:
    observers = Observers()
    observers.notify(ThoughtStart("t", "timer", ""))
    events = observers.watch()
    await anext(events)
    assert len(observers._watchers) == 1
    await events.aclose()
    assert not observers._watchers
