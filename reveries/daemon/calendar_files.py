"""Reading .ics files: events within a span of time, recurring ones expanded, every one at its moment in unix seconds.

What stands in a calendar was written by anybody who could send an invitation: it is foreign text, bounded here, and
tainted wherever it goes. Everything here blocks: it runs in a thread.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from pathlib import Path
from typing import Any, Final

from reveries.plaintext import one_line

MOST_FILES = 100
MOST_FILE_BYTES = 5_000_000
MOST_OCCURRENCES = 500
MOST_EVENTS = 20_000
TITLE_CHARS = 160
ALL_DAY_HOUR = 9
"""An event of a whole day comes to mind in its morning, not at midnight."""
_MARGIN: Final = timedelta(days=1)
_TOO_OFTEN: Final = frozenset({"SECONDLY", "MINUTELY"})


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One event at one time."""

    key: str
    """The same for the same event at the same time, whenever it is read."""
    begins_at: float
    ends_at: float
    title: str
    is_all_day: bool


@dataclass(frozen=True, slots=True)
class CalendarRead:
    """What was found, in order of time, and a sentence for each file that could not be read."""

    occurrences: tuple[Occurrence, ...]
    problems: tuple[str, ...]


Stamp = tuple[tuple[str, int, int], ...]


def stamp_of(path: Path) -> Stamp:
    """Changes when a file is written, comes or goes."""
    found = []
    for file in _files(path):
        try:
            stat = file.stat()
        except OSError:
            continue
        found.append((file.name, stat.st_mtime_ns, stat.st_size))
    return tuple(found)


def read_calendars(path: Path, since: float, until: float, zone: tzinfo | None) -> CalendarRead:
    """Events of the file, or of the .ics files in the folder, at `path` that touch the span (unix seconds).

    Times without a zone are `zone`'s; None: the machine's. A file that is broken is left out, and told of.
    """
    found: list[Occurrence] = []
    problems: list[str] = []
    files = _files(path)
    if not files:
        problems.append(f"There is no calendar at {path}: no .ics file, and no folder with one.")
    for file in files:
        try:
            found += _read_file(file, since, until, zone)
        except Exception as error:  # noqa: BLE001  # A named boundary: what may trip a parser is without end.
            told = one_line(str(error), 120) or type(error).__name__
            problems.append(f"The calendar {file.name} cannot be read and is left out: {told}")
    unique = {occurrence.key: occurrence for occurrence in found}
    inside = [one for one in unique.values() if one.ends_at >= since and one.begins_at < until]
    inside.sort(key=lambda one: (one.begins_at, one.key))
    return CalendarRead(tuple(inside[:MOST_OCCURRENCES]), tuple(problems))


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(itertools.islice(path.glob("*.ics"), MOST_FILES))
    return [path] if path.is_file() else []


def _read_file(file: Path, since: float, until: float, zone: tzinfo | None) -> Iterator[Occurrence]:
    import icalendar  # Late: half a second that no mind without a calendar pays.
    import recurring_ical_events

    if (size := file.stat().st_size) > MOST_FILE_BYTES:
        raise ValueError(f"it has {size:,} bytes, more than {MOST_FILE_BYTES:,}")
    calendars: list[Any] = icalendar.Calendar.from_ical(file.read_bytes(), multiple=True)
    first = datetime.fromtimestamp(since, UTC) - _MARGIN
    last = datetime.fromtimestamp(until, UTC) + _MARGIN
    if not calendars or any(calendar.name != "VCALENDAR" for calendar in calendars):
        raise ValueError("it holds no calendar")
    for calendar in calendars:
        _keep_what_can_be_expanded(calendar)
        expanded = recurring_ical_events.of(calendar, skip_bad_series=True).between(first, last)
        yield from _occurrences(expanded[: 4 * MOST_OCCURRENCES], zone)


def _keep_what_can_be_expanded(calendar: Any) -> None:
    """Leave out what would be expanded without end, and what is not an event or a zone."""
    kept: list[Any] = []
    for component in calendar.subcomponents:
        if component.name == "VTIMEZONE" or (
            component.name == "VEVENT" and len(kept) < MOST_EVENTS and not _is_too_often(component)
        ):
            kept.append(component)
    calendar.subcomponents = kept


def _is_too_often(event: Any) -> bool:
    rules = event.get("RRULE", [])
    each = rules if isinstance(rules, list) else [rules]
    return any(str(name).upper() in _TOO_OFTEN for rule in each for name in rule.get("FREQ", []))


def _occurrences(events: Iterable[Any], zone: tzinfo | None) -> Iterator[Occurrence]:
    for event in events:
        if str(event.get("STATUS", "")).upper() == "CANCELLED":
            continue
        begins = event.start
        ends = event.end
        is_all_day = not isinstance(begins, datetime)
        begins_at, ends_at = _unix(begins, zone), _unix(ends, zone)
        title = one_line(str(event.get("SUMMARY", "")), TITLE_CHARS) or "an event without a name"
        name = one_line(str(event.get("UID", title)), 200)
        yield Occurrence(f"{name}@{begins_at:.0f}", begins_at, max(begins_at, ends_at), title, is_all_day)


def _unix(moment: date | datetime, zone: tzinfo | None) -> float:
    if not isinstance(moment, datetime):
        moment = datetime.combine(moment, time(0))
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
    return moment.timestamp()


def comes_to_mind_at(event: Occurrence, lead_seconds: float) -> float:
    """When an event is near enough to be thought of (unix seconds)."""
    return event.begins_at + ALL_DAY_HOUR * 3600.0 if event.is_all_day else event.begins_at - lead_seconds


def next_to_mind(
    events: Iterable[Occurrence], was_told: Callable[[str], bool], now: float, lead_seconds: float
) -> tuple[float, Occurrence] | None:
    """The event that is to be thought of next, and when; one that has ended, or was told of, is none. Pure."""
    waiting = [
        (max(now, comes_to_mind_at(event, lead_seconds)), event)
        for event in events
        if not was_told(event.key) and max(event.ends_at, event.begins_at + 60.0) > now
    ]
    return min(waiting, key=lambda one: (one[0], one[1].begins_at, one[1].key), default=None)
