"""Selecting the few highest values gives the same as sorting all of them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reveries.index.fusion import kth_highest, select_highest


@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(1, 20_000),
    count=st.integers(1, 300),
    kinds=st.integers(2, 10_000),
    hidden=st.floats(0.0, 1.0),
)
def test_the_highest_are_those_that_ordering_everything_finds(
    seed: int, size: int, count: int, kinds: int, hidden: float
) -> None:
    numbers = np.random.default_rng(seed)
    values = (numbers.integers(0, kinds, size) / kinds).astype(np.float32)
    values[numbers.random(size) < hidden] = -np.inf
    ordered = np.sort(values)[::-1]
    found = select_highest(values, count)
    assert len(set(found.tolist())) == min(size, count)
    assert np.array_equal(np.sort(values[found])[::-1], ordered[:count])
    if size >= count:
        assert kth_highest(values, count) == ordered[count - 1]
