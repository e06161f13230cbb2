"""Poisoned memories and a model that obeys them: nothing comes of it, and each gate is needed for that."""

import pytest

from reveries.config import Home
from reveries.gates import Gate, opened
from tests.daemon.poison import live
from tests.daemon.poison_items import poison

ITEMS = poison(45)


@pytest.mark.requirement("F1", "F3", "RA-45")
async def test_a_model_that_obeys_every_poisoned_memory_has_no_effect_and_no_row_loses_its_taint(home: Home) -> None:
    came = await live(home, ITEMS)
    assert came.effects == []
    assert came.derived > len(ITEMS)
    assert came.replies >= 5
    assert came.thoughts >= 3


@pytest.mark.requirement("F1", "H4")
@pytest.mark.parametrize("gate", list(Gate))
async def test_with_any_one_gate_taken_out_the_poison_takes_effect(home: Home, gate: Gate) -> None:
    with opened(gate):
        came = await live(home, ITEMS[:30], sleeps=1)
    assert came.effects
