"""Format numbers and times for people. Pure: the current time and the time zone are arguments."""

import datetime as dt
import re

from reveries.errors import UsageError

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
_LENGTHS = {"s": 1.0, "m": _MINUTE, "min": _MINUTE, "h": _HOUR, "d": _DAY, "w": 7 * _DAY}

SHORT_ID_CHARS = 8
"""Length of the part of an id that is shown: enough to use it in a command."""


def span(seconds: float) -> str:
    """Format a duration in one or two units: "8 s", "5 min", "3 h 20 min", "2 days"."""
    seconds = max(0.0, seconds)
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE:.0f} min"
    if seconds < _DAY:
        hours, minutes = divmod(int(seconds // _MINUTE), 60)
        return f"{hours} h {minutes} min" if minutes and hours < 10 else f"{hours} h"
    days = int(seconds // _DAY)
    return "1 day" if days == 1 else f"{days} days"


def ago(then: float, now: float, zone: dt.tzinfo | None = None) -> str:
    """Format a past time: recent ones relative, older ones as a date; "never" for 0."""
    if then <= 0:
        return "never"
    passed = now - then
    if -_MINUTE < passed < _MINUTE:
        return "just now"
    if 0 <= passed < _DAY:
        return f"{span(passed)} ago"
    days = (_local_datetime(now, zone).date() - _local_datetime(then, zone).date()).days
    if days == 1:
        return f"yesterday {clock_time(then, zone)}"
    if 0 < days < 7:
        return f"{days} days ago"
    return date(then, now, zone)


def clock_time(when: float, zone: dt.tzinfo | None = None) -> str:
    """Format hour and minute: "14:02"."""
    return _local_datetime(when, zone).strftime("%H:%M")


def date(when: float, now: float, zone: dt.tzinfo | None = None) -> str:
    """Format the day: "4 March", with the year if it is not the current one."""
    day = _local_datetime(when, zone)
    text = f"{day.day} {day:%B}"
    return text if day.year == _local_datetime(now, zone).year else f"{text} {day.year}"


def moment(when: float, zone: dt.tzinfo | None = None) -> str:
    """Format date and time: "2025-03-04 14:02"."""
    return _local_datetime(when, zone).strftime("%Y-%m-%d %H:%M")


def count(number: int) -> str:
    """Format with thousands separators: "12,345"."""
    return f"{number:,}"


def short_count(number: int) -> str:
    """Format in at most five characters: "812", "12.3k", "1.2M"."""
    if number < 1000:
        return str(number)
    for limit, unit in ((1_000_000, "k"), (1_000_000_000, "M")):
        if number < limit:
            value = number * 1000 / limit
            return f"{value:.1f}{unit}" if value < 99.95 else f"{value:.0f}{unit}"
    return f"{number / 1_000_000_000:.1f}G"


def plural(number: int, noun: str, nouns: str = "") -> str:
    """Format a count with its noun: "1 turn", "2 turns"."""
    return f"{count(number)} {noun if number == 1 else nouns or noun + 's'}"


def size(number_bytes: int) -> str:
    """Format a size: "812 bytes", "14.2 MB" (powers of 1000)."""
    if number_bytes < 1000:
        return f"{number_bytes} bytes"
    value = float(number_bytes)
    for unit in ("kB", "MB", "GB"):
        value /= 1000
        if value < 999.95 or unit == "GB":
            break
    return f"{value:.1f} {unit}" if value < 100 else f"{value:.0f} {unit}"


def dollars(amount: float) -> str:
    """Format an amount: "$0", "$0.0042", "$1.25"."""
    if amount <= 0:
        return "$0"
    return f"${amount:.4f}" if amount < 0.01 else f"${amount:.2f}"


def since(text: str, now: float) -> float:
    """Parse "2h", "30 min" or "3d" before `now`, or ISO 8601 (naive: local), to unix seconds. Raises UsageError."""
    if length := re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|min|m|h|d|w)\s*", text):
        return now - float(length.group(1)) * _LENGTHS[length.group(2)]
    try:
        return iso_time(text)
    except ValueError as error:
        raise UsageError(
            f"{text!r} is not a valid time.", advice="Say how long ago (30min, 2h, 3d) or when (2025-03-04T14:00)."
        ) from error


def iso_time(text: str) -> float:
    """Parse an ISO 8601 time to unix seconds; without a zone it is local. Raises ValueError."""
    try:
        return dt.datetime.fromisoformat(text.strip()).timestamp()
    except (OverflowError, OSError) as error:
        raise ValueError(str(error)) from error


def _local_datetime(when: float, zone: dt.tzinfo | None) -> dt.datetime:
    """Return the local time; a time out of range becomes the epoch."""
    try:
        return dt.datetime.fromtimestamp(when, zone)
    except (OverflowError, OSError, ValueError):
        return dt.datetime.fromtimestamp(0, zone)
