"""Holds of thinking: quiet hours in local time, also when the clocks change."""

from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.monologue.permission import QuietSpan, find_hold, find_quiet_end, parse_quiet_span

ZONES = [ZoneInfo(name) for name in ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "UTC")]
TIMES = st.times().map(lambda one: one.replace(second=0, microsecond=0))
SPANS = st.builds(QuietSpan, TIMES, TIMES).filter(lambda span: span.begins != span.ends)
BERLIN = ZONES[0]


def at(text: str, zone: ZoneInfo = BERLIN, fold: int = 0) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=zone, fold=fold).timestamp()


def within(span: QuietSpan, clock: time) -> bool:
    if span.begins < span.ends:
        return span.begins <= clock < span.ends
    return clock >= span.begins or clock < span.ends


@given(span=SPANS, now=st.floats(1_700_000_000, 1_900_000_000), zone=st.sampled_from(ZONES))
def test_it_is_quiet_when_the_clock_on_the_wall_shows_a_quiet_time(span: QuietSpan, now: float, zone: ZoneInfo) -> None:
    local = datetime.fromtimestamp(now, zone)
    # When the clocks change an hour is skipped or repeated; the next test covers those days.
    offsets = {(local + timedelta(hours=hours)).utcoffset() for hours in range(-50, 51, 5)}
    if len(offsets) == 1:
        assert (find_quiet_end([span], now, zone) is not None) == within(span, local.timetz().replace(tzinfo=None))


@given(span=SPANS, now=st.floats(1_700_000_000, 1_900_000_000), zone=st.sampled_from(ZONES))
def test_quiet_ends_within_a_day_and_an_hour_when_the_clock_shows_its_end(
    span: QuietSpan, now: float, zone: ZoneInfo
) -> None:
    end = find_quiet_end([span], now, zone)
    if end is None:
        return
    assert now < end <= now + 25.5 * 3600
    assert find_quiet_end([span], end, zone) is None
    shown = datetime.fromtimestamp(end, zone)
    skipped = datetime.combine(shown.date(), span.ends, zone).timestamp() != end and shown.fold == 0
    assert shown.time().replace(fold=0) == span.ends or skipped


@pytest.mark.requirement("R-35")
def test_the_night_of_summer_time_is_an_hour_shorter_and_that_of_winter_time_an_hour_longer() -> None:
    night = parse_quiet_span("22:00-07:00")
    assert night is not None
    spring, autumn = at("2026-03-28T22:00"), at("2026-10-24T22:00")
    ends = [find_quiet_end([night], begins, BERLIN) for begins in (spring, autumn)]
    assert [end and (end - begins) / 3600 for end, begins in zip(ends, (spring, autumn), strict=True)] == [8.0, 10.0]


def test_of_an_hour_that_comes_twice_both_are_quiet() -> None:
    span = parse_quiet_span("02:00-02:30")
    assert span is not None
    for fold in (0, 1):
        assert find_quiet_end([span], at("2026-10-25T02:10", fold=fold), BERLIN) == at("2026-10-25T02:30", fold=1)


@pytest.mark.requirement("R-35")
def test_where_the_end_is_skipped_the_clock_never_shows_a_quiet_time_and_it_thinks() -> None:
    night = parse_quiet_span("22:30-02:30")
    assert night is not None
    begins = at("2026-03-28T22:30")
    for minutes in range(300):
        now = begins + 60.0 * minutes
        if within(night, datetime.fromtimestamp(now, BERLIN).time()):
            assert find_quiet_end([night], now, BERLIN) is not None


def test_of_several_quiet_times_the_last_end_counts() -> None:
    spans = [span for text in ("22:00-23:00", "21:00-06:00") if (span := parse_quiet_span(text))]
    assert find_quiet_end(spans, at("2026-07-01T22:30"), BERLIN) == at("2026-07-02T06:00")


@pytest.mark.parametrize("text", ["22:00", "22:00-22:00", "24:00-07:00", "7:00-8:00", "22:00-07:60", ""])
def test_what_is_no_span_of_time_is_none(text: str) -> None:
    assert parse_quiet_span(text) is None


def test_the_strongest_reason_is_told_and_with_none_it_may_think() -> None:
    night = [span for span in [parse_quiet_span("22:00-07:00")] if span]

    def told(now: str, *, is_paused: bool = False, is_on_battery: bool = False) -> str:
        held = find_hold(is_paused=is_paused, spans=night, is_on_battery=is_on_battery, now=at(now), zone=BERLIN)
        return held.why if held else ""

    assert told("2026-07-01T12:00") == ""
    assert "battery" in told("2026-07-01T12:00", is_on_battery=True)
    assert told("2026-07-01T23:00", is_on_battery=True) == "Quiet hours, until 07:00."
    assert "You paused it" in told("2026-07-01T23:00", is_paused=True, is_on_battery=True)
