"""Dates as people write them, as bounds of a search."""

import contextlib
import datetime as dt
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.errors import UsageError
from reveries.memory.views.search import parse_period
from tests.rows import check_rows

NOW = dt.datetime(2026, 11, 21, 15, 30).timestamp()


def day(year: int, month: int, number: int) -> float:
    return dt.datetime(year, month, number).timestamp()


@check_rows(
    ("since", "start"),
    [
        ("2025-03-04", day(2025, 3, 4)),
        ("2025-03-04T14:00", dt.datetime(2025, 3, 4, 14).timestamp()),
        ("last spring", day(2026, 3, 1)),
        ("since last spring", day(2026, 3, 1)),
        ("yesterday", day(2026, 11, 20)),
        ("2 weeks ago", day(2026, 11, 7)),
        ("4 March", day(2026, 3, 4)),
        ("3h", NOW - 3 * 3600),
        ("2 days", NOW - 2 * 86_400),
    ],
)
def test_since_begins_with_the_first_moment_of_what_is_named(since: str, start: float) -> None:
    assert parse_period(since, "", NOW).start == pytest.approx(start)


@pytest.mark.parametrize(
    ("until", "end"),
    [
        ("2025-03-04", day(2025, 3, 5)),
        ("last spring", day(2026, 6, 1)),
        ("August 2025", day(2025, 9, 1)),
        ("2 weeks ago", day(2026, 11, 8)),
        ("now", NOW),
    ],
)
def test_until_includes_all_of_what_is_named(until: str, end: float) -> None:
    assert parse_period("", until, NOW).end == pytest.approx(end)


@pytest.mark.parametrize("text", ["blah", "spring and autumn 2024", "garden 2024", "-3h", "2024-13-45", "?"])
def test_what_is_no_date_is_refused_with_examples(text: str) -> None:
    with pytest.raises(UsageError, match="is no date"):
        parse_period(text, "", NOW)


def test_a_period_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(UsageError, match="is over before"):
        parse_period("yesterday", "2020", NOW)


def test_nothing_named_is_everything() -> None:
    assert parse_period("", " ", NOW).is_everything


@given(text=st.text(max_size=40))
def test_any_text_is_a_period_or_a_sentence(text: str) -> None:
    with contextlib.suppress(UsageError):
        period = parse_period(text, "", NOW)
        assert period.start is None or period.start <= NOW + 400 * 86_400


@pytest.mark.parametrize("text", ["3\u017f", "3\u212a", "\u0663\u0663 no"])
def test_a_letter_that_only_looks_like_one_of_ours_is_no_date(text: str) -> None:
    with pytest.raises(UsageError, match="is no date"):
        parse_period(text, "", NOW)


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Asia/Kolkata", "Europe/Berlin"])
def test_bounds_are_days_of_the_place_over_a_change_of_its_clock(zone: str) -> None:
    here = ZoneInfo(zone)
    now = dt.datetime(2026, 11, 2, 20, 30, tzinfo=here).timestamp()
    period = parse_period("2 weeks ago", "yesterday", now, here)
    assert period.start == dt.datetime(2026, 10, 19, tzinfo=here).timestamp()
    assert period.end == dt.datetime(2026, 11, 2, tzinfo=here).timestamp()
