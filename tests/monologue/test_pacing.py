"""Pieces of a thought pass at their pace, never in a burst."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.monologue.quiescence import Pace


@pytest.mark.requirement("R-36")
@given(st.floats(0.5, 50), st.lists(st.floats(0, 2), min_size=1, max_size=60))
def test_pieces_never_come_faster_than_the_target(rate: float, model_gaps: list[float]) -> None:
    pace, now, came = Pace(rate), 0.0, []
    for gap in model_gaps:
        now += gap
        now += pace.wait_seconds(now)
        pace.count_piece(now)
        came.append(now)
    assert all(later - earlier >= 1 / rate - 1e-9 for earlier, later in itertools.pairwise(came))


@pytest.mark.requirement("R-36", "RA-8")
def test_the_velocity_is_what_came_through_not_what_the_model_could() -> None:
    pace, now = Pace(5.0), 0.0
    assert pace.velocity() is None
    for _ in range(50):
        now += pace.wait_seconds(now)
        pace.count_piece(now)
    assert pace.velocity() == pytest.approx(5.0)


@pytest.mark.requirement("R-52", "RA-8")
def test_the_wait_for_a_new_call_is_not_a_slow_thought() -> None:
    pace, now = Pace(5.0), 0.0
    for number in range(40):
        if number % 10 == 0:
            now += 30.0
            pace.begin_call()
        now += pace.wait_seconds(now)
        pace.count_piece(now)
    assert pace.velocity() == pytest.approx(5.0)


@pytest.mark.requirement("R-136")
def test_a_throttle_halves_the_pace() -> None:
    pace = Pace(5.0)
    pace.halve()
    pace.count_piece(0.0)
    assert pace.wait_seconds(0.0) == pytest.approx(0.4)
