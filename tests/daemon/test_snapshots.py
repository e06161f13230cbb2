"""A snapshot for the next start is saved while no one talks."""

import asyncio

import pytest
import structlog.testing

from reveries.config import Home
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
        live = life.mind.memory.live
        await life.say("My sister Marta lives in Lisbon.")
        rows = live.graph.size + live.turns.size
        monkeypatch.setattr("reveries.memory.live.LARGE_ROWS", rows + 1)
        small = await life.mind.sleep.compile_loops_if_large()
        monkeypatch.setattr("reveries.memory.live.LARGE_ROWS", rows)
        # At a wake and by the schedule at once.
        both = await asyncio.gather(*(life.mind.sleep.compile_loops_if_large() for _ in range(2)))
    assert (small, both) == (None, ["compiled", None])
