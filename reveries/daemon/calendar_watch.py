"""The calendar that wakes thinking (R-60, RA-12): read in a thread, read again when a file changes, each event once."""

import asyncio
from collections.abc import Callable
from datetime import datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from reveries.clock import Clock
from reveries.config import CalendarSettings
from reveries.daemon.calendar_files import CalendarOccurrence, CalendarRead, Stamp, next_to_mind, read_apart, stamp_of
from reveries.db.database import Database
from reveries.monologue.thought import Reactivation, ThinkingReason

if TYPE_CHECKING:
    import subprocess

log = structlog.get_logger("calendar")

_LOOK_SECONDS = 300.0
"""How often the files are looked at: whether one changed costs a `stat` each."""
_AHEAD_SECONDS = 2 * 86400.0
_EXPANDED_FOR_SECONDS = 6 * 3600.0
_TOLD_KEPT_SECONDS = 40 * 86400.0
_DAY_SECONDS = 86400.0
_MOST_TIMES = 4
MOST_TOLD_A_DAY = 12
"""Whoever may send invitations does not decide how much is thought."""


class Calendar:
    """Knows what is near. `problems` says which files are broken."""

    def __init__(
        self, settings: Callable[[], CalendarSettings], database: Database, clock: Clock, zone: tzinfo | None = None
    ) -> None:
        """`zone` is that of times without one; None: the machine's."""
        self._settings = settings
        self._database = database
        self._clock = clock
        self._zone = zone
        self._stamp: tuple[str, Stamp] = ("", ())
        self._read_at = float("-inf")
        self._read = CalendarRead((), ())
        self._reading = asyncio.Lock()
        self._told: set[str] | None = None

    @property
    def problems(self) -> tuple[str, ...]:
        """A sentence for each file that could not be read the last time."""
        return self._read.problems

    async def next(self) -> Reactivation:
        """Waits until an event is near that no thought was begun for; for ever without a calendar."""
        while True:
            events = await self._events()
            now = self._clock.now()
            told = await self._told_events(now)
            lead = self._settings().lead_minutes * 60.0
            found = next_to_mind(events, told.__contains__, now, lead)
            if found is not None and found[0] <= now and await self._may_tell(now):
                worded = self._event_text(found[1])
                return Reactivation(ThinkingReason.CALENDAR, worded, is_tainted=True, event_key=found[1].key, at=now)
            is_ahead = found is not None and found[0] > now
            wait = min(_LOOK_SECONDS, found[0] - now) if found is not None and is_ahead else _LOOK_SECONDS
            await self._clock.sleep(max(1.0, wait))

    async def times_ahead(self) -> tuple[str, ...]:
        """When something stands in the calendar within a day: times alone, for every word of an event is foreign."""
        now = self._clock.now()
        ahead = [one for one in await self._events() if now <= one.begins_at < now + _DAY_SECONDS]
        return tuple(f"something at {self._time(one)}" for one in ahead[:_MOST_TIMES])

    async def _events(self) -> tuple[CalendarOccurrence, ...]:
        """As they stand in the files now."""
        path = self._settings().path
        if not path:
            self._stamp, self._read = ("", ()), CalendarRead((), ())
            return ()
        async with self._reading:
            place = _resolve_file(path)
            stamp = path, await asyncio.to_thread(stamp_of, place)
            now = self._clock.now()
            if stamp != self._stamp or not 0.0 <= now - self._read_at < _EXPANDED_FOR_SECONDS:
                before = self._read.problems
                until = now + _AHEAD_SECONDS
                self._read = await self._read_files(place, now - _DAY_SECONDS, until)
                self._stamp, self._read_at = stamp, now
                if new := [problem for problem in self._read.problems if problem not in before]:
                    log.warning("calendar.unreadable", problems=len(new))
                    log.debug("calendar.unreadable", why=new)  # Names of files of yours are in it.
        return self._read.occurrences

    async def _read_files(self, place: Path, since: float, until: float) -> CalendarRead:
        children: list[subprocess.Popen[bytes]] = []
        try:
            return await asyncio.to_thread(read_apart, place, since, until, self._zone, children.append)
        finally:
            for child in children:
                child.kill()  # Nobody waits for it any more; one that has ended hears nothing of it.

    async def _told_events(self, now: float) -> set[str]:
        if self._told is None:
            rows = await self._database.rows("monologue_state.told_events", {"since": now - _TOLD_KEPT_SECONDS})
            self._told = {str(row["event_key"]) for row in rows}
        return self._told

    async def _may_tell(self, now: float) -> bool:
        named = {"since": now - _DAY_SECONDS, "now": now}
        (row,) = await self._database.rows("monologue_state.count_told_events", named)
        return int(row["told"]) < MOST_TOLD_A_DAY

    async def told(self, why: Reactivation) -> None:
        """A thought begins for it: this event wakes no other. (Not sooner: what loses the race must come again.)"""
        now = self._clock.now()
        async with self._database.transaction() as transaction:
            await transaction.run("monologue_state.put_told_event", {"event_key": why.event_key, "told_at": now})
            await transaction.run("monologue_state.forget_told_events", {"before": now - _TOLD_KEPT_SECONDS})
        (await self._told_events(now)).add(why.event_key)

    def _event_text(self, event: CalendarOccurrence) -> str:
        return f"{self._time(event)}: {event.title}"

    def _time(self, event: CalendarOccurrence) -> str:
        begins = datetime.fromtimestamp(event.begins_at, self._zone)
        return f"{begins:%A}, all day" if event.is_all_day else f"{begins:%A %H:%M}"


def _resolve_file(path: str) -> Path:
    return Path(path)
