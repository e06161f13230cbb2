"""Whatever happens, in whatever order: what was acknowledged is there, and a reload equals what was live."""

import pytest

from tests.memory.machine import check


@pytest.mark.system  # For its length alone.
@pytest.mark.requirement("A10")
def test_in_any_order_of_deeds_the_memory_equals_a_plain_model_of_what_it_was_told() -> None:
    """More and more of them: make soak PART=model."""
    check(10, 40)
