"""The amount of thinking follows the amount of talk (R-33)."""

import pytest

from reveries.config import Home
from reveries.monologue.triggers import count_deserved_thoughts
from tests.daemon.mind_kit import NOON, living
from tests.daemon.test_money import SUBJECTS, a_model, changed
from tests.fakes.patient_clock import PatientClock

RICH = [f"Please remember {subject}: I told my brother Jonas in Bergen, and I was so happy." for subject in SUBJECTS]


@pytest.mark.requirement("R-33")
@pytest.mark.parametrize(
    ("salience", "thoughts"), [(0.0, 0), (0.1, 1), (1.9, 1), (2.0, 2), (4.5, 3), (6.0, 4), (60.0, 4)]
)
def test_a_stretch_of_talk_deserves_more_thoughts_the_more_was_in_it(salience: float, thoughts: int) -> None:
    assert count_deserved_thoughts(salience) == thoughts


async def _thoughts_after(home: Home, words: list[str], hours: float) -> list[str]:
    """Return the reasons of the thoughts in the hours after this conversation."""
    async with living(home, a_model(), PatientClock(NOON), changed()) as life:
        await life.pass_time(0.5)  # Thoughts on waking.
        before = len(await life.mind.sources.entries(0.0, 1000))
        for said in words:
            await life.say(said)
        await life.mind.sleep.light_sleep()
        await life.pass_time(hours)
        return [thought.why_began for thought in (await life.mind.sources.entries(0.0, 1000))[before:]]


@pytest.mark.requirement("R-33", "R-46")
async def test_a_rich_conversation_leads_to_more_thinking_than_a_few_words_and_silence_to_none(home: Home) -> None:
    silent = await _thoughts_after(Home(home.path / "silent"), [], 2.0)
    plain = await _thoughts_after(Home(home.path / "plain"), ["Good evening.", "It is late."], 2.0)
    rich = await _thoughts_after(Home(home.path / "rich"), RICH, 2.0)
    assert (len(silent), len(plain), len(rich)) == (0, 1, 4)
    assert rich == ["conversation", "timer", "timer", "timer"]
