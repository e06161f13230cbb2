"""Resolves time expressions in English text to time spans: "yesterday", "two weeks ago", "last spring", "in May 2023".
Pure.

Every expression is resolved against the moment at which it was said, in the local time of the place where it was said.
An expression without a year means the latest such time that has begun, because memories are about the past. Vague words
("recently", "soon") are ignored.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

_MONTH_NAMES = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_WEEKDAY_NAMES = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""The first month of each season (northern hemisphere); each lasts three months."""
_NUMBERS = dict(
    zip(
        ["a", "an", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"],
        (1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12),
        strict=True,
    )
) | {"couple of": 2, "a couple of": 2, "few": 3, "a few": 3}
_DAY = timedelta(days=1)

_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_DATE_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?\b"
_YEAR = r"(?P<year>(?:19|20)\d{2})\b"
_COUNT = (
    r"(?P<count>\d{1,3}|(?:a )?couple of|(?:a )?few|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
)
_UNIT = r"(?P<unit>day|week|month|year)s?"
_WEEKDAY = r"(?P<weekday>monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
_SEASON = r"(?P<season>spring|summer|autumn|fall|winter)"


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A span of time that a text names."""

    text: str
    start: float
    """Unix seconds, UTC; the first moment."""
    end: float
    """The first moment after the span."""


def time_spans(text: str, now: float, zone: tzinfo | None = None) -> tuple[TimeSpan, ...]:
    """Return the times named in `text`, said at `now` (unix seconds) in `zone`, in the order of the text; None is the
    zone of this machine."""
    moment = to_local_time(now, zone)
    taken: list[tuple[int, int]] = []
    spans: list[tuple[int, TimeSpan]] = []
    for pattern, resolve in _GRAMMAR:
        for match in pattern.finditer(text):
            place = bisect_left(taken, match.span())
            if _overlaps(taken[max(0, place - 1) : place + 1], match.span()):
                continue
            try:
                if (span := resolve(match, moment)) is None:
                    continue
                start, end = to_unix_seconds(span[0], zone), to_unix_seconds(span[1], zone)
            except (ValueError, OverflowError, OSError):
                continue
            taken.insert(place, match.span())
            spans.append((match.start(), TimeSpan(match.group(), start, end)))
    return tuple(span for _, span in sorted(spans, key=lambda entry: entry[0]))


def to_local_time(at: float, zone: tzinfo | None) -> datetime:
    """Return the local time in `zone` as a naive datetime, so that adding days follows the calendar even when the
    clocks change."""
    return datetime.fromtimestamp(at, zone).replace(tzinfo=None)


def to_unix_seconds(local: datetime, zone: tzinfo | None) -> float:
    """Return the unix seconds of a naive local time in `zone`. Raises ValueError, OverflowError, OSError out of
    range."""
    return (local if zone is None else local.replace(tzinfo=zone)).timestamp()


def _overlaps(taken: Iterable[tuple[int, int]], span: tuple[int, int]) -> bool:
    return any(span[0] < end and start < span[1] for start, end in taken)


_Span = tuple[datetime, datetime]


def _group_of(match: re.Match[str], name: str) -> str:
    return (match.groupdict().get(name) or "").casefold()


def _month_of(match: re.Match[str]) -> int:
    return next(place for place, name in enumerate(_MONTH_NAMES, 1) if name.startswith(_group_of(match, "month")[:3]))


def _resolve_date(match: re.Match[str], now: datetime) -> _Span | None:
    """Resolve a day or a month, with or without a year."""
    word = match.group("month")
    day, year = _group_of(match, "day"), _group_of(match, "year")
    if not day and not year and word.casefold() in ("may", "march", "mar") and not word[0].isupper():
        return None
    month = _month_of(match)
    if year:
        return _day_or_month(int(year), month, int(day or 0))
    span = _day_or_month(now.year, month, int(day or 0))
    return span if span[0] <= now else _day_or_month(now.year - 1, month, int(day or 0))


def _day_or_month(year: int, month: int, day: int) -> _Span:
    """Return the span of a day, or of the whole month if `day` is 0."""
    if day:
        start = datetime(year, month, day)
        return start, start + _DAY
    return datetime(year, month, 1), _add_months(datetime(year, month, 1), 1)


def _resolve_iso_date(match: re.Match[str], _: datetime) -> _Span:
    start = datetime.fromisoformat(match.group())
    return start, start + _DAY


def _resolve_year(match: re.Match[str], _: datetime) -> _Span:
    return datetime(int(match["year"]), 1, 1), datetime(int(match["year"]) + 1, 1, 1)


def _resolve_day_word(match: re.Match[str], now: datetime) -> _Span:
    offsets = {"the day before yesterday": -2, "yesterday": -1, "last night": -1, "tomorrow": 1}
    start = _midnight(now) + offsets.get(" ".join(match.group().casefold().split()), 0) * _DAY
    return start, start + _DAY


def _resolve_ago(match: re.Match[str], now: datetime) -> _Span:
    """Resolve "two weeks ago" to the day, week, month or year centred on that time."""
    unit, count = _group_of(match, "unit"), _parse_count(match)
    middle = _midnight(_subtract_units(now, unit, count))
    if unit == "day":
        return middle, middle + _DAY
    half = {"week": 3, "month": 15, "year": 182}[unit]
    return middle - half * _DAY, middle + (half + 1) * _DAY


def _resolve_past_period(match: re.Match[str], now: datetime) -> _Span:
    return _subtract_units(now, _group_of(match, "unit"), _parse_count(match) if match.group("count") else 1), now


def _resolve_calendar_unit(match: re.Match[str], now: datetime) -> _Span:
    """Resolve last, this or next week, month, year or weekend."""
    step, unit = {"last": -1, "previous": -1, "this": 0, "next": 1}[_group_of(match, "which")], _group_of(match, "unit")
    monday = _midnight(now) - now.weekday() * _DAY
    if unit == "week":
        return monday + 7 * step * _DAY, monday + 7 * (step + 1) * _DAY
    if unit == "weekend":
        return monday + (7 * step + 5) * _DAY, monday + 7 * (step + 1) * _DAY
    if unit == "month":
        first = _add_months(_midnight(now).replace(day=1), step)
        return first, _add_months(first, 1)
    return datetime(now.year + step, 1, 1), datetime(now.year + step + 1, 1, 1)


def _resolve_weekday(match: re.Match[str], now: datetime) -> _Span:
    """Resolve a weekday to the last such day, or with "next" to the coming one."""
    weekday = _WEEKDAY_NAMES.index(_group_of(match, "weekday"))
    if _group_of(match, "which") == "next":
        start = _midnight(now) + ((weekday - now.weekday()) % 7 or 7) * _DAY
    else:
        start = _midnight(now) - ((now.weekday() - weekday) % 7 or 7) * _DAY
    return start, start + _DAY


def _resolve_season(match: re.Match[str], now: datetime) -> _Span | None:
    """Resolve a season; without a year, the latest that has begun; with "last", the latest that is over."""
    month, which, year = _SEASONS[_group_of(match, "season")], _group_of(match, "which"), _group_of(match, "year")
    if not which and not year and _group_of(match, "season") in ("fall", "spring") and not _group_of(match, "lead"):
        return None
    first = datetime(int(year) if year else now.year, month, 1)
    while not year and (first > now or (which == "last" and _add_months(first, 3) > now)):
        first = first.replace(year=first.year - 1)
    if which == "next":
        first = first.replace(year=first.year + 1)
    return first, _add_months(first, 3)


def _parse_count(match: re.Match[str]) -> int:
    word = " ".join(_group_of(match, "count").split())
    return int(word) if word.isdigit() else _NUMBERS[word]


def _subtract_units(now: datetime, unit: str, count: int) -> datetime:
    if unit == "day":
        return now - count * _DAY
    if unit == "week":
        return now - 7 * count * _DAY
    return _add_months(now, -count * (12 if unit == "year" else 1))


def _add_months(moment: datetime, months: int) -> datetime:
    """Add months, keeping the day or using the last day of a shorter month."""
    place = moment.year * 12 + moment.month - 1 + months
    year, month = divmod(place, 12)
    for day in range(moment.day, 27, -1):
        try:
            return moment.replace(year=year, month=month + 1, day=day)
        except ValueError:
            continue
    return moment.replace(year=year, month=month + 1, day=min(moment.day, 28))


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _rule(
    pattern: str, resolve: Callable[[re.Match[str], datetime], _Span | None]
) -> tuple[re.Pattern[str], Callable[[re.Match[str], datetime], _Span | None]]:
    return re.compile(rf"\b(?:{pattern})", re.IGNORECASE), resolve


_GRAMMAR = (
    _rule(r"\d{4}-\d{2}-\d{2}\b", _resolve_iso_date),
    _rule(rf"{_DATE_DAY}(?: of)? {_MONTH}(?:,? {_YEAR})?", _resolve_date),
    _rule(rf"{_MONTH} {_DATE_DAY}(?:,? {_YEAR})?", _resolve_date),
    _rule(rf"{_MONTH},? (?:of )?{_YEAR}", _resolve_date),
    _rule(
        rf"(?:(?P<lead>in|during) (?:the )?)?(?:(?P<which>last|this|next) )?{_SEASON}\b(?: (?:of )?{_YEAR})?",
        _resolve_season,
    ),
    _rule(rf"(?:last |this |next |in |since )?{_MONTH}", _resolve_date),
    _rule(
        r"(?:the day before yesterday|yesterday|last night|today|tonight|tomorrow"
        r"|this (?:morning|afternoon|evening))\b",
        _resolve_day_word,
    ),
    _rule(rf"{_COUNT} {_UNIT} ago\b", _resolve_ago),
    _rule(rf"(?:in|over|during|for|within) the (?:last|past) (?:{_COUNT} )?{_UNIT}\b", _resolve_past_period),
    _rule(r"(?P<which>last|previous|this|next) (?P<unit>week|month|year|weekend)\b", _resolve_calendar_unit),
    _rule(rf"(?:(?P<which>last|this|next) |on ){_WEEKDAY}\b", _resolve_weekday),
    _rule(rf"{_YEAR}", _resolve_year),
)
