"""The provider's own bill against the limits (G1). Ten thousand schedules of it: make soak PART=money."""

import asyncio

import pytest
from hypothesis import given, settings

from tests.llm.money import SCHEDULES, Schedule, play_schedule


@pytest.mark.system
@pytest.mark.requirement("G1")
@settings(max_examples=80)
@given(SCHEDULES)
def test_the_providers_own_bill_never_passes_a_limit(schedule: Schedule) -> None:
    """Roles at once, kills, clocks set, midnights and DST, usage untold and lied about, retries, prices that change."""
    asyncio.run(play_schedule(schedule))
