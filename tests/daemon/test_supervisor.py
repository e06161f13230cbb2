"""Supervised tasks may fail; the mind goes on."""

import asyncio
import itertools

import pytest

from reveries.daemon.lifecycle.recovery import supervise
from reveries.db.room import DiskSpace, disk_full_error
from reveries.errors import StorageLostError
from tests.fakes.clock import HandClock, settle


@pytest.mark.requirement("R-40", "D5")
async def test_a_child_that_keeps_failing_is_started_less_and_less_often() -> None:
    clock = HandClock()
    starts: list[float] = []

    async def child() -> None:
        starts.append(clock.monotonic())
        raise ValueError("broken")

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(supervise("child", child, clock))
        for _ in range(20):
            await clock.advance(60)
        task.cancel()
    pauses = [later - earlier for earlier, later in itertools.pairwise(starts)]
    assert pauses[:4] == [1, 2, 4, 8]
    assert max(pauses) == 300


@pytest.mark.requirement("R-40")
async def test_a_child_that_ran_well_for_a_minute_is_started_at_once_again() -> None:
    clock = HandClock()
    starts: list[float] = []

    async def child() -> None:
        starts.append(clock.monotonic())
        await clock.sleep(100)
        raise ValueError("broken")

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(supervise("child", child, clock))
        for _ in range(4):
            await clock.advance(101)
        task.cancel()
    assert starts == [0, 101, 202, 303, 404]


@pytest.mark.requirement("A4")
async def test_a_disk_that_fails_is_not_supervised_away() -> None:
    async def child() -> None:
        raise StorageLostError("the disk failed")

    with pytest.raises(StorageLostError):
        await supervise("child", child, HandClock())


async def test_a_child_that_returns_is_not_started_again() -> None:
    starts = 0

    async def child() -> None:
        nonlocal starts
        starts += 1
        await settle(1)

    async with asyncio.timeout(300):
        await supervise("child", child, HandClock())
    assert starts == 1


@pytest.mark.requirement("A5")
async def test_a_child_that_found_the_disk_full_goes_on_as_soon_as_there_is_room() -> None:
    room, starts = DiskSpace(), 0

    async def child() -> None:
        nonlocal starts
        starts += 1
        if starts == 1:
            room.close()
            raise ExceptionGroup("of a task group", [disk_full_error()])

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(supervise("child", child, HandClock(), room))
        await settle()
        assert starts == 1
        room.open()
    assert starts == 2


@pytest.mark.requirement("A5")
async def test_a_child_whose_own_disk_is_full_while_the_memory_has_room_is_not_started_without_end() -> None:
    clock, starts = HandClock(), 0

    async def child() -> None:
        nonlocal starts
        starts += 1
        raise disk_full_error()

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(supervise("child", child, clock, DiskSpace()))
        await clock.advance(4)
        task.cancel()
    assert starts == 3
