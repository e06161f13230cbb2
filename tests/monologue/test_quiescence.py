"""When a thought has settled: each phrase, each sign, and similar texts that are none."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.config import load_settings
from reveries.monologue.quiescence import SettledBy, find_settled, has_same_conclusion, may_ask_model
from tests.rows import check_rows

_SETTINGS = load_settings(None).monologue


def _by(text: str, velocity: float | None = 5.0) -> SettledBy | None:
    pieces = [f"{word} " for word in text.split()]
    settled = find_settled(pieces, velocity, _SETTINGS)
    return settled.by if settled else None


@pytest.mark.requirement("R-51", "R-168")
@check_rows(
    "phrase",
    [
        "I've processed this now.",
        "I\u2019ve processed this now.",
        "I have processed what they said.",
        "My thoughts are settling.",
        "The thought settled.",
        "There is nothing more to say.",
        "Nothing else to add here.",
        "I am at peace with it.",
        "I am resting now.",
        "I am content with how it went.",
        "That's all for now.",
        "That is enough for now.",
        "THAT IS ENOUGH FOR NOW.",
    ],
)
def test_a_settling_phrase_settles_the_thought(phrase: str) -> None:
    assert _by(phrase) is SettledBy.PHRASE


@pytest.mark.requirement("R-51", "R-168")
@check_rows(
    "text",
    [
        "The content within the box is glass.",
        "The content without a title is lost.",
        "She processed the fish at the market.",
        "The argument was not settled by anyone.",
        "A repeat piece of music.",
        "There is nothing wrong with the lichens.",
        "That is all they told me about Anna.",
        "It is getting interesting now.",
        "They looked at peaceful water.",
        "Forethought settled nothing, and they settled the bill.",
    ],
)
def test_what_only_looks_like_a_settling_phrase_does_not(text: str) -> None:
    assert _by(text) is None


@pytest.mark.requirement("R-50")
def test_only_the_last_tokens_are_looked_at() -> None:
    assert _by("That is enough for now. " + "they told me about the river and the old mill " * 6) is None


@pytest.mark.requirement("R-52")
def test_a_thought_that_slows_down_settles_but_not_in_its_first_tokens() -> None:
    assert _by("one two three " * 10, velocity=0.5) is SettledBy.SLOW
    assert _by("one two three", velocity=0.5) is None
    assert _by("one two three " * 10, velocity=None) is None


@pytest.mark.requirement("R-53")
def test_sentences_that_say_the_same_again_settle_it() -> None:
    same = "I wonder whether Anna likes the new house. "
    assert _by(same * 3) is SettledBy.STUCK
    assert _by(same * 2) is None
    assert _by("Anna moved to Oslo in May. The cat had surgery. They want to visit in March.") is None


@pytest.mark.requirement("R-53")
def test_sentences_without_a_new_word_settle_it_in_any_language() -> None:
    english = "Anna moved to the new house in Oslo. She likes the harbour. "
    again = (
        "Oslo has the harbour that Anna likes. Anna moved to the house in Oslo. The harbour is in Oslo. Anna likes it. "
    )
    assert _by(english + again * 2) is SettledBy.STUCK
    assert _by(english + again) is None
    assert _by(english + again * 2 + "Perhaps she misses the mountains.") is None
    german = "Anna zog in das neue Haus nach Oslo. Ihr gefällt der Hafen. "
    wieder = (
        "Der Hafen von Oslo gefällt Anna. Anna zog nach Oslo in das Haus. In Oslo ist der Hafen. Anna zog in das Haus."
    )
    assert _by(german + f"{wieder} {wieder}") is SettledBy.STUCK
    assert _by(english) is None


@pytest.mark.requirement("R-55")
def test_the_phrase_is_looked_for_before_the_velocity() -> None:
    assert _by("one two three " * 10 + "That is enough for now.", velocity=0.1) is SettledBy.PHRASE


@given(st.lists(st.text(max_size=20), max_size=80), st.none() | st.floats(0, 1000))
def test_any_text_can_be_judged(pieces: list[str], velocity: float | None) -> None:
    settled = find_settled(pieces, velocity, _SETTINGS)
    assert settled is None or settled.explanation


@pytest.mark.requirement("R-54", "RA-10")
def test_a_model_may_be_asked_of_a_long_thought_and_not_soon_again() -> None:
    assert not may_ask_model(499, 0, _SETTINGS)
    assert may_ask_model(500, 0, _SETTINGS)
    assert not may_ask_model(749, 500, _SETTINGS)
    assert may_ask_model(750, 500, _SETTINGS)
    never = msgspec.structs.replace(_SETTINGS, settle_ask_after_tokens=0)
    assert not may_ask_model(5000, 0, never)


@pytest.mark.requirement("RA-11")
@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("A. I want to ask about Oslo. That is enough for now.", "B c. I want to ask about Oslo.", True),
        ("I will ask them about the move to Oslo.", "I will ask them about their move to Oslo.", True),
        ("I will ask them about the move to Oslo.", "The pear tree wants water before Friday comes.", False),
        ("", "", True),
        ("That is enough for now.", "", True),
        ("I will ask them.", "", False),
    ],
)
def test_two_thoughts_come_to_the_same_by_their_last_sentences(one: str, other: str, is_same: bool) -> None:
    assert has_same_conclusion(one, other) is is_same
