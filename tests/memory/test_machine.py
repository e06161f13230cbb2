"""Under random operations, everything acknowledged is there, and a reload equals the live memory."""

import pytest

from tests.memory.machine import check


@pytest.mark.system  # For its length alone.
@pytest.mark.requirement("A10")
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_in_any_order_of_deeds_the_memory_equals_a_plain_model_of_what_it_was_told(seed: int) -> None:
    """The same 30 lives for a seed each time; always others, and twenty thousand: make soak PART=model."""
    check(30, 50, seed=seed)
