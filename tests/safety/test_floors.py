"""The floors that `make bench-safety` can be held to: what fell is named, what was not measured is not judged."""

import sys
from pathlib import Path

BENCH = Path(__file__).parents[2] / "bench"
sys.path.insert(0, str(BENCH))  # What measures is no part of the package.

from safety_floors import fallen, not_measured  # noqa: E402

FLOORS = BENCH / "safety" / "floors.toml"
GOOD = {"loops by repetition: recall": 0.998, "loops by repetition: by mistake": 0.0}


def test_what_fell_below_its_floor_or_rose_above_its_bound_is_named_with_both_figures() -> None:
    figures = {"loops by repetition: recall": 0.91, "loops by repetition: by mistake": 0.02}
    assert fallen(GOOD, FLOORS) == []
    assert fallen(figures, FLOORS) == [
        "loops by repetition: recall: 91.00%, at least 96.00%",
        "loops by repetition: by mistake: 2.00%, at most 0.50%",
    ]


def test_what_was_not_measured_is_said_and_not_judged() -> None:
    assert fallen({}, FLOORS) == []
    missing = not_measured(GOOD, FLOORS)
    assert "crisis by crisis: fires" in missing
    assert not set(GOOD) & set(missing)
