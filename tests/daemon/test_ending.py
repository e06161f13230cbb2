"""The end of a daemon whose disk has failed: soon, whatever a model is at (A4, B4)."""

import asyncio
import contextlib

import pytest

from reveries.config import Home, load_settings
from reveries.daemon.app import _Ending, _supervised, _wind_down
from reveries.errors import StorageLostError
from reveries.llm.scripted import ScriptedModel
from tests.daemon.mind_kit import NOON, living
from tests.fakes.patient_clock import PatientClock


@pytest.mark.requirement("A4", "B4")
async def test_where_the_disk_has_failed_nobody_waits_for_a_model_that_is_slow(home: Home) -> None:
    model = ScriptedModel(otherwise="Indeed.", name="ollama/x")
    async with living(home, model, PatientClock(NOON), load_settings(None)) as life:
        mind, loop = life.mind, asyncio.get_running_loop()
        async with mind.conversation._turn_lock:  # As long as a reply is under way.
            with contextlib.suppress(StorageLostError), mind.database.noticing_loss():
                raise StorageLostError("The disk failed a write.")
            ending, began = _Ending(), loop.time()
            ending.ask(politely=False, exit_code=74)
            await life.clock.drive(_wind_down(mind, ending))
            assert loop.time() - began < 1.0
        assert not await mind.memory.save_last_snapshot()


@pytest.mark.requirement("A4")
async def test_a_disk_that_failed_ends_the_daemon_by_whoever_looks_but_not_before_who_was_told_of_it_hears_so(
    home: Home,
) -> None:
    model = ScriptedModel(otherwise="Indeed.", name="ollama/x")
    async with living(home, model, PatientClock(NOON), load_settings(None)) as life:
        mind, ending = life.mind, _Ending()
        with contextlib.suppress(StorageLostError), mind.database.noticing_loss():
            raise StorageLostError("The disk failed a write.")
        async with asyncio.timeout(5):
            with pytest.raises(StorageLostError):
                await _supervised("room", mind.room.run, mind, ending)
            ending.ask(politely=False, exit_code=74)
            await _supervised("room", mind.room.run, mind, ending)
