"""The hand-turned clock that the tests of the daemon trust."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import pytest

from reveries.db.opening import open_database
from tests.fakes.patient_clock import PatientClock, Workers


async def test_time_stands_still_until_who_waits_for_a_thread_has_its_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also between the end of the thread's work and the moment when the loop is told of it."""
    submit = Workers.submit

    def submit_and_be_late(self: Workers, fn: Callable[..., object], /, *args: object) -> Future[object]:
        future = submit(self, fn, *args)
        future.add_done_callback(lambda _: time.sleep(0.05))
        return future

    monkeypatch.setattr(Workers, "submit", submit_and_be_late)
    clock, moments = PatientClock(), list[float]()

    async def ask_threads() -> None:
        for _ in range(3):
            await asyncio.to_thread(int)
            moments.append(clock.monotonic())
            await clock.sleep(10)

    database = await open_database(tmp_path / "memory.db")
    try:
        async with asyncio.TaskGroup() as tasks:
            await clock.watch(database)
            asking = tasks.create_task(ask_threads(), name="ask")
            await clock.advance(60)
            assert asking.done()
    finally:
        await database.aclose()
    assert moments == [0.0, 10.0, 20.0]
