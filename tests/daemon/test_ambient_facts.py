"""Calming sentences are true: they are read from the real state."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from reveries.config import Home, load_settings
from reveries.daemon.senses.ambient_facts import load_ambient_data, mood_word, predict_next_talk
from reveries.safety.ambient import AmbientKind, ambient_text
from tests.daemon.mind_kit import NOON, living
from tests.fakes.patient_clock import PatientClock
from tests.fakes.scripted import ScriptedModel
from tests.rows import check_rows

BERLIN = ZoneInfo("Europe/Berlin")
THOUGHT = "I noticed that they love the tree. That is enough for now."


def at(day: int, hour: int) -> float:
    return datetime(2026, 7, day, hour, 20, tzinfo=BERLIN).timestamp()


@pytest.mark.requirement("R-138", "R-139")
@check_rows(
    ("began", "now", "words"),
    [
        ([at(day, 19) for day in (1, 2, 3, 5)], at(6, 10), "this evening"),
        ([at(day, 19) for day in (1, 2, 3, 5)], at(6, 18), "tomorrow evening"),
        ([at(day, 8) for day in (1, 2, 3, 5)], at(6, 10), "tomorrow morning"),
        ([at(day, 19) for day in (1, 2, 3)], at(6, 10), ""),
        ([at(5, 19)] * 9, at(6, 10), ""),
        ([at(day, 2) for day in (1, 2, 3, 4, 5)], at(6, 10), ""),
        ([at(day, hour) for day in (1, 2, 3, 4, 5) for hour in (8, 19)][1:], at(6, 6), "this evening"),
        ([], at(6, 10), ""),
    ],
)
def test_a_habit_of_four_days_foretells_and_nothing_less(began: list[float], now: float, words: str) -> None:
    assert predict_next_talk(began, now, BERLIN) == words


@pytest.mark.requirement("R-138")
def test_how_they_seemed_is_one_word() -> None:
    assert [mood_word(felt) for felt in (0.5, 0.0, -0.5)] == ["cheerful", "calm", "troubled"]


@pytest.mark.requirement("R-138", "R-139")
async def test_what_is_said_is_true_of_the_mind_and_what_is_not_known_is_left_out(home: Home) -> None:
    model = ScriptedModel(otherwise=THOUGHT, name="openai/gpt-4.1-mini", context_tokens=16384)
    async with living(home, model, PatientClock(NOON), load_settings(None)) as life:
        mind = life.mind
        empty = await load_ambient_data(mind.memory, mind.database, mind.clock, "Ana", is_running_normally=False)
        assert (empty.last_topic, empty.last_mood, empty.predicted_next, empty.turns) == ("", "", "", 0)
        assert empty.all_stored
        await life.say("I love the pear tree in our garden so much, the pear tree makes me happy!")
        await life.pass_time(0.2)
        known = await load_ambient_data(mind.memory, mind.database, mind.clock, "Ana", is_running_normally=True)
        assert known.last_topic
        assert known.last_mood == "cheerful"
        assert known.turns == 2
        given = ambient_text(known, (), ("Moss is patient.",))
        assert given.kind is AmbientKind.TIME
        assert mind.health.is_running_normally
