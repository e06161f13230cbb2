"""Reads .ics files: the events within a span of time, with recurring ones expanded, in unix seconds.

Anyone who can send an invitation can write into a calendar: it is untrusted text, cut to a length here and
tainted wherever it is used. Some files take a parser minutes, by accident or on purpose, so `read_in_subprocess` reads
them in a process with a time limit. Everything here blocks, so it runs in a thread.
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

from reveries.api_keys import remove_secrets
from reveries.daemon.senses.calendar_zones import set_missing_zones
from reveries.daemon.senses.invitations import announces_events, find_own_addresses, takes_place
from reveries.own_process import protect_process
from reveries.safe_text import one_line

MOST_FILES = 100
MOST_FILE_BYTES = 5_000_000
FILE_SECONDS = 30.0
"""Time limit for one file: one of 4 MB with 10,000 events took 15 s on a busy machine."""
ALL_SECONDS = 60.0
_RING_AGAIN_SECONDS = 0.5
MOST_OCCURRENCES = 500
MOST_EVENTS = 20_000
TITLE_CHARS = 160
ALL_DAY_HOUR = 9
"""An all-day event is a reason to think at this hour, not at midnight."""
_MARGIN: Final = timedelta(days=1)
_FIRST_YEAR: Final = 1600
"""Earlier dates are invalid; some programs put birthdays without a year into 1604."""
_LAST_YEAR: Final = 2600
_LONGEST_DAYS: Final = 36600
_TOO_OFTEN: Final = frozenset({"SECONDLY", "MINUTELY"})


@dataclass(frozen=True, slots=True)
class CalendarOccurrence:
    """One event at one time."""

    key: str
    """Identifies the event at this time, and stays the same whenever it is read."""
    begins_at: float
    ends_at: float
    title: str
    is_all_day: bool


@dataclass(frozen=True, slots=True)
class CalendarRead:
    """The occurrences in order of time, and a sentence for each file that could not be read."""

    occurrences: tuple[CalendarOccurrence, ...]
    problems: tuple[str, ...]


class _UnreadableCalendarError(Exception):
    """A file cannot be read; the message is ours and quotes nothing."""


Stamp = tuple[tuple[str, int, int, int], ...]


class _CalendarRequest(msgspec.Struct, frozen=True):
    """The request to the subprocess; an empty zone is that of the machine."""

    path: str
    since: float
    until: float
    zone: str
    file_seconds: float


class _CalendarAnswer(msgspec.Struct, frozen=True):
    occurrences: tuple[CalendarOccurrence, ...]
    problems: tuple[str, ...]


def file_stamps(path: Path) -> Stamp:
    """Return a value that changes when a file is written, added or removed."""
    stamps = []
    for file in _calendar_files(path)[0]:
        try:
            stat = file.stat()
        except OSError:
            continue
        stamps.append((file.name, stat.st_ino, stat.st_mtime_ns, stat.st_size))
    return tuple(stamps)


def read_in_subprocess(
    path: Path,
    since: float,
    until: float,
    zone: tzinfo | None,
    begun: Callable[["subprocess.Popen[bytes]"], None] = lambda child: None,
    *,
    file_seconds: float = FILE_SECONDS,
) -> CalendarRead:
    """Run `read_calendars` in a subprocess, which is passed to `begun` and ends within about `ALL_SECONDS`."""
    asked = _CalendarRequest(str(path), since, until, str(zone) if isinstance(zone, ZoneInfo) else "", file_seconds)
    words = [sys.executable, "-P", "-m", "reveries.daemon.senses.calendar_files"]
    ours = {**remove_secrets(os.environ), "PYTHONPATH": str(Path(__file__).parents[2])}
    pipe, none = subprocess.PIPE, subprocess.DEVNULL
    try:
        with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=none, env=ours) as child:
            begun(child)
            try:
                answer, _ = child.communicate(msgspec.json.encode(asked), timeout=ALL_SECONDS + 10.0)
            finally:
                child.kill()
        decoded = msgspec.json.decode(answer, type=_CalendarAnswer)
    except (OSError, subprocess.SubprocessError, msgspec.MsgspecError) as error:
        return CalendarRead((), (f"The calendar at {path} cannot be read: {type(error).__name__}.",))
    return CalendarRead(decoded.occurrences, decoded.problems)


def read_calendars(
    path: Path, since: float, until: float, zone: tzinfo | None, file_seconds: float = FILE_SECONDS
) -> CalendarRead:
    """Read the events within the span (unix seconds) from the file, or from the .ics files in the folder, at `path`.

    Times without a zone are in `zone`; None is that of the machine. A broken file is skipped and reported.
    """
    occurrences: list[CalendarOccurrence] = []
    problems: list[str] = []
    ends = clocks.monotonic() + ALL_SECONDS
    files, count = _calendar_files(path)
    if count > MOST_FILES:
        problems.append(f"Of the {count:,} calendars in {path}, only the first {MOST_FILES} are read.")
    if not files:
        problems.append(f"There is no calendar at {path}: no .ics file, and no folder with one.")
    for file in files:
        try:
            with _time_limit(min(file_seconds, ends - clocks.monotonic())):
                in_file, has_unknown_zone = _read_file(file, since, until, zone)
            occurrences += in_file
            if has_unknown_zone:
                problems.append(
                    f"The calendar {one_line(file.name, 120)} has times in a zone that is unknown here: they are read "
                    "as times of this machine."
                )
        except Exception as error:  # noqa: BLE001  # A named boundary: a parser may raise anything.
            problems.append(
                f"The calendar {one_line(file.name, 120)} cannot be read and is skipped: {_reason_text(error)}."
            )
    unique = {occurrence.key: occurrence for occurrence in occurrences}
    inside = [
        occurrence for occurrence in unique.values() if occurrence.ends_at >= since and occurrence.begins_at < until
    ]
    inside.sort(key=lambda occurrence: (occurrence.begins_at, occurrence.key))
    return CalendarRead(tuple(inside[:MOST_OCCURRENCES]), tuple(problems))


def _reason_text(error: Exception) -> str:
    """Describe the error in our words or the system's. A parser's message quotes untrusted text."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, _UnreadableCalendarError | TimeoutError):
        return str(error)
    return f"it is not a valid calendar ({type(error).__name__})"


def _calendar_files(path: Path) -> tuple[list[Path], int]:
    """Return the first files by name, and how many there are. Pipes and devices are skipped: reading them never
    ends."""
    try:
        path = path.expanduser()
        if not path.is_dir():
            return ([path], 1) if path.is_file() else ([], 0)
        files = [file for file in path.iterdir() if file.suffix.lower() == ".ics" and file.is_file()]
        return heapq.nsmallest(MOST_FILES, files), len(files)
    except (OSError, RuntimeError):  # No permission, or a user without a home.
        return [], 0


@contextlib.contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in the block after `seconds`, and again until the block ends: one that is raised in a
    destructor, or that a parser takes for a broken event, is lost. Only in the subprocess: threads get no signals."""
    if __name__ != "__main__":
        yield
        return

    has_ended = False

    def ring(number: int, frame: FrameType | None) -> None:
        if not has_ended:
            raise TimeoutError("reading it takes too long: something in it recurs too often")

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(0.001, seconds), _RING_AGAIN_SECONDS)
    try:
        yield
    finally:
        has_ended = True
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def _read_file(file: Path, since: float, until: float, zone: tzinfo | None) -> tuple[list[CalendarOccurrence], bool]:
    """Return the occurrences, and whether a zone of the file is unknown."""
    import icalendar  # Imported late: it takes half a second, which a mind without a calendar need not spend.
    import recurring_ical_events

    if (size := file.stat().st_size) > MOST_FILE_BYTES:
        raise _UnreadableCalendarError(f"it has {size:,} bytes, more than {MOST_FILE_BYTES:,}")
    calendars: list[Any] = icalendar.Calendar.from_ical(file.read_bytes(), multiple=True)
    first = datetime.fromtimestamp(since, UTC) - _MARGIN
    last = datetime.fromtimestamp(until, UTC) + _MARGIN
    if not calendars or any(calendar.name != "VCALENDAR" for calendar in calendars):
        raise _UnreadableCalendarError("it contains no calendar")
    occurrences, has_unknown_zone = list[CalendarOccurrence](), False
    for calendar in filter(announces_events, calendars):
        own = find_own_addresses(calendar, file.name)
        _drop_unexpandable(calendar)
        has_unknown_zone |= set_missing_zones(calendar)
        expanded = recurring_ical_events.of(calendar, skip_bad_series=True).between(first, last)
        taking_place = (event for event in expanded[: 4 * MOST_OCCURRENCES] if takes_place(event, own))
        occurrences += _occurrences(taking_place, zone)
    return occurrences, has_unknown_zone


def _drop_unexpandable(calendar: Any) -> None:
    """Drop events that would be expanded without end, and everything that is not an event or a zone."""
    kept: list[Any] = []
    for component in calendar.subcomponents:
        if component.name == "VTIMEZONE" or (
            component.name == "VEVENT"
            and len(kept) < MOST_EVENTS
            and not _recurs_too_often(component)
            and not _is_out_of_range(component)
        ):
            kept.append(component)
    calendar.subcomponents = kept


def _recurs_too_often(event: Any) -> bool:
    rules = event.get("RRULE", [])
    rule_list = rules if isinstance(rules, list) else [rules]
    return any(str(name).upper() in _TOO_OFTEN for rule in rule_list for name in rule.get("FREQ", []))


def _is_out_of_range(event: Any) -> bool:
    """Whether a date of the event would overflow in arithmetic or another zone, and make the whole file fail."""
    dates = [getattr(event.get(name), "dt", None) for name in ("DTSTART", "DTEND", "DURATION")]
    return any(
        abs(moment.days) > _LONGEST_DAYS
        if isinstance(moment, timedelta)
        else not _FIRST_YEAR <= moment.year <= _LAST_YEAR
        for moment in dates
        if isinstance(moment, date | timedelta)
    )


def _occurrences(events: Iterable[Any], zone: tzinfo | None) -> Iterator[CalendarOccurrence]:
    for event in events:
        begins = event.start
        ends = event.end
        is_all_day = not isinstance(begins, datetime)
        try:
            begins_at, ends_at = _to_unix(begins, zone), _to_unix(ends, zone)
        except (OverflowError, ValueError, OSError):  # A time beyond the range of dates.
            continue
        title = one_line(str(event.get("SUMMARY", "")), TITLE_CHARS) or "an event without a name"
        name = one_line(str(event.get("UID", title)), 200)
        yield CalendarOccurrence(f"{name}@{begins_at:.0f}", begins_at, max(begins_at, ends_at), title, is_all_day)


def _to_unix(moment: date | datetime, zone: tzinfo | None) -> float:
    if not isinstance(moment, datetime):
        moment = datetime.combine(moment, time(0))
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
    return moment.timestamp()


def reminder_time(event: CalendarOccurrence, lead_seconds: float) -> float:
    """Return when the event becomes a reason to think (unix seconds)."""
    return event.begins_at + ALL_DAY_HOUR * 3600.0 if event.is_all_day else event.begins_at - lead_seconds


def next_reminder(
    events: Iterable[CalendarOccurrence], was_used: Callable[[str], bool], now: float, lead_seconds: float
) -> tuple[float, CalendarOccurrence] | None:
    """Return the next event to think about, and when, without events that have ended or were used. Pure."""
    waiting = [
        (max(now, reminder_time(event, lead_seconds)), event)
        for event in events
        if not was_used(event.key) and max(event.ends_at, event.begins_at + 60.0) > now
    ]
    return min(waiting, key=lambda reminder: (reminder[0], reminder[1].begins_at, reminder[1].key), default=None)


def main() -> None:
    """Run the subprocess: the request on stdin, the answer on stdout."""
    import recurring_ical_events  # noqa: F401  # Before the first file: on a busy machine it would use up its time.

    os.nice(10)
    protect_process()
    asked = msgspec.json.decode(sys.stdin.buffer.read(), type=_CalendarRequest)
    zone = ZoneInfo(asked.zone) if asked.zone else None
    read = read_calendars(Path(asked.path), asked.since, asked.until, zone, asked.file_seconds)
    sys.stdout.buffer.write(msgspec.json.encode(_CalendarAnswer(read.occurrences, read.problems)))


if __name__ == "__main__":
    main()
