"""The order of the numbers in dates is decided from all of them."""

import datetime as dt

from hypothesis import given
from hypothesis import strategies as st

from reveries.client.past.parsed import DayOrder
from reveries.client.past.written_times import decide_order, read_date

LATEST = dt.date(2026, 11, 29)
_FORMS = {
    DayOrder.DAY_FIRST: ("{d}", "{m}", "{y}"),
    DayOrder.MONTH_FIRST: ("{m}", "{d}", "{y}"),
}
_DAYS = st.lists(st.dates(dt.date(2012, 1, 1), LATEST), min_size=1, max_size=40).map(sorted)


def write_date(day: dt.date, order: DayOrder, *, is_short: bool) -> tuple[str, str, str]:
    year = f"{day.year % 100:02}" if is_short else str(day.year)
    first, second, third = (part.format(d=day.day, m=day.month, y=year) for part in _FORMS[order])
    return first, second, third


@given(_DAYS, st.sampled_from(list(_FORMS)), st.booleans())
def test_an_order_that_counts_as_certain_is_the_right_one(days: list[dt.date], order: DayOrder, is_short: bool) -> None:
    written = [write_date(day, order, is_short=is_short) for day in days]
    decided = decide_order(written, "/", LATEST)
    assert decided is not None
    if decided.is_certain:
        assert [read_date(numbers, decided.order) for numbers in written] == days


@given(st.dates(dt.date(2012, 1, 1), dt.date(2026, 10, 1)), st.sampled_from(list(_FORMS)), st.booleans())
def test_a_month_of_talk_decides(first: dt.date, order: DayOrder, is_short: bool) -> None:
    days = [first + dt.timedelta(days=place) for place in range(32)]
    decided = decide_order([write_date(day, order, is_short=is_short) for day in days], "/", LATEST)
    assert decided is not None
    assert (decided.order, decided.is_certain) == (order, True)


@given(_DAYS)
def test_a_year_of_four_digits_in_front_is_the_year(days: list[dt.date]) -> None:
    decided = decide_order([(str(day.year), str(day.month), str(day.day)) for day in days], "/", LATEST)
    assert decided is not None
    assert (decided.order, decided.is_certain) == (DayOrder.YEAR_FIRST, True)
