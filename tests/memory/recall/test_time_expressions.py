"""What times a text speaks of, resolved against the moment at which it was said: by table."""

import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.memory.recall.time_expressions import TimeSpan, time_spans

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
    (span,) = time_spans(text, SUNDAY)
    assert (span.start, span.end) == (day(start), day(end))
    assert span.text in text


def test_the_past_two_weeks_end_now() -> None:
    (span,) = time_spans("in the past two weeks", SUNDAY)
    assert (span.start, span.end) == (SUNDAY - 14 * 86_400, SUNDAY)


@pytest.mark.parametrize("text", ["may I go", "I fall down", "march on", "recently", "soon", "99 ways", ""])
def test_words_that_are_no_time_are_none(text: str) -> None:
    assert time_spans(text, SUNDAY) == ()


def test_a_day_that_no_month_has_is_no_day() -> None:
    assert [span.text for span in time_spans("31 February 2023", SUNDAY)] == ["February 2023"]


def test_several_times_stand_in_the_order_of_the_text() -> None:
    spans = time_spans("Between 3 May 2023 and yesterday, or in 2019", SUNDAY)
    assert [span.text for span in spans] == ["3 May 2023", "yesterday", "2019"]


def test_distance_is_signed_days_and_none_within() -> None:
    span = TimeSpan("x", 0.0, 86_400.0)
    assert [span.distance_days(at) for at in (-86_400.0, 0.0, 86_400.0, 3 * 86_400.0)] == [-1.0, 0.0, 0.0, 2.0]


@given(st.text(max_size=80), st.floats(min_value=0.0, max_value=4e9))
def test_any_text_at_any_time_gives_spans_that_begin_before_they_end(text: str, now: float) -> None:
    for span in time_spans(text, now):
        assert math.isfinite(span.start)
        assert span.start < span.end


@given(st.sampled_from([text for text, _, _ in TABLE]), st.floats(min_value=1e8, max_value=4e9))
def test_every_form_of_the_table_can_be_resolved_on_every_day(text: str, now: float) -> None:
    assert len(time_spans(text, now)) == 1
