"""Automatic deep sleep waits until no one speaks; requested deep sleep does not (R-99, R-101)."""

import pytest

from reveries.config import Home
from reveries.llm.base import Prompt, Role
from reveries.monologue.ports import ThoughtState
from tests.daemon.mind_kit import NOON, living
from tests.daemon.test_money import SUBJECTS, a_model, changed
from tests.fakes.patient_clock import PatientClock
from tests.fakes.scripted import Pause, Piece, ScriptedModel

MORE_SUBJECTS = (
    "two goats on a hill farm",
    "repairing clocks with a magnifier",
    "an uncle who sails to Malta",
    "chess against a stranger",
    "mushrooms that grew in the cellar",
    "a broken window and a ball",
    "the recipe for plum soup",
    "snow in the month of May",
    "a lost umbrella at the station",
    "painting the fence green",
    "a violin maker from Cremona",
    "night shifts at the bakery",
)
"""No text repeats, because a pass that would merge much asks first."""


@pytest.mark.requirement("R-98", "R-99", "R-101")
async def test_a_pass_that_is_due_waits_for_the_end_of_the_talk_and_one_that_is_asked_for_does_not(home: Home) -> None:
    async with living(home, a_model(), PatientClock(NOON), changed(thinks=False)) as life:
        mind = life.mind
        for subject in (*SUBJECTS, *MORE_SUBJECTS):
            await life.say(f"Let me tell you about {subject}.")
        await mind.sleep.light_sleep()
        assert await mind.memory.unprocessed_count() == 24
        async with mind.conversation._turn_lock:  # As while a reply is generated.
            assert await mind.sleep.consolidate_if_due() is None
            assert await mind.memory.unprocessed_count() == 24
            asked = await mind.sleep.consolidate(1, trigger="owner")
            assert asked.processed == 1
            assert await mind.sleep.consolidate_if_due() is None
        await life.pass_time(1)
        assert await mind.memory.unprocessed_count() <= 3  # An automatic pass takes twenty at most.


@pytest.mark.requirement("R-101")
async def test_a_pass_that_is_due_waits_for_the_end_of_a_thought(home: Home) -> None:
    clock = PatientClock(NOON)

    def say(prompt: Prompt) -> list[Piece]:
        return ["I wonder. ", Pause(90_000)] if prompt.role is Role.MONOLOGUE else ["I see."]

    model = ScriptedModel(otherwise=say, clock=clock, name="ollama/x")
    async with living(home, model, clock, changed()) as life:
        mind = life.mind
        for subject in (*SUBJECTS, *MORE_SUBJECTS):
            await life.say(f"Let me tell you about {subject}.")
        await mind.sleep.light_sleep()
        await life.pass_time(0.2)
        assert mind.monologue.state is ThoughtState.THINKING
        assert await mind.sleep.why_due() is None
        mind.monologue.pause()
        await life.pass_time(0.01)
        assert await mind.sleep.why_due() is not None
