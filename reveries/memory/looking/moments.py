"""Dates as people write them, for `--since` and `--until`: one expression that is the whole text. Pure."""

import re
from datetime import datetime, timedelta, tzinfo

from reveries.errors import UsageError
from reveries.memory.looking.searching import SearchPeriod
from reveries.memory.recall.time_expressions import TimeSpan, clock_at, moment_of, time_spans

_LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|m|h|hours?|d|days?|w)(?:\s+ago)?", re.IGNORECASE | re.ASCII)
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_CONNECTIVES = re.compile(r"\b(?:since|from|until|till|to|before|after|in|on|the|of|at|around)\b", re.IGNORECASE)


def period_of(since: str, until: str, now: float, zone: tzinfo | None = None) -> SearchPeriod:
    """From the beginning of `since` to the end of `until`; an empty one leaves that side open. `zone` None is that of
    this machine. Raises UsageError."""
    start = _read_moment(since, now, zone)[0] if since.strip() else None
    end = _read_moment(until, now, zone)[1] if until.strip() else None
    if start is not None and end is not None and end <= start:
        raise UsageError(f"{until!r} is over before {since!r} begins.", advice="Swap them, or leave one out.")
    return SearchPeriod(start, end)


def _read_moment(text: str, now: float, zone: tzinfo | None) -> tuple[float, float]:
    """The first moment that `text` names and the first after it."""
    text = text.strip()
    if length := _LENGTH.fullmatch(text):
        moment = now - float(length.group(1)) * _SECONDS[length.group(2)[0].lower()]
        return moment, moment
    if re.fullmatch(r"now", text, re.IGNORECASE):
        return now, now
    if (exact := _exact(text, zone)) is not None:
        return exact, exact
    spans = time_spans(text, now, zone)
    rest = _CONNECTIVES.sub(" ", text.replace(spans[0].text, " ", 1)) if len(spans) == 1 else text
    if len(spans) != 1 or rest.strip(" ,."):
        raise UsageError(
            f"{text!r} is no date.",
            advice='For example: 2025-03-04, "4 March", "last spring", "2 weeks ago", yesterday, 3h.',
        )
    return _centre_span(spans[0], zone)


def _exact(text: str, zone: tzinfo | None) -> float | None:
    """A date with a time of day; None for anything else (a mere day is a stretch)."""
    if not re.match(r"\d{4}-\d{2}-\d{2}[T ]\d", text):
        return None
    try:
        shown = datetime.fromisoformat(text)
        return shown.timestamp() if shown.tzinfo is not None else moment_of(shown, zone)
    except (ValueError, OverflowError, OSError):
        return None


def _centre_span(span: TimeSpan, zone: tzinfo | None) -> tuple[float, float]:
    """ "Two weeks ago" is a week around that day when a memory is looked for; as a bound it is the day itself."""
    days = round((span.end - span.start) / 86_400.0)
    if not span.text.casefold().endswith("ago") or days <= 1:
        return span.start, span.end
    middle = clock_at(span.start, zone) + timedelta(days=(days - 1) // 2)
    return moment_of(middle, zone), moment_of(middle + timedelta(days=1), zone)
