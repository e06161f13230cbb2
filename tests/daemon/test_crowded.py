"""A real daemon among many clients, good and bad. The numbers of the goals: make soak PART=crowd."""

import pytest

from tests.daemon.crowded import LEAST_ANSWERS, MEGABYTE, measure


@pytest.mark.system  # For its length alone.
@pytest.mark.requirement("E2", "E3", "E4", "E5")
async def test_many_clients_stuck_ones_and_garbage_cost_a_good_client_next_to_nothing() -> None:
    seen = await measure(clients=30, talkers=5, talk_seconds=3, stuck=30, frames=50_000, visits=200)
    assert (seen.orders, seen.tracebacks) == (1, 0)
    assert seen.turns > 5
    assert seen.stuck_growth <= 5 * MEGABYTE
    assert seen.garbage_growth <= 10 * MEGABYTE
    assert seen.garbage_changed == []
    assert seen.log_lines <= 100
    assert seen.descriptors_left <= 0
    # The flood only ends when they are connected, so clients must be served during it. The soak measures times.
    assert min(seen.stuck_answers, seen.garbage_answers) >= LEAST_ANSWERS
