"""Decay and pruning: R-115's formula, which never raises a salience below the floor."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.memory.sleep.decay import LEAST_ACCESSIBILITY, decay_salience, fade_episodes, prune_accessibility
from tests.memory.kit import NOW, episode

DAY = 86_400.0
UNIT = st.floats(0.0, 1.0)
DAYS = st.floats(0.0, 10_000.0)


@pytest.mark.requirement("R-114", "R-115")
def test_salience_halves_in_a_half_life_and_stops_at_the_floor() -> None:
    assert decay_salience(0.8, 30, 30, 0.1) == pytest.approx(0.4)
    assert decay_salience(0.8, 3000, 30, 0.1) == 0.1


@given(UNIT, DAYS, DAYS)
@pytest.mark.requirement("R-115")
def test_ten_days_and_then_twenty_are_thirty(salience: float, first: float, second: float) -> None:
    in_steps = decay_salience(decay_salience(salience, first, 30, 0.1), second, 30, 0.1)
    assert in_steps == pytest.approx(decay_salience(salience, first + second, 30, 0.1))


@given(UNIT, st.floats(-100.0, 10_000.0), UNIT)
@pytest.mark.requirement("R-115")
def test_decay_never_raises_and_never_passes_the_floor(salience: float, days: float, floor: float) -> None:
    left = decay_salience(salience, days, 30, floor)
    assert left <= salience
    assert left >= min(salience, floor)


@given(st.floats(LEAST_ACCESSIBILITY, 1.0), DAYS)
@pytest.mark.requirement("R-116")
def test_accessibility_never_rises_and_never_reaches_nothing(accessibility: float, days: float) -> None:
    assert LEAST_ACCESSIBILITY <= prune_accessibility(accessibility, days, 30) <= accessibility


@pytest.mark.requirement("R-114", "R-117")
def test_time_counts_from_the_last_access_or_the_last_pass() -> None:
    accessed = episode("a", salience=0.8, last_accessed_at=NOW - 30 * DAY, last_decayed_at=NOW - 90 * DAY)
    decayed_before = episode("b", salience=0.8, last_accessed_at=NOW - 90 * DAY, last_decayed_at=NOW - 30 * DAY)
    fadings = fade_episodes([accessed, decayed_before], NOW, 30, 0.1).fadings
    assert [one.salience for one in fadings] == [pytest.approx(0.4), pytest.approx(0.4)]
    assert [one.accessibility for one in fadings] == [1.0, 1.0]


@pytest.mark.requirement("R-116")
def test_only_what_has_come_down_to_the_floor_becomes_harder_to_reach() -> None:
    worn = episode("a", salience=0.1, last_accessed_at=NOW - 30 * DAY, last_decayed_at=0.0)
    (fading,) = fade_episodes([worn], NOW, 30, 0.1).fadings
    assert fading.accessibility == pytest.approx(0.5)


def test_what_was_just_touched_is_left_for_the_next_pass() -> None:
    assert fade_episodes([episode("a")], NOW + 60, 30, 0.1).fadings == ()
