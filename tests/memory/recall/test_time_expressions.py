"""Time expressions, resolved against the time of the turn, in a table."""

import math
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.memory.recall.time_expressions import time_spans

SUNDAY = datetime(2023, 10, 22, 9, 55, tzinfo=UTC).timestamp()

TABLE = [
    ("yesterday", "2023-10-21", "2023-10-22"),
    ("the day before yesterday", "2023-10-20", "2023-10-21"),
    ("what did I say today?", "2023-10-22", "2023-10-23"),
    ("last night", "2023-10-21", "2023-10-22"),
    ("two weeks ago", "2023-10-05", "2023-10-12"),
    ("3 days ago", "2023-10-19", "2023-10-20"),
    ("a couple of months ago", "2023-08-07", "2023-09-07"),
    ("a year ago", "2022-04-23", "2023-04-23"),
    ("last week", "2023-10-09", "2023-10-16"),
    ("last weekend", "2023-10-14", "2023-10-16"),
    ("this week", "2023-10-16", "2023-10-23"),
    ("last month", "2023-09-01", "2023-10-01"),
    ("next month", "2023-11-01", "2023-12-01"),
    ("last year", "2022-01-01", "2023-01-01"),
    ("last Friday", "2023-10-20", "2023-10-21"),
    ("on Sunday", "2023-10-15", "2023-10-16"),
    ("next Tuesday", "2023-10-24", "2023-10-25"),
    ("next Sunday", "2023-10-29", "2023-10-30"),
    ("next week", "2023-10-23", "2023-10-30"),
    ("next spring", "2024-03-01", "2024-06-01"),
    ("next winter", "2023-12-01", "2024-03-01"),
    ("last spring", "2023-03-01", "2023-06-01"),
    ("last winter", "2022-12-01", "2023-03-01"),
    ("in the fall", "2023-09-01", "2023-12-01"),
    ("the winter of 2021", "2021-12-01", "2022-03-01"),
    ("in May 2023", "2023-05-01", "2023-06-01"),
    ("in May?", "2023-05-01", "2023-06-01"),
    ("in November", "2022-11-01", "2022-12-01"),
    ("in Sept", "2023-09-01", "2023-10-01"),
    ("on 8 May, 2023", "2023-05-08", "2023-05-09"),
    ("the 3rd of June", "2023-06-03", "2023-06-04"),
    ("July 15", "2023-07-15", "2023-07-16"),
    ("December 31st, 2021", "2021-12-31", "2022-01-01"),
    ("2022-02-28", "2022-02-28", "2022-03-01"),
    ("in 2019", "2019-01-01", "2020-01-01"),
]


def day(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(("text", "start", "end"), TABLE)
def test_an_expression_is_the_stretch_of_time_that_it_names(text: str, start: str, end: str) -> None:
    (span,) = time_spans(text, SUNDAY, UTC)
    assert (span.start, span.end) == (day(start), day(end))
    assert span.text in text


def test_the_past_two_weeks_end_now() -> None:
    (span,) = time_spans("in the past two weeks", SUNDAY, UTC)
    assert (span.start, span.end) == (SUNDAY - 14 * 86_400, SUNDAY)


@pytest.mark.parametrize("text", ["may I go", "I fall down", "march on", "recently", "soon", "99 ways", ""])
def test_words_that_are_no_time_are_none(text: str) -> None:
    assert time_spans(text, SUNDAY, UTC) == ()


def test_a_day_that_no_month_has_is_no_day() -> None:
    assert [span.text for span in time_spans("31 February 2023", SUNDAY, UTC)] == ["February 2023"]


def test_several_times_stand_in_the_order_of_the_text() -> None:
    spans = time_spans("Between 3 May 2023 and yesterday, or in 2019", SUNDAY, UTC)
    assert [span.text for span in spans] == ["3 May 2023", "yesterday", "2019"]


@given(st.text(max_size=80), st.floats(min_value=0.0, max_value=4e9))
def test_any_text_at_any_time_gives_spans_that_begin_before_they_end(text: str, now: float) -> None:
    for span in time_spans(text, now, UTC):
        assert math.isfinite(span.start)
        assert span.start < span.end


@given(st.sampled_from([text for text, _, _ in TABLE]), st.floats(min_value=1e8, max_value=4e9))
def test_every_form_of_the_table_can_be_resolved_on_every_day(text: str, now: float) -> None:
    assert len(time_spans(text, now, UTC)) == 1


ZONES = ["America/Los_Angeles", "Asia/Kolkata", "Europe/Berlin"]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("hour", [0, 1, 12, 20, 23])
def test_yesterday_is_the_day_before_by_the_calendar_of_the_place(zone: str, hour: int) -> None:
    here = ZoneInfo(zone)
    (span,) = time_spans(
        "What did I tell you yesterday?", datetime(2026, 11, 20, hour, 30, tzinfo=here).timestamp(), here
    )
    assert span.start == datetime(2026, 11, 19, tzinfo=here).timestamp()
    assert span.end == datetime(2026, 11, 20, tzinfo=here).timestamp()
    assert span.end <= datetime(2026, 11, 20, 0, 10, tzinfo=here).timestamp()


@pytest.mark.parametrize(("day", "hours"), [("2026-03-29", 23), ("2026-10-25", 25), ("2026-10-24", 24)])
def test_a_day_on_which_the_clock_is_set_is_whole(day: str, hours: int) -> None:
    here = ZoneInfo("Europe/Berlin")
    noon = datetime.fromisoformat(f"{day}T12:00").replace(tzinfo=here).timestamp()
    (span,) = time_spans("today", noon, here)
    assert span.end - span.start == hours * 3600
    (weeks,) = time_spans("2 weeks ago", noon, here)
    assert [datetime.fromtimestamp(at, here).hour for at in (weeks.start, weeks.end)] == [0, 0]


def test_the_past_two_weeks_end_now_in_the_hour_that_the_clock_shows_twice() -> None:
    here = ZoneInfo("Europe/Berlin")
    now = datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=here).timestamp()
    assert time_spans("in the past two weeks", now, here)[0].end == now


def test_without_a_zone_it_is_that_of_this_machine() -> None:
    (span,) = time_spans("on 8 May 2023", SUNDAY)
    assert (span.start, span.end) == (datetime(2023, 5, 8).timestamp(), datetime(2023, 5, 9).timestamp())
