"""Reading .ics files: events within a span of time, recurring ones expanded, every one at its moment in unix seconds.

What stands in a calendar was written by anybody who could send an invitation: it is foreign text, bounded here, and
tainted wherever it goes. Some of it takes a parser minutes, by accident or on purpose: `read_apart` reads in a process
of its own, within seconds. Everything here blocks: it runs in a thread.
"""

import contextlib
import heapq
import os
import signal
import subprocess
import sys
import time as clocks
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from pathlib import Path
from types import FrameType
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec

from reveries.api_keys import without_secrets
from reveries.own_process import keep_to_itself
from reveries.safe_text import one_line

MOST_FILES = 100
MOST_FILE_BYTES = 5_000_000
FILE_SECONDS = 30.0
"""So long one file may take: one of 4 MB with 10,000 events took 15 s, beside other work."""
ALL_SECONDS = 60.0
MOST_OCCURRENCES = 500
MOST_EVENTS = 20_000
TITLE_CHARS = 160
ALL_DAY_HOUR = 9
"""An event of a whole day comes to mind in its morning, not at midnight."""
_MARGIN: Final = timedelta(days=1)
_FIRST_YEAR: Final = 1600
"""Before it nobody has an appointment; in 1604 some programs put birthdays of whom they do not know the age."""
_LAST_YEAR: Final = 2600
_LONGEST_DAYS: Final = 36600
_TOO_OFTEN: Final = frozenset({"SECONDLY", "MINUTELY"})


@dataclass(frozen=True, slots=True)
class CalendarOccurrence:
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

    occurrences: tuple[CalendarOccurrence, ...]
    problems: tuple[str, ...]


class _UnreadableCalendarError(Exception):
    """What a file is that is not read, in our own words."""


Stamp = tuple[tuple[str, int, int, int], ...]


class _CalendarRequest(msgspec.Struct, frozen=True):
    """What the process is asked for; a zone without a name is the machine's."""

    path: str
    since: float
    until: float
    zone: str
    file_seconds: float


class _Told(msgspec.Struct, frozen=True):
    occurrences: tuple[CalendarOccurrence, ...]
    problems: tuple[str, ...]


def stamp_of(path: Path) -> Stamp:
    """Changes when a file is written, comes or goes."""
    found = []
    for file in _calendar_files(path)[0]:
        try:
            stat = file.stat()
        except OSError:
            continue
        found.append((file.name, stat.st_ino, stat.st_mtime_ns, stat.st_size))
    return tuple(found)


def read_apart(
    path: Path,
    since: float,
    until: float,
    zone: tzinfo | None,
    begun: Callable[["subprocess.Popen[bytes]"], None] = lambda child: None,
    *,
    file_seconds: float = FILE_SECONDS,
) -> CalendarRead:
    """`read_calendars` in a process of its own, of which `begun` hears, and which ends within `ALL_SECONDS` or so."""
    asked = _CalendarRequest(str(path), since, until, str(zone) if isinstance(zone, ZoneInfo) else "", file_seconds)
    words = [sys.executable, "-P", "-m", "reveries.daemon.calendar_files"]
    ours = {**without_secrets(os.environ), "PYTHONPATH": str(Path(__file__).parents[2])}
    pipe, none = subprocess.PIPE, subprocess.DEVNULL
    try:
        with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=none, env=ours) as child:
            begun(child)
            try:
                answer, _ = child.communicate(msgspec.json.encode(asked), timeout=ALL_SECONDS + 10.0)
            finally:
                child.kill()
        told = msgspec.json.decode(answer, type=_Told)
    except (OSError, subprocess.SubprocessError, msgspec.MsgspecError) as error:
        return CalendarRead((), (f"The calendar at {path} cannot be read: {type(error).__name__}.",))
    return CalendarRead(told.occurrences, told.problems)


def read_calendars(
    path: Path, since: float, until: float, zone: tzinfo | None, file_seconds: float = FILE_SECONDS
) -> CalendarRead:
    """Events of the file, or of the .ics files in the folder, at `path` that touch the span (unix seconds).

    Times without a zone are `zone`'s; None: the machine's. A file that is broken is left out, and told of.
    """
    found: list[CalendarOccurrence] = []
    problems: list[str] = []
    ends = clocks.monotonic() + ALL_SECONDS
    files, count = _calendar_files(path)
    if count > MOST_FILES:
        problems.append(f"Of the {count:,} calendars in {path} the first {MOST_FILES} are read.")
    if not files:
        problems.append(f"There is no calendar at {path}: no .ics file, and no folder with one.")
    for file in files:
        try:
            with _within(min(file_seconds, ends - clocks.monotonic())):
                found += _read_file(file, since, until, zone)
        except Exception as error:  # noqa: BLE001  # A named boundary: what may trip a parser is without end.
            problems.append(
                f"The calendar {one_line(file.name, 120)} cannot be read and is left out: {_reason_text(error)}."
            )
    unique = {occurrence.key: occurrence for occurrence in found}
    inside = [one for one in unique.values() if one.ends_at >= since and one.begins_at < until]
    inside.sort(key=lambda one: (one.begins_at, one.key))
    return CalendarRead(tuple(inside[:MOST_OCCURRENCES]), tuple(problems))


def _reason_text(error: Exception) -> str:
    """In words of ours, or the system's. A parser quotes what it stumbled over: that is foreign text."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, _UnreadableCalendarError | TimeoutError):
        return str(error)
    return f"it is not written as calendars are ({type(error).__name__})"


def _calendar_files(path: Path) -> tuple[list[Path], int]:
    """The first of them by name, and how many there are. A pipe or a device, read, would never come to its end."""
    try:
        path = path.expanduser()
        if not path.is_dir():
            return ([path], 1) if path.is_file() else ([], 0)
        found = [one for one in path.iterdir() if one.suffix.lower() == ".ics" and one.is_file()]
        return heapq.nsmallest(MOST_FILES, found), len(found)
    except (OSError, RuntimeError):  # Not allowed to look, or the home of somebody who has none.
        return [], 0


@contextlib.contextmanager
def _within(seconds: float) -> Iterator[None]:
    """Raises TimeoutError in what takes longer. In a process of its own alone: threads get no signals."""
    if __name__ != "__main__":
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise TimeoutError("reading it takes too long: something in it recurs too often")

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(0.001, seconds))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def _read_file(file: Path, since: float, until: float, zone: tzinfo | None) -> Iterator[CalendarOccurrence]:
    import icalendar  # Late: half a second that no mind without a calendar pays.
    import recurring_ical_events

    if (size := file.stat().st_size) > MOST_FILE_BYTES:
        raise _UnreadableCalendarError(f"it has {size:,} bytes, more than {MOST_FILE_BYTES:,}")
    calendars: list[Any] = icalendar.Calendar.from_ical(file.read_bytes(), multiple=True)
    first = datetime.fromtimestamp(since, UTC) - _MARGIN
    last = datetime.fromtimestamp(until, UTC) + _MARGIN
    if not calendars or any(calendar.name != "VCALENDAR" for calendar in calendars):
        raise _UnreadableCalendarError("it holds no calendar")
    for calendar in calendars:
        _keep_what_can_be_expanded(calendar)
        expanded = recurring_ical_events.of(calendar, skip_bad_series=True).between(first, last)
        yield from _occurrences(expanded[: 4 * MOST_OCCURRENCES], zone)


def _keep_what_can_be_expanded(calendar: Any) -> None:
    """Leave out what would be expanded without end, and what is not an event or a zone."""
    kept: list[Any] = []
    for component in calendar.subcomponents:
        if component.name == "VTIMEZONE" or (
            component.name == "VEVENT"
            and len(kept) < MOST_EVENTS
            and not _is_too_often(component)
            and not _is_beyond_all_time(component)
        ):
            kept.append(component)
    calendar.subcomponents = kept


def _is_too_often(event: Any) -> bool:
    rules = event.get("RRULE", [])
    each = rules if isinstance(rules, list) else [rules]
    return any(str(name).upper() in _TOO_OFTEN for rule in each for name in rule.get("FREQ", []))


def _is_beyond_all_time(event: Any) -> bool:
    """One such date, added to or put in another zone, overflows, and takes the whole file with it."""
    dates = [getattr(event.get(name), "dt", None) for name in ("DTSTART", "DTEND", "DURATION")]
    return any(
        abs(one.days) > _LONGEST_DAYS if isinstance(one, timedelta) else not _FIRST_YEAR <= one.year <= _LAST_YEAR
        for one in dates
        if isinstance(one, date | timedelta)
    )


def _occurrences(events: Iterable[Any], zone: tzinfo | None) -> Iterator[CalendarOccurrence]:
    for event in events:
        if str(event.get("STATUS", "")).upper() == "CANCELLED":
            continue
        begins = event.start
        ends = event.end
        is_all_day = not isinstance(begins, datetime)
        try:
            begins_at, ends_at = _unix(begins, zone), _unix(ends, zone)
        except (OverflowError, ValueError, OSError):  # A moment at the edge of the calendar: in no zone is it one.
            continue
        title = one_line(str(event.get("SUMMARY", "")), TITLE_CHARS) or "an event without a name"
        name = one_line(str(event.get("UID", title)), 200)
        yield CalendarOccurrence(f"{name}@{begins_at:.0f}", begins_at, max(begins_at, ends_at), title, is_all_day)


def _unix(moment: date | datetime, zone: tzinfo | None) -> float:
    if not isinstance(moment, datetime):
        moment = datetime.combine(moment, time(0))
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
    return moment.timestamp()


def comes_to_mind_at(event: CalendarOccurrence, lead_seconds: float) -> float:
    """When an event is near enough to be thought of (unix seconds)."""
    return event.begins_at + ALL_DAY_HOUR * 3600.0 if event.is_all_day else event.begins_at - lead_seconds


def next_to_mind(
    events: Iterable[CalendarOccurrence], was_told: Callable[[str], bool], now: float, lead_seconds: float
) -> tuple[float, CalendarOccurrence] | None:
    """The event that is to be thought of next, and when; one that has ended, or was told of, is none. Pure."""
    waiting = [
        (max(now, comes_to_mind_at(event, lead_seconds)), event)
        for event in events
        if not was_told(event.key) and max(event.ends_at, event.begins_at + 60.0) > now
    ]
    return min(waiting, key=lambda one: (one[0], one[1].begins_at, one[1].key), default=None)


def main() -> None:
    """In the process of its own: the question on stdin, the answer on stdout."""
    os.nice(10)
    keep_to_itself()
    asked = msgspec.json.decode(sys.stdin.buffer.read(), type=_CalendarRequest)
    zone = ZoneInfo(asked.zone) if asked.zone else None
    read = read_calendars(Path(asked.path), asked.since, asked.until, zone, asked.file_seconds)
    sys.stdout.buffer.write(msgspec.json.encode(_Told(read.occurrences, read.problems)))


if __name__ == "__main__":
    main()
