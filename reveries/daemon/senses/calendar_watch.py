"""Calendar events as reasons to think (R-60, RA-12): read in a thread, reloaded when a file changes, each used once."""

import asyncio
from collections.abc import Callable
from datetime import datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from reveries.clock import Clock
from reveries.config import CalendarSettings
from reveries.daemon.senses.calendar_files import (
    CalendarOccurrence,
    CalendarRead,
    Stamp,
    file_stamps,
    next_reminder,
    read_in_subprocess,
)
from reveries.db.database import Database
from reveries.monologue.thought import Reactivation, ThinkingReason

if TYPE_CHECKING:
    import subprocess

log = structlog.get_logger("calendar")

_POLL_SECONDS = 300.0
"""How often the files are checked for changes; each check costs a `stat` per file."""
_AHEAD_SECONDS = 2 * 86400.0
_EXPANDED_FOR_SECONDS = 6 * 3600.0
_USED_KEPT_SECONDS = 40 * 86400.0
_DAY_SECONDS = 86400.0
_MOST_TIMES = 4
MAX_EVENTS_PER_DAY = 12
"""A limit, because anyone who can send invitations could otherwise cause thoughts."""


class Calendar:
    """Finds the events that are near. `problems` names broken files."""

    def __init__(
        self, settings: Callable[[], CalendarSettings], database: Database, clock: Clock, zone: tzinfo | None = None
    ) -> None:
        """`zone` applies to times without one; None is that of the machine."""
        self._settings = settings
        self._database = database
        self._clock = clock
        self._zone = zone
        self._stamp: tuple[str, Stamp] = ("", ())
        self._read_at = float("-inf")
        self._read = CalendarRead((), ())
        self._reading = asyncio.Lock()
        self._used_keys: set[str] | None = None

    @property
    def problems(self) -> tuple[str, ...]:
        """A sentence for each file that could not be read the last time."""
        return self._read.problems

    async def next(self) -> Reactivation:
        """Wait for an event that is near and was not thought about yet; without a calendar, wait for ever."""
        while True:
            events = await self._events()
            now = self._clock.now()
            used_keys = await self._load_used_events(now)
            lead = self._settings().lead_minutes * 60.0
            upcoming = next_reminder(events, used_keys.__contains__, now, lead)
            if upcoming is not None and upcoming[0] <= now and await self._is_below_daily_limit(now):
                event = upcoming[1]
                text = self._event_text(event)
                return Reactivation(ThinkingReason.CALENDAR, text, is_tainted=True, event_key=event.key, at=now)
            is_ahead = upcoming is not None and upcoming[0] > now
            wait = min(_POLL_SECONDS, upcoming[0] - now) if upcoming is not None and is_ahead else _POLL_SECONDS
            await self._clock.sleep(max(1.0, wait))

    async def times_ahead(self) -> tuple[str, ...]:
        """Return the times of events within a day, without their texts, which are untrusted."""
        now = self._clock.now()
        ahead = [event for event in await self._events() if now <= event.begins_at < now + _DAY_SECONDS]
        return tuple(f"something at {self._format_time(event)}" for event in ahead[:_MOST_TIMES])

    async def _events(self) -> tuple[CalendarOccurrence, ...]:
        """Return the current events of the files, reloaded if needed."""
        path = self._settings().path
        if not path:
            self._stamp, self._read = ("", ()), CalendarRead((), ())
            return ()
        async with self._reading:
            place = _resolve_file(path)
            stamp = path, await asyncio.to_thread(file_stamps, place)
            now = self._clock.now()
            if stamp != self._stamp or not 0.0 <= now - self._read_at < _EXPANDED_FOR_SECONDS:
                before = self._read.problems
                until = now + _AHEAD_SECONDS
                self._read = await self._read_files(place, now - _DAY_SECONDS, until)
                self._stamp, self._read_at = stamp, now
                if new := [problem for problem in self._read.problems if problem not in before]:
                    log.warning("calendar.unreadable", problems=len(new))
                    log.debug("calendar.unreadable", why=new)  # It contains the owner's file names.
        return self._read.occurrences

    async def _read_files(self, place: Path, since: float, until: float) -> CalendarRead:
        children: list[subprocess.Popen[bytes]] = []
        try:
            return await asyncio.to_thread(read_in_subprocess, place, since, until, self._zone, children.append)
        finally:
            for child in children:
                child.kill()  # Needed after a cancellation; without effect on one that has ended.

    async def _load_used_events(self, now: float) -> set[str]:
        if self._used_keys is None:
            rows = await self._database.rows("monologue_state.told_events", {"since": now - _USED_KEPT_SECONDS})
            self._used_keys = {str(row["event_key"]) for row in rows}
        return self._used_keys

    async def _is_below_daily_limit(self, now: float) -> bool:
        named = {"since": now - _DAY_SECONDS, "now": now}
        (row,) = await self._database.rows("monologue_state.count_told_events", named)
        return int(row["told"]) < MAX_EVENTS_PER_DAY

    async def mark_used(self, why: Reactivation) -> None:
        """Record that a thought began for the event. (Not earlier: if another reason wins the race, it comes again.)"""
        now = self._clock.now()
        async with self._database.transaction() as transaction:
            await transaction.run("monologue_state.put_told_event", {"event_key": why.event_key, "told_at": now})
            await transaction.run("monologue_state.forget_told_events", {"before": now - _USED_KEPT_SECONDS})
        (await self._load_used_events(now)).add(why.event_key)

    def _event_text(self, event: CalendarOccurrence) -> str:
        return f"{self._format_time(event)}: {event.title}"

    def _format_time(self, event: CalendarOccurrence) -> str:
        begins = datetime.fromtimestamp(event.begins_at, self._zone)
        return f"{begins:%A}, all day" if event.is_all_day else f"{begins:%A %H:%M}"


def _resolve_file(path: str) -> Path:
    return Path(path)
