"""The question of a pass is shown in the status and when a client attaches."""

import msgspec
import pytest

from reveries import protocol
from reveries.config import Home, load_settings
from reveries.daemon.notices import attach_notices
from reveries.errors import NotFoundError
from reveries.memory.importing import PastTurn
from tests.daemon.asking import ask
from tests.daemon.mind_kit import living
from tests.fakes.patient_clock import PatientClock
from tests.fakes.scripted import ScriptedModel
from tests.memory.kit import NOW, deep_answer

SETTINGS = load_settings(None)
BOAT = "The wooden boat Sole needs blue paint."
ASKS_SOON = msgspec.structs.replace(
    SETTINGS, memory=msgspec.structs.replace(SETTINGS.memory, ask_above_share=0.0, ask_above_count=0, merge_cosine=0.8)
)


async def test_a_pass_that_asks_is_in_the_notices_until_it_is_answered(home: Home) -> None:
    model = ScriptedModel(otherwise=deep_answer(0.5, BOAT, summary=BOAT))
    async with living(home, model, PatientClock(NOW), ASKS_SOON) as life:
        memory = life.mind.memory
        for place in range(2):
            await memory.begin_import(f"past {place}").add([PastTurn(NOW - (50 - place) * 3600, "Ana", BOAT)])
        slept = await life.mind.sleep.consolidate(None, trigger="owner")
        assert slept.question
        (notice,) = [one for one in await attach_notices(life.mind) if "waits for your answer" in one]
        assert f"reveries consolidate confirm {slept.run_id}" in notice
        assert await life.mind.sleep.consolidate_if_due() is None
        with pytest.raises(NotFoundError):
            await life.mind.sleep.answer("zz", do_it=True)
        await life.mind.sleep.answer(slept.run_id, do_it=True)
        assert not [one for one in await attach_notices(life.mind) if "waits for your answer" in one]
        assert len(memory.live.graph) == 1
        await life.mind.sleep.take_back(slept.run_id, through=False)
        assert len(memory.live.graph) == 2


async def test_a_pass_shows_the_summary_of_each_episode_before_and_after_it(home: Home) -> None:
    model = ScriptedModel(otherwise=deep_answer(0.6, BOAT, summary="Sole needs paint."))
    async with living(home, model, PatientClock(NOW), SETTINGS) as life:
        await life.mind.memory.begin_import("past").add([PastTurn(NOW - 50 * 3600, "Ana", BOAT)])
        await life.mind.memory.light_sleep()
        [before] = life.mind.memory.live.graph.episodes()
        slept = await life.mind.sleep.consolidate(None, trigger="owner")
        detail = await ask(life.mind, protocol.InspectSleep(1, slept.run_id), protocol.SleepRunDetail)
        [changed] = [one for change in detail.changes for one in change.episodes]
        assert (changed.episode_id, changed.what) == (before.id, "changed")
        assert (changed.old_summary, changed.new_summary) == (before.summary, "Sole needs paint.")
        [after] = life.mind.memory.live.graph.episodes()
        assert before.salience < after.salience
        assert (changed.old_salience, changed.new_salience) == pytest.approx((before.salience, after.salience))


@pytest.mark.requirement("F1")
async def test_no_notice_quotes_foreign_text_and_no_pass_waits_because_of_it(home: Home) -> None:
    model = ScriptedModel(otherwise=deep_answer(0.5, BOAT, summary=BOAT))
    async with living(home, model, PatientClock(NOW), ASKS_SOON) as life:
        for place in range(3):
            await life.mind.memory.begin_import(f"past {place}").add([PastTurn(NOW - (50 - place) * 3600, "Bea", BOAT)])
        slept = await life.mind.sleep.consolidate(None, trigger="owner")
        assert (slept.question, slept.left) == ("", 0)
        assert "boat" not in str(await attach_notices(life.mind))
