"""Whatever is handed over is read or refused. For long: make soak PART=fuzz."""

import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.given import TARGETS, mutated, survives


@pytest.mark.requirement("E6", "C4", "F8")
@pytest.mark.parametrize("name", TARGETS)
def test_what_is_good_is_read_without_a_word(name: str, tmp_path: Path) -> None:
    for seed in TARGETS[name].seeds:
        survives(TARGETS[name], tmp_path, seed)


@pytest.mark.requirement("E6", "C4", "F8")
@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_whatever_happened_to_it_it_is_read_or_refused_with_an_error_of_ours(name: str, data: st.DataObject) -> None:
    target = TARGETS[name]
    seed, other = (data.draw(st.sampled_from(target.seeds)) for _ in range(2))
    raw = mutated(seed, random.Random(data.draw(st.integers(0, 2**32))), other)
    with tempfile.TemporaryDirectory(prefix="rv") as folder:
        survives(target, Path(folder), raw)
