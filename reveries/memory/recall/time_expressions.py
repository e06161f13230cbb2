"""Time expressions of a text as spans of time: "yesterday", "two weeks ago", "last spring", "in May 2023". English.
Pure.

Every expression becomes a stretch of time, resolved against the moment at which it was said, by the calendar and the
clock of the place where it was said. What has no year is taken
as the latest such time that has begun: memory looks back. Nothing is guessed from words alone ("recently", "soon").
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
"""The month in which a season begins (northern half of the world); each lasts three."""
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
    """A stretch of time that a text names."""

    text: str
    start: float
    """Unix seconds, UTC; the first moment."""
    end: float
    """The first moment after it."""

    def distance_days(self, moment: float) -> float:
        """How far `moment` lies from it: 0 within, negative before, positive after; days."""
        if moment < self.start:
            return (moment - self.start) / 86_400.0
        return max(0.0, moment - self.end) / 86_400.0


def time_spans(text: str, now: float, zone: tzinfo | None = None) -> tuple[TimeSpan, ...]:
    """What times `text`, said at `now` (unix seconds) in `zone`, speaks of, in the order in which they stand there;
    None is the zone of this machine."""
    moment = clock_at(now, zone)
    taken: list[tuple[int, int]] = []
    found: list[tuple[int, TimeSpan]] = []
    for pattern, resolve in _GRAMMAR:
        for match in pattern.finditer(text):
            place = bisect_left(taken, match.span())
            if _overlaps(taken[max(0, place - 1) : place + 1], match.span()):
                continue
            try:
                if (span := resolve(match, moment)) is None:
                    continue
                start, end = moment_of(span[0], zone), moment_of(span[1], zone)
            except (ValueError, OverflowError, OSError):
                continue
            taken.insert(place, match.span())
            found.append((match.start(), TimeSpan(match.group(), start, end)))
    return tuple(span for _, span in sorted(found, key=lambda entry: entry[0]))


def clock_at(at: float, zone: tzinfo | None) -> datetime:
    """What calendar and clock show in `zone` at a moment; without a zone of its own, so that days are added as the
    calendar has them, however long each is."""
    return datetime.fromtimestamp(at, zone).replace(tzinfo=None)


def moment_of(shown: datetime, zone: tzinfo | None) -> float:
    """When calendar and clock show that in `zone`. Raises ValueError, OverflowError, OSError outside the calendar."""
    return (shown if zone is None else shown.replace(tzinfo=zone)).timestamp()


def _overlaps(taken: Iterable[tuple[int, int]], span: tuple[int, int]) -> bool:
    return any(span[0] < end and start < span[1] for start, end in taken)


_Span = tuple[datetime, datetime]


def _group_of(match: re.Match[str], name: str) -> str:
    return (match.groupdict().get(name) or "").casefold()


def _month_of(match: re.Match[str]) -> int:
    return next(place for place, name in enumerate(_MONTH_NAMES, 1) if name.startswith(_group_of(match, "month")[:3]))


def _calendar(match: re.Match[str], now: datetime) -> _Span | None:
    """A day or a month, with or without its year."""
    word = match.group("month")
    day, year = _group_of(match, "day"), _group_of(match, "year")
    if not day and not year and word.casefold() in ("may", "march", "mar") and not word[0].isupper():
        return None
    month = _month_of(match)
    if year:
        return _stretch(int(year), month, int(day or 0))
    span = _stretch(now.year, month, int(day or 0))
    return span if span[0] <= now else _stretch(now.year - 1, month, int(day or 0))


def _stretch(year: int, month: int, day: int) -> _Span:
    if day:
        start = datetime(year, month, day)
        return start, start + _DAY
    return datetime(year, month, 1), _months_on(datetime(year, month, 1), 1)


def _iso(match: re.Match[str], _: datetime) -> _Span:
    start = datetime.fromisoformat(match.group())
    return start, start + _DAY


def _year(match: re.Match[str], _: datetime) -> _Span:
    return datetime(int(match["year"]), 1, 1), datetime(int(match["year"]) + 1, 1, 1)


def _day_word(match: re.Match[str], now: datetime) -> _Span:
    offsets = {"the day before yesterday": -2, "yesterday": -1, "last night": -1, "tomorrow": 1}
    start = _midnight(now) + offsets.get(" ".join(match.group().casefold().split()), 0) * _DAY
    return start, start + _DAY


def _ago(match: re.Match[str], now: datetime) -> _Span:
    """The day, week, month or year around so long ago."""
    unit, count = _group_of(match, "unit"), _number_in(match)
    middle = _midnight(_back(now, unit, count))
    if unit == "day":
        return middle, middle + _DAY
    half = {"week": 3, "month": 15, "year": 182}[unit]
    return middle - half * _DAY, middle + (half + 1) * _DAY


def _past(match: re.Match[str], now: datetime) -> _Span:
    return _back(now, _group_of(match, "unit"), _number_in(match) if match.group("count") else 1), now


def _calendar_unit(match: re.Match[str], now: datetime) -> _Span:
    """Last, this or next week, month, year, weekend."""
    step, unit = {"last": -1, "previous": -1, "this": 0, "next": 1}[_group_of(match, "which")], _group_of(match, "unit")
    monday = _midnight(now) - now.weekday() * _DAY
    if unit == "week":
        return monday + 7 * step * _DAY, monday + 7 * (step + 1) * _DAY
    if unit == "weekend":
        return monday + (7 * step + 5) * _DAY, monday + 7 * (step + 1) * _DAY
    if unit == "month":
        first = _months_on(_midnight(now).replace(day=1), step)
        return first, _months_on(first, 1)
    return datetime(now.year + step, 1, 1), datetime(now.year + step + 1, 1, 1)


def _weekday(match: re.Match[str], now: datetime) -> _Span:
    """The nearest such day back; with "next", ahead."""
    back = (now.weekday() - _WEEKDAY_NAMES.index(_group_of(match, "weekday"))) % 7 or 7
    start = _midnight(now) - back * _DAY
    if _group_of(match, "which") == "next":
        start += 7 * _DAY
    return start, start + _DAY


def _season(match: re.Match[str], now: datetime) -> _Span | None:
    """The season of a year; without one, the latest that has begun; "last" is the latest that is over."""
    month, which, year = _SEASONS[_group_of(match, "season")], _group_of(match, "which"), _group_of(match, "year")
    if not which and not year and _group_of(match, "season") in ("fall", "spring") and not _group_of(match, "lead"):
        return None
    first = datetime(int(year) if year else now.year, month, 1)
    while not year and (first > now or (which == "last" and _months_on(first, 3) > now)):
        first = first.replace(year=first.year - 1)
    if which == "next":
        first = first.replace(year=first.year + 1)
    return first, _months_on(first, 3)


def _number_in(match: re.Match[str]) -> int:
    word = " ".join(_group_of(match, "count").split())
    return int(word) if word.isdigit() else _NUMBERS[word]


def _back(now: datetime, unit: str, count: int) -> datetime:
    if unit == "day":
        return now - count * _DAY
    if unit == "week":
        return now - 7 * count * _DAY
    return _months_on(now, -count * (12 if unit == "year" else 1))


def _months_on(moment: datetime, months: int) -> datetime:
    """The same day so many months later; the last of a shorter month."""
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
    _rule(r"\d{4}-\d{2}-\d{2}\b", _iso),
    _rule(rf"{_DATE_DAY}(?: of)? {_MONTH}(?:,? {_YEAR})?", _calendar),
    _rule(rf"{_MONTH} {_DATE_DAY}(?:,? {_YEAR})?", _calendar),
    _rule(rf"{_MONTH},? (?:of )?{_YEAR}", _calendar),
    _rule(
        rf"(?:(?P<lead>in|during) (?:the )?)?(?:(?P<which>last|this|next) )?{_SEASON}\b(?: (?:of )?{_YEAR})?", _season
    ),
    _rule(rf"(?:last |this |next |in |since )?{_MONTH}", _calendar),
    _rule(
        r"(?:the day before yesterday|yesterday|last night|today|tonight|tomorrow"
        r"|this (?:morning|afternoon|evening))\b",
        _day_word,
    ),
    _rule(rf"{_COUNT} {_UNIT} ago\b", _ago),
    _rule(rf"(?:in|over|during|for|within) the (?:last|past) (?:{_COUNT} )?{_UNIT}\b", _past),
    _rule(r"(?P<which>last|previous|this|next) (?P<unit>week|month|year|weekend)\b", _calendar_unit),
    _rule(rf"(?:(?P<which>last|this|next) |on ){_WEEKDAY}\b", _weekday),
    _rule(rf"{_YEAR}", _year),
)
