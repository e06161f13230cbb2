"""Work in a folder outlives kills: no command twice, rows that are true, a folder that can be given back."""

import pytest

from tests.tools.killed_work import run_rounds


@pytest.mark.system
@pytest.mark.requirement("F9", "A1")
def test_killed_at_any_moment_no_command_is_repeated_and_the_folder_is_as_the_rows_say_and_can_be_given_back() -> None:
    """Five hundred kills: make soak PART=killed_work."""
    tally = run_rounds(12, seed=7)
    assert (tally.repeated, tally.not_as_told, tally.not_given_back, tally.stuck) == (0, 0, 0, 0)
    assert tally.kills >= 12
    assert tally.tasks
