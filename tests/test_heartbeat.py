"""When a part is at work, when it waits, and what counts as getting on."""

import asyncio
import math
from typing import TYPE_CHECKING

import pytest

from reveries.heartbeat import Pulse, WatchedLock

if TYPE_CHECKING:
    from collections.abc import Callable


def test_only_within_work_are_beats_expected() -> None:
    pulse = Pulse()
    seen = [(pulse.is_at_work, pulse.beats)]
    with pulse.at_work():
        seen.append((pulse.is_at_work, pulse.beats))
    seen.append((pulse.is_at_work, pulse.beats))
    assert seen == [(False, 0), (True, 0), (False, 1)]


def test_who_waits_says_for_how_long() -> None:
    pulse = Pulse()
    with pulse.at_work():
        with pulse.waiting(900):
            assert pulse.is_at_work
            assert pulse.wait_seconds == 900
        with pulse.waiting():
            assert pulse.wait_seconds == math.inf
        assert pulse.wait_seconds == 0


def test_who_is_cancelled_did_not_get_on() -> None:
    """Those who wait for the one that hangs come and leave: it hangs all the same."""
    pulse = Pulse()
    with pytest.raises(asyncio.CancelledError), pulse.at_work():
        raise asyncio.CancelledError
    assert not pulse.is_at_work
    assert pulse.beats == 0


def test_who_is_told_of_progress_hears_of_it_and_it_beats() -> None:
    pulse, told = Pulse(), list[tuple[int, int]]()
    pulse.beat_on_call(lambda done, total: told.append((done, total)))(3, 7)
    nobody: Callable[[int, int], None] | None = None
    pulse.beat_on_call(nobody)(4, 7)
    assert told == [(3, 7)]
    assert pulse.beats == 2


async def test_who_holds_the_lock_is_at_work_and_who_waits_for_it_is_not() -> None:
    pulse = Pulse()
    lock = WatchedLock(pulse)
    async with asyncio.TaskGroup() as tasks:
        async with lock:
            waiting = tasks.create_task(lock.acquire(), name="waits")
            await asyncio.sleep(0)
            assert pulse.is_at_work
            waiting.cancel()
        assert not pulse.is_at_work


async def test_to_be_given_the_lock_and_to_give_it_back_is_to_get_on() -> None:
    pulse = Pulse()
    lock = WatchedLock(pulse)
    async with lock:
        assert pulse.beats == 1
    assert pulse.beats == 2
