"""Every requirement and every goal has a test, and every marker names something real."""

from pathlib import Path

from tests.goals import GOALS, WITHOUT_A_TEST
from tests.requirements import REQUIREMENTS, RowState, Shown, find_unknown, find_untested, read_markers


def test_every_requirement_and_every_goal_has_a_test_or_a_reason() -> None:
    assert not find_untested(read_markers())


def test_every_marker_names_a_requirement_or_a_goal() -> None:
    assert not find_unknown(read_markers())


def test_every_row_of_both_specifications_stands_in_the_list_with_its_state() -> None:
    rows = [f"R-{number}" for number in range(1, 174)] + [f"V-{number}" for number in range(1, 138)]
    of_documents = [f"M-{number}" for number in (*range(19, 24), *range(25, 31), 32, *range(34, 37), 121)]
    assert list(REQUIREMENTS) == rows + of_documents
    for row in REQUIREMENTS.values():
        assert row.title.endswith(".")
        assert row.state is RowState.SHOWN or len(row.reason.split()) >= 10  # A reason, not a word.


def test_what_is_replaced_or_missing_is_not_said_to_be_shown_by_a_test() -> None:
    unshown = {name for name, row in REQUIREMENTS.items() if row.state is not RowState.SHOWN}
    assert not unshown & {marker.requirement for marker in read_markers()}


def test_a_reason_is_given_only_for_a_goal_that_has_no_test() -> None:
    assert set(WITHOUT_A_TEST) <= set(GOALS)
    assert not set(WITHOUT_A_TEST) & {marker.requirement for marker in read_markers()}


def test_a_requirement_without_a_test_would_be_missed() -> None:
    """The test of the test: without their markers, R-118 and A1 are reported."""
    others = [marker for marker in read_markers() if marker.requirement not in ("R-118", "A1")]
    assert find_untested(others) == ["R-118", "A1"]


def test_a_marker_of_no_requirement_would_be_seen() -> None:
    wrong = [Shown("R-999", "test_nowhere.py::test_nothing"), Shown("A99", "test_nowhere.py::test_nothing")]
    assert find_unknown([*wrong, Shown("A6", "x"), Shown("R-1", "x"), Shown("RA-5", "x")]) == wrong


def test_markers_are_read_from_the_source() -> None:
    here = f"{Path(__file__).name}::"
    assert not [marker for marker in read_markers() if marker.test.startswith(here)]
    assert Shown("R-161", "test_config.py::test_a_file_changes_only_what_it_names") in read_markers()
