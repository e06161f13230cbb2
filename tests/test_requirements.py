"""Every requirement has a test or a part of the plan that brings it, and every marker names something real."""

from pathlib import Path

from tests.requirements import LATER, PARTS, REQUIREMENTS, Shown, missing, shown, unknown


def test_every_requirement_has_a_test_or_a_later_part() -> None:
    assert not missing(shown())


def test_every_marker_names_a_requirement_or_a_goal() -> None:
    assert not unknown(shown())


def test_the_list_is_whole() -> None:
    assert list(REQUIREMENTS) == [f"R-{number}" for number in range(1, 174)]


def test_what_comes_later_is_a_requirement_and_a_part_of_the_plan() -> None:
    assert set(LATER) <= set(REQUIREMENTS)
    assert all(2 <= part <= PARTS for part in LATER.values())


def test_a_requirement_without_a_test_would_be_missed() -> None:
    """The test of the test: without its markers, R-118 is reported."""
    others = [marker for marker in shown() if marker.requirement != "R-118"]
    assert "R-118" in missing(others)


def test_a_marker_of_no_requirement_would_be_seen() -> None:
    wrong = Shown("R-999", "test_nowhere.py::test_nothing")
    assert unknown([wrong, Shown("A6", "x"), Shown("R-1", "x")]) == [wrong]


def test_markers_are_read_from_the_source() -> None:
    here = f"{Path(__file__).name}::"
    assert not [marker for marker in shown() if marker.test.startswith(here)]
    assert Shown("R-161", "test_config.py::test_a_file_changes_only_what_it_names") in shown()
