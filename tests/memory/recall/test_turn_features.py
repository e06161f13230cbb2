"""Surface features of a turn, and parsing of a cue."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.memory.recall.cues import read_cue
from reveries.memory.recall.turn_features import SURFACE, surface_features
from tests.rows import check_rows

NOW = 1_700_000_000.0


def record(text: str) -> np.void:
    found: np.void = np.array([surface_features(text)], dtype=SURFACE)[0]
    return found


def test_a_question_a_number_a_time_and_a_name_are_seen() -> None:
    seen = record("Did you pay 40 euros in Lisbon last week?")
    assert [bool(seen[name]) for name in ("asks", "ends_asking", "number", "time")] == [True] * 4
    assert int(seen["names"]) == 1
    assert not seen["first_person"]


def test_a_greeting_and_the_first_person_are_seen() -> None:
    seen = record("Hey! I missed you.")
    assert bool(seen["greets"])
    assert bool(seen["first_person"])
    assert not seen["asks"]


@given(st.text(max_size=300))
def test_any_text_has_a_surface(text: str) -> None:
    assert np.isfinite(float(record(text)["log_length"]))


@check_rows(
    ("text", "wish"),
    [
        ("When did Ana go to Lisbon?", "wants_time"),
        ("How many cats do we have?", "wants_number"),
        ("Who painted it?", "wants_person"),
        ("Where does she live?", "wants_place"),
        ("What is my budget now?", "wants_value_now"),
        ("What did I say my rent is?", "wants_value_now"),
        ("What did you suggest for my knees?", "asks_mind"),
        ("Was hast du mir empfohlen?", "asks_mind"),
        ("¿Qué me aconsejaste?", "asks_mind"),
    ],
)
def test_a_cue_says_what_kind_of_answer_it_wants(text: str, wish: str) -> None:
    assert getattr(read_cue(text, NOW), wish)


@pytest.mark.parametrize(
    "text",
    [
        "What is the difference between the first and the last price?",
        "What was my rent before?",
        "How many cats did we have?",
    ],
)
def test_a_cue_that_compares_or_asks_for_the_past_does_not_ask_for_what_holds_now(text: str) -> None:
    assert not read_cue(text, NOW).wants_value_now


@pytest.mark.parametrize("text", ["What did I tell you about my knees?", "Which tram do I take?", "Have you any idea?"])
def test_a_cue_for_the_owners_words_does_not_ask_for_the_minds(text: str) -> None:
    assert not read_cue(text, NOW).asks_mind


def test_a_remark_asks_for_nothing() -> None:
    cue = read_cue("It rained all day.", NOW)
    assert not cue.asks
    assert not cue.wants_value_now
    assert cue.spans == ()
