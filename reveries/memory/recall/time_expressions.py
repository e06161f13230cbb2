"""Resolves the times that a text names to spans: "yesterday", "a fortnight ago", "Saturday the 14th", "last spring",
"in the first week of March", "10/11", and the like in six languages (`time_words`). Pure.

Every expression is resolved against the moment at which it was said, in the local time of the place where it was said.
An expression without a year means the latest such time that has begun, because memories are about the past. Expressions
that stand together are one time ("Tuesday of last week"). Vague words ("recently", "soon") are ignored.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta, tzinfo

from reveries.memory.recall.calendar_days import DAY
from reveries.memory.recall.time_grammar import (
    NamedTime,
    Span,
    add_months,
    at_midnight,
    find_times,
    midnight,
)
from reveries.memory.recall.time_tokens import TaggedText, tag_text

_LOOK_BACK = 8
"""So many tags before a time are looked at: a text may be long."""
_YEARS_BACK = 3
"""How many years a date with a weekday is looked for; without one that fits, the weekday is taken as a slip."""
_NIGHT_ENDS = timedelta(hours=5)
_SILENT = "itqhsueEFZPLTXBAGbfao,.-:?vUKRNnQ"
"""Tags that name no subject."""


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A span of time that a text names."""

    text: str
    start: float
    """Unix seconds, UTC; the first moment."""
    end: float
    """The first moment after the span."""
    middle: float | None = None
    """The beginning of the day itself where the span lies around it: "two weeks ago"."""


@dataclass(frozen=True, slots=True)
class TimeReading:
    """The times that a text names, in its order."""

    spans: tuple[TimeSpan, ...]
    has_subject: bool
    """Whether it names anything else: "What did I do yesterday?" does not."""


def time_spans(text: str, now: float, zone: tzinfo | None = None, *, is_day_first: bool = True) -> tuple[TimeSpan, ...]:
    """Return the times named in `text`, said at `now` (unix seconds) in `zone`, in the order of the text; None is the
    zone of this machine. `is_day_first`: whether "10/11" is the tenth of November."""
    return read_times(text, now, zone, is_day_first=is_day_first).spans


def read_times(text: str, now: float, zone: tzinfo | None = None, *, is_day_first: bool = True) -> TimeReading:
    """As `time_spans`, and whether the text has a subject besides."""
    tagged, moment = tag_text(text), to_local_time(now, zone)
    times = _combine(find_times(tagged, moment, is_day_first=is_day_first), tagged.tags)
    spans: list[TimeSpan] = []
    covered: set[int] = set()
    place = 0
    while place < len(times):
        resolved = _resolve_with_modifiers(times, place, tagged, moment)
        place += 1
        if resolved is None:
            continue
        while place < len(times) and times[place].first < resolved.end:
            place += 1
        named = text[tagged.tokens[resolved.first].start : tagged.tokens[resolved.end - 1].end]
        if (span := _to_time_span(named, resolved, zone)) is not None:
            covered.update(range(resolved.first, resolved.end))
            spans.append(span)
    return TimeReading(tuple(spans), _has_subject(tagged, covered))


def _to_time_span(named: str, resolved: "_Resolved", zone: tzinfo | None) -> TimeSpan | None:
    """Return the span in unix seconds; None for one out of the clock's range."""
    try:
        start, end = (to_unix_seconds(moment, zone) for moment in resolved.span)
        middle = to_unix_seconds(resolved.middle, zone) if resolved.middle is not None else None
    except (ValueError, OverflowError, OSError):
        return None
    return TimeSpan(named, start, end, middle) if start < end else None


def to_local_time(at: float, zone: tzinfo | None) -> datetime:
    """Return the local time in `zone` as a naive datetime, so that adding days follows the calendar even when the
    clocks change."""
    return datetime.fromtimestamp(at, zone).replace(tzinfo=None)


def to_unix_seconds(local: datetime, zone: tzinfo | None) -> float:
    """Return the unix seconds of a naive local time in `zone`. Raises ValueError, OverflowError, OSError out of
    range."""
    return (local if zone is None else local.replace(tzinfo=zone)).timestamp()


def _has_subject(tagged: TaggedText, covered: set[int]) -> bool:
    return any(
        place not in covered and token.tag not in _SILENT and token.value not in tagged.language.plain
        for place, token in enumerate(tagged.tokens)
    )


# --- times that belong together --------------------------------------------------------------------------------------


def _combine(times: Sequence[NamedTime], tags: str) -> list[NamedTime]:
    """Join expressions that stand together, and a weekday or a day of the month with the period that it is in."""
    combined: list[NamedTime] = []
    for time in times:
        before = combined[-1] if combined else None
        if before is not None:
            is_next = re.fullmatch(r"[itqP,]*", tags[before.end : time.first]) is not None
            is_inside = before.is_condition != time.is_condition and "h" not in tags[before.end : time.first]
            if (is_next or is_inside) and (joined := _join(before, time)) is not None:
                combined[-1] = joined
                continue
        combined.append(time)
    return combined


def _join(named: NamedTime, other: NamedTime) -> NamedTime | None:
    """Return the time that fulfils both; None if both say the same part of it differently."""
    for name in ("yearly", "weekday", "day", "year"):
        if getattr(named, name) is not None and getattr(other, name) is not None:
            return None
    fixed = _narrow(named, other) or _narrow(other, named) or named.fixed or other.fixed
    if named.fixed is not None and other.fixed is not None:
        fixed = (max(named.fixed[0], other.fixed[0]), min(named.fixed[1], other.fixed[1]))
        if fixed[0] >= fixed[1]:
            return None
    return NamedTime(
        min(named.first, other.first),
        max(named.end, other.end),
        fixed,
        named.yearly or other.yearly,
        named.year or other.year,
        named.which or other.which,
        named.weekday if named.weekday is not None else other.weekday,
        named.day or other.day,
        None,
        named.with_night or other.with_night,
    )


def _narrow(around: NamedTime, weekday: NamedTime) -> Span | None:
    """Return the seven days in which "a week ago" and "a month ago" have a weekday that stands with them; None if that
    is no such pair. "Tuesday three weeks ago" is three weeks before the last Tuesday."""
    if around.middle is None or around.fixed is None or weekday.weekday is None or weekday.day is not None:
        return None
    is_of_weeks = around.fixed[1] - around.fixed[0] <= 7 * DAY
    first = around.middle - (6 if is_of_weeks else 3) * DAY
    return first, first + 7 * DAY


# --- the span of a time ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Resolved:
    """A span with its tokens, the words that modify it included."""

    first: int
    end: int
    span: Span
    middle: datetime | None = None


def _resolve_with_modifiers(
    times: Sequence[NamedTime], place: int, tagged: TaggedText, now: datetime
) -> _Resolved | None:
    """Resolve a time together with the words before it: "since", "two days before", "the week of", "between"."""
    time, tags = times[place], tagged.tags
    span = _resolve(time, now)
    if span is None:
        return None
    skipped = max(0, time.first - _LOOK_BACK)
    head = tags[skipped : time.first]
    plain = _Resolved(time.first, time.end, span, time.middle)
    if (match := re.search(r"(?P<count>[dca]?)t?(?P<unit>[UK])[bf]q?t?$", head)) is not None:
        return replace(
            plain, first=skipped + match.start(), span=_count_from(span, match, tagged, skipped), middle=None
        )
    if (match := re.search(r"t?(?P<unit>[UK])qt?$", head)) is not None:
        week = _week_around(span, tagged.tokens[skipped + match.start("unit")].value)
        return replace(plain, first=skipped + match.start(), span=week, middle=midnight(span[0])) if week else plain
    if (match := re.search(r"[sbf][it]*$", head)) is not None:
        around = {
            "s": (span[0], max(span[1], now)),
            "b": (span[0] - 7 * DAY, span[0]),
            "f": (span[1], span[1] + 7 * DAY),
        }
        return replace(plain, first=skipped + match.start(), span=around[match.group()[0]], middle=None)
    if (match := re.search(r"e[it]*$", head)) is not None and place + 1 < len(times):
        until = times[place + 1]
        end = _resolve(until, now) if re.fullmatch(r",?[hu-][it]*", tags[time.end : until.first]) else None
        if end is not None and span[0] < end[1]:
            return _Resolved(skipped + match.start(), until.end, (span[0], end[1]))
    return plain


def _count_from(span: Span, match: re.Match[str], tagged: TaggedText, skipped: int) -> Span:
    """Resolve "two days before" and the like; `skipped`: how many tags come before the text of `match`."""
    count = int(tagged.tokens[skipped + match.start("count")].value) if match["count"] else 1
    unit = tagged.tokens[skipped + match.start("unit")].value
    is_before = tagged.tags[skipped + match.end("unit")] == "b"
    if not unit:
        return _shift_weekends(span, count, is_before=is_before)
    return _shift(span, unit, count, is_before=is_before)


def _shift_weekends(span: Span, count: int, *, is_before: bool) -> Span:
    """Return the weekend that many before or after a span: one that is over before it, or begins after it."""
    if is_before:
        sunday = midnight(span[0]) - (span[0].weekday() + 1 + 7 * (count - 1)) * DAY
        return sunday - DAY, sunday + DAY
    last = midnight(span[1])
    saturday = last + ((5 - last.weekday()) % 7 + 7 * (count - 1)) * DAY
    return saturday, saturday + 2 * DAY


def _shift(span: Span, unit: str, count: int, *, is_before: bool) -> Span:
    """Return the day (week, month) that many before or after a span."""
    kind, _, many = unit.partition(" ")
    count *= int(many or 1)
    if kind == "m":
        first = add_months(span[0], -count if is_before else count)
        return first, add_months(first, 1)
    if kind == "w" and count == 1:
        return (span[0] - 7 * DAY, span[0]) if is_before else (span[1], span[1] + 7 * DAY)
    days = count * {"w": 7, "y": 365}.get(kind, 1)
    first = midnight(span[0]) - days * DAY if is_before else midnight(span[1]) + (days - 1) * DAY
    return first, first + DAY


def _week_around(span: Span, unit: str) -> Span | None:
    """Return the week, or the weekend, in which a day lies."""
    monday = midnight(span[0]) - span[0].weekday() * DAY
    if not unit:
        return monday + 5 * DAY, monday + 7 * DAY
    return (monday, monday + 7 * DAY) if unit == "w 1" and span[1] - span[0] <= 3 * DAY else None


def _resolve(time: NamedTime, now: datetime) -> Span | None:
    """Return the latest span that fulfils all conditions of a time and has begun (or, for the next, is to come)."""
    bases = _list_bases(time, now)
    if time.weekday is None and time.day is None:
        span = bases[0] if bases else None
    else:
        span = _find_day(time, bases, now)
        if span is None and time.weekday is not None and (time.day is not None or time.yearly is not None):
            return _resolve(replace(time, weekday=None), now)
    if span is not None and time.with_night:
        span = (span[0], span[1] + _NIGHT_ENDS)
    return span


def _list_bases(time: NamedTime, now: datetime) -> list[Span]:
    """Return the spans in which a day is looked for, the best first."""
    if time.yearly is None:
        if time.fixed is not None:
            return [time.fixed]
        return [(midnight(now) - _YEARS_BACK * 366 * DAY, midnight(now) + DAY)]
    years = [time.year] if time.year else range(now.year + 1, now.year - 9, -1)
    spans: list[Span] = []
    for year in years:
        try:
            first, end = map(at_midnight, time.yearly(year))
        except (ValueError, OverflowError):
            continue
        spans.append((first, end))
    if time.fixed is not None:
        start, stop = time.fixed
        inside = [(max(first, start), min(end, stop)) for first, end in spans]
        return [span for span in inside if span[0] < span[1]]
    if time.year:
        return spans
    if time.which == "X":
        return [span for span in reversed(spans) if span[0] > now]
    if time.which == "L":
        return [span for span in spans if span[1] <= now]
    return [span for span in spans if span[0] <= now]


def _find_day(time: NamedTime, bases: Sequence[Span], now: datetime) -> Span | None:
    """Return the latest day in the best of `bases` that has the weekday and the number of `time` and is not to come; if
    all are to come, the first of them."""
    is_open = time.fixed is None and time.yearly is None
    # "On Friday", said on a Friday, is a week ago.
    latest = now.date() - DAY if is_open and time.day is None else now.date()
    for start, end in bases[:_YEARS_BACK]:
        coming: date | None = None
        day = (end - timedelta(microseconds=1)).date()
        while day >= start.date():
            if _fits(time, day):
                if day <= latest:
                    return at_midnight(day), at_midnight(day) + DAY
                coming = day
            day -= DAY
        if coming is not None and not is_open:
            return at_midnight(coming), at_midnight(coming) + DAY
    return None


def _fits(time: NamedTime, day: date) -> bool:
    return (time.weekday is None or day.weekday() == time.weekday) and (time.day is None or day.day == time.day)
