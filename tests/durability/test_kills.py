"""A1: killed at any moment, every acknowledged word is there, nothing is half-made and nothing is there twice."""

import tempfile
from pathlib import Path

import pytest

from tests.durability.kills import Killed, lives


async def killed(count: int, *, seed: int, graph_every: int) -> Killed:
    # Not tmp_path: a socket's path may have about a hundred bytes.
    with tempfile.TemporaryDirectory(prefix="rvk") as folder:
        async with lives(Path(folder), seed=seed) as mind:
            return await mind.run(count, graph_every=graph_every)


@pytest.mark.requirement("A1", "R-9")
async def test_killed_at_any_moment_a_mind_keeps_what_it_acknowledged() -> None:
    """So many lives as a run of all tests has time for; `make soak PART=kills` has two thousand."""
    seen = await killed(12, seed=12, graph_every=4)
    assert seen.wrong == []
    assert seen.kills == 12
    assert seen.acknowledged > 12


@pytest.mark.system
@pytest.mark.requirement("A1", "R-9")
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
async def test_twenty_five_kills_lose_nothing_and_leave_nothing_half_made(seed: int) -> None:
    """Two thousand: make soak PART=kills."""
    seen = await killed(25, seed=seed, graph_every=10)
    assert seen.wrong == []
    assert seen.kills == 25
    assert seen.while_waking > 0
    assert seen.acknowledged > 50
