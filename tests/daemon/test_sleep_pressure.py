"""Deep sleep is due by volume or by time, while no one speaks and it does not think."""

import pytest

from reveries.config import load_settings
from reveries.daemon.occupations.sleep_pressure import SleepPressure, why_sleep_is_due

_SETTINGS = load_settings(None).memory


@pytest.mark.requirement("R-97", "R-98", "R-101")
@pytest.mark.parametrize(
    ("unprocessed", "hours", "talking", "thinking", "due"),
    [
        (0, 100, False, False, None),
        (1, 3.9, False, False, None),
        (1, 4, False, False, "time"),
        (20, 0, False, False, None),
        (21, 0, False, False, "volume"),
        (21, 100, True, False, None),
        (21, 100, False, True, None),
    ],
)
def test_a_pass_is_due(unprocessed: int, hours: float, talking: bool, thinking: bool, due: str | None) -> None:
    pressure = SleepPressure(unprocessed, hours * 3600, talking, thinking)
    assert why_sleep_is_due(pressure, _SETTINGS) == due


def test_nothing_is_due_while_a_pass_waits_for_the_owners_word() -> None:
    pressure = SleepPressure(100, 1e6, is_talking=False, is_thinking=False, asks_owner=True)
    assert why_sleep_is_due(pressure, _SETTINGS) is None
