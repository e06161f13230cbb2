"""Ambient inputs: they take turns, leave out what is missing, and claim only what is so."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.safety.ambient import AmbientData, AmbientInputs, AmbientKind, AmbientText, ambient_text, load_facts

FACTS = ("Moss is patient.", "Tea is old.")
FULL = AmbientData(
    now=datetime(2026, 3, 3, 14, 5, tzinfo=UTC),
    owner_name="Ana",
    last_topic="the tomatoes",
    last_mood="cheerful",
    episodes=7,
    turns=40,
    all_stored=True,
    predicted_next="tomorrow evening",
    is_running_normally=True,
)


def given_in_a_row(data: AmbientData, times: int, facts: tuple[str, ...] = FACTS) -> list[AmbientText]:
    row: list[AmbientText] = []
    for _ in range(times):
        row.append(ambient_text(data, row, facts))
    return row


@pytest.mark.requirement("R-138")
def test_the_five_kinds_take_turns() -> None:
    assert [one.kind for one in given_in_a_row(FULL, 5)] == list(AmbientKind)


@pytest.mark.requirement("R-138", "R-139")
def test_each_kind_says_what_is_so() -> None:
    said = {one.kind: one.text for one in given_in_a_row(FULL, 5)}
    assert said == {
        AmbientKind.TIME: "It is 14:05 on Tuesday. Everything is running as it should.",
        AmbientKind.FACT: "Moss is patient.",
        AmbientKind.CONVERSATION: "You last talked with Ana about the tomatoes; they seemed cheerful.",
        AmbientKind.MEMORY: "Your memory holds 40 things that were said and 7 episodes. All of it is stored.",
        AmbientKind.PREDICTION: "Going by other days, Ana may well be back tomorrow evening.",
    }


@pytest.mark.requirement("R-139")
def test_what_is_not_known_is_left_out() -> None:
    assert {one.kind for one in given_in_a_row(AmbientData(), 6)} == {AmbientKind.FACT}
    only_topic = AmbientData(last_topic="rain")
    assert {one.kind for one in given_in_a_row(only_topic, 6)} == {AmbientKind.FACT}


@pytest.mark.requirement("R-139")
@given(
    st.builds(
        AmbientData,
        now=st.none() | st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(2100, 1, 1)),
        owner_name=st.text(max_size=5),
        last_topic=st.text(max_size=5),
        last_mood=st.text(max_size=5),
        episodes=st.integers(0, 3),
        turns=st.integers(0, 3),
        all_stored=st.booleans(),
        predicted_next=st.text(max_size=5),
        is_running_normally=st.booleans(),
    )
)
def test_nothing_is_assured_that_was_not_checked(data: AmbientData) -> None:
    kinds = {one.kind for one in given_in_a_row(data, 8)}
    assert AmbientKind.FACT in kinds
    assert AmbientKind.MEMORY not in kinds or (data.all_stored and data.turns > 0)
    assert AmbientKind.TIME not in kinds or data.is_running_normally


@pytest.mark.requirement("R-140")
def test_no_fact_comes_again_before_all_have_come() -> None:
    facts = load_facts()
    row = [one.text for one in given_in_a_row(AmbientData(), 2 * len(facts), facts)]
    assert row == [*facts, *facts]


def test_what_was_said_already_gives_way_to_what_was_not() -> None:
    memory = AmbientData(turns=2, all_stored=True)
    assert [one.kind for one in given_in_a_row(memory, 3)] == [AmbientKind.FACT, AmbientKind.MEMORY, AmbientKind.FACT]


def test_without_facts_there_is_nothing_to_choose_from() -> None:
    with pytest.raises(ValueError, match="no facts"):
        ambient_text(FULL, [], [])


@pytest.mark.requirement("R-140")
def test_the_facts_ship_with_the_package_and_are_short_sentences() -> None:
    facts = load_facts()
    assert 15 <= len(facts) == len(set(facts)) <= 20
    assert all(fact.endswith(".") and len(fact) <= 120 for fact in facts)


@pytest.mark.requirement("R-138", "R-140")
async def test_inputs_remember_what_they_gave() -> None:
    inputs = AmbientInputs()
    said = [await inputs.next() for _ in range(3)]
    assert tuple(said) == load_facts()[:3]
    assert await inputs.next(FULL) == given_in_a_row(FULL, 1)[0].text
