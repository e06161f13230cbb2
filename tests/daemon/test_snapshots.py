"""A snapshot for the next start is saved while no one talks."""

import asyncio
from pathlib import Path

import pytest
import structlog.testing

from reveries.config import Home
from reveries.daemon.app import scheduled_jobs
from reveries.index.kernels import keep_interpreted
from reveries.memory.graph.kernels import Kernels
from reveries.memory.live import LiveMemory
from tests.daemon.mind_kit import NOON, living
from tests.daemon.test_money import SETTINGS, a_model
from tests.fakes.patient_clock import PatientClock


@pytest.mark.requirement("R-3")
async def test_a_snapshot_is_left_when_the_conversation_rests_and_not_while_it_lasts(home: Home) -> None:
    snapshot = home.path / "memory.snapshot"
    async with living(home, a_model(), PatientClock(NOON), SETTINGS) as life:
        await life.say("My sister Marta lives in Lisbon.")
        await life.mind.sleep.save_snapshot_if_idle()
        assert not snapshot.exists()
        await life.pass_time(0.5)
        await life.mind.sleep.save_snapshot_if_idle()
        assert snapshot.exists()


@pytest.mark.requirement("R-3")
async def test_a_mind_that_woke_without_a_snapshot_leaves_one_at_once(home: Home) -> None:
    async with living(home, a_model(), PatientClock(NOON), SETTINGS) as life:
        with structlog.testing.capture_logs() as logged:
            await life.mind.sleep.warm_up()
        assert (home.path / "memory.snapshot").exists()
    assert [line["compiled"] for line in logged if line["event"] == "recall.loops"] == [False], "it is small"


async def test_loops_are_compiled_once_the_memory_has_grown_large(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    async with living(home, a_model(), PatientClock(NOON), SETTINGS) as life:

        async def warm_up(live: LiveMemory, _: Path) -> bool:
            live.use_kernels(Kernels(keep_interpreted, are_compiled=True))
            return True

        # Really compiled in tests/memory/test_kernel_compilation.py.
        monkeypatch.setattr("reveries.memory.memory.warm_up", warm_up)
        live, [job] = life.mind.memory.live, [job for job in scheduled_jobs(life.mind) if job.name == "loops"]
        await life.say("My sister Marta lives in Lisbon.")
        rows = live.graph.size + live.turns.size
        monkeypatch.setattr("reveries.memory.live.LARGE_ROWS", rows)
        while_talking = await job.run()
        await life.pass_time(0.5)
        monkeypatch.setattr("reveries.memory.live.LARGE_ROWS", live.graph.size + live.turns.size + 1)
        small = await job.run()
        monkeypatch.setattr("reveries.memory.live.LARGE_ROWS", rows)
        both = list(await asyncio.gather(job.run(), job.run()))
    assert (while_talking, small, both) == (None, None, ["compiled", None])


@pytest.mark.parametrize("is_compiled", [True, False])
async def test_a_large_memory_compiles_its_loops_at_the_wake_and_tries_again_a_day_later(
    home: Home, monkeypatch: pytest.MonkeyPatch, *, is_compiled: bool
) -> None:
    tries = 0

    async def warm_up(*_: object) -> bool:
        nonlocal tries
        tries += 1
        return is_compiled

    monkeypatch.setattr("reveries.memory.live.LARGE_ROWS", 0)
    monkeypatch.setattr("reveries.memory.memory.warm_up", warm_up)
    monkeypatch.setattr("reveries.daemon.occupations.sleep_control._COMPILE_AGAIN_SECONDS", 3600.0)
    async with living(home, a_model(), PatientClock(NOON), SETTINGS) as life:
        with structlog.testing.capture_logs() as logged:
            await life.mind.sleep.warm_up()
        at_once = await life.mind.sleep.compile_loops_if_idle()
        await life.pass_time(1.1)
        later = await life.mind.sleep.compile_loops_if_idle()
    assert [line["compiled"] for line in logged if line["event"] == "recall.loops"] == [is_compiled]
    assert (at_once, later) == (None, "compiled" if is_compiled else "not compiled")
    assert tries == 2
