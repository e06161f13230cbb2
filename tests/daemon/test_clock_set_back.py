"""A clock that is set back stops none of the automatic jobs (E1)."""

import msgspec
import pytest

from reveries.config import Home, load_settings
from reveries.memory.importing import PastTurn
from tests.daemon.mind_kit import living
from tests.fakes.patient_clock import PatientClock
from tests.fakes.scripted import ScriptedModel
from tests.memory.kit import NOW, deep_answer

_DEFAULTS = load_settings(None)
_QUIET = msgspec.structs.replace(_DEFAULTS, monologue=msgspec.structs.replace(_DEFAULTS.monologue, enabled=False))
_BOAT = "The wooden boat Sole needs blue paint."
_MONTH = 30 * 86400.0


@pytest.mark.requirement("E1")
async def test_it_sleeps_on_what_happened_and_lets_time_pass_all_the_same(home: Home) -> None:
    model = ScriptedModel(otherwise=deep_answer(0.5, _BOAT, summary=_BOAT))
    async with living(home, model, PatientClock(NOW), _QUIET) as life:
        assert await life.mind.sleep.apply_decay() is not None
        life.clock.step_wall(-_MONTH)
        await life.mind.memory.begin_import("past").add([PastTurn(NOW - 2 * _MONTH, "Bea", _BOAT)])
        await life.mind.sleep.light_sleep()
        await life.clock.advance(3.9 * 3600)
        assert (await life.mind.memory.stats()).last_consolidation == ""
        await life.clock.advance(0.3 * 3600)
        assert (await life.mind.memory.stats()).last_consolidation != ""
        await life.clock.advance(23 * 3600)
        assert await life.mind.sleep.apply_decay() is None
        await life.clock.advance(3 * 3600)
        assert await life.mind.sleep.apply_decay() is not None
