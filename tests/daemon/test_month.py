"""A day of a simulated life with planted runaways: each trips, nothing else does, the money is what was planned."""

import pytest

from reveries.config import Home, load_settings
from tests.daemon.month import KINDS, Plan, live_through

SETTINGS = load_settings(None)


@pytest.mark.requirement("R-129", "R-135", "R-136", "R-46", "G1", "R-165")
async def test_a_day_with_every_kind_of_runaway_trips_on_each_and_on_nothing_else(home: Home) -> None:
    """The full run has thirty days and twenty runaways: make soak PART=month."""
    month = await live_through(home, SETTINGS, Plan(days=1, runaways=len(KINDS), sessions_a_day=6, every=2))
    assert month.wrong == []
    assert len(month.tripped) == len(KINDS)
    assert len(month.thoughts) > len(KINDS)
