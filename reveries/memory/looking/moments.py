"""Dates as people write them, for `--since` and `--until`: one expression that is the whole text. Pure."""

import re
from datetime import UTC, datetime, timedelta

from reveries.errors import UsageError
from reveries.memory.looking.searching import Period
from reveries.memory.recall.time_expressions import TimeSpan, time_spans

_LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|m|h|hours?|d|days?|w)(?:\s+ago)?", re.IGNORECASE | re.ASCII)
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_CONNECTIVES = re.compile(r"\b(?:since|from|until|till|to|before|after|in|on|the|of|at|around)\b", re.IGNORECASE)


def period_of(since: str, until: str, now: float) -> Period:
    """From the beginning of `since` to the end of `until`; an empty one leaves that side open. Raises UsageError."""
    start = _named(since, now)[0] if since.strip() else None
    end = _named(until, now)[1] if until.strip() else None
    if start is not None and end is not None and end <= start:
        raise UsageError(f"{until!r} is over before {since!r} begins.", advice="Swap them, or leave one out.")
    return Period(start, end)


def _named(text: str, now: float) -> tuple[float, float]:
    """The first moment that `text` names and the first after it; local time."""
    text = text.strip()
    if length := _LENGTH.fullmatch(text):
        moment = now - float(length.group(1)) * _SECONDS[length.group(2)[0].lower()]
        return moment, moment
    if re.fullmatch(r"now", text, re.IGNORECASE):
        return now, now
    if (exact := _exact(text)) is not None:
        return exact, exact
    offset = datetime.fromtimestamp(now).astimezone().utcoffset() or timedelta()
    spans = time_spans(text, now + offset.total_seconds())
    rest = _CONNECTIVES.sub(" ", text.replace(spans[0].text, " ", 1)) if len(spans) == 1 else text
    if len(spans) != 1 or rest.strip(" ,."):
        raise UsageError(
            f"{text!r} is no date.",
            advice='For example: 2025-03-04, "4 March", "last spring", "2 weeks ago", yesterday, 3h.',
        )
    return _local(_centred(spans[0]))


def _exact(text: str) -> float | None:
    """A date with a time of day; None for anything else (a mere day is a stretch)."""
    if not re.match(r"\d{4}-\d{2}-\d{2}[T ]\d", text):
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _centred(span: TimeSpan) -> tuple[float, float]:
    """ "Two weeks ago" is a week around that day when a memory is looked for; as a bound it is the day itself."""
    days = round((span.end - span.start) / 86_400.0)
    if not span.text.casefold().endswith("ago") or days <= 1:
        return span.start, span.end
    middle = span.start + (days - 1) // 2 * 86_400.0
    return middle, middle + 86_400.0


def _local(span: tuple[float, float]) -> tuple[float, float]:
    """What was resolved by the calendar alone, in the zone of this machine. Raises UsageError."""
    try:
        start, end = (datetime.fromtimestamp(at, UTC).replace(tzinfo=None).timestamp() for at in span)
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError("That date is out of the calendar.", advice="Give a year between 1970 and now.") from error
    return start, end
