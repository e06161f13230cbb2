"""Invariants of relations hold after any order of what changes them, on a real file."""

from pathlib import Path

import pytest

from tests.knowledge.relation_life import RelationLife


@pytest.mark.requirement("V-33", "V-34", "V-35", "V-54", "V-62", "V-135")
@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_relations_are_whole_after_any_order_of_changes_erasures_and_restarts(tmp_path: Path, seed: int) -> None:
    life = RelationLife(tmp_path, seed)
    await life.live(steps=240, restarts=3)
    assert all(life.done[change] for change in ("state", "weaken", "restore", "replace", "find", "erase", "across"))
