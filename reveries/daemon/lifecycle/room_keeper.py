"""Monitors the disk of the memory. When space is low (A5) it warns, pauses background work, and checks when a full disk
can store again. It also detects a disk failure that no other part met (A4)."""

import asyncio
import math
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import structlog

from reveries.clock import Clock
from reveries.config import StorageSettings
from reveries.db.database import Database
from reveries.db.reserve import create_reserve
from reveries.errors import StorageError, StorageLostError
from reveries.notifier import Notifier

POLL_SECONDS = 1.5
"""Between two checks: a full disk is reported within 2 s, even while nothing is written."""
_LEAST_BYTES = 2**20
"""With less free space the disk counts as full before the first commit fails."""
_AGAIN_BYTES = 4 * 2**20
"""With less free space a full disk is not tried again, because it would be full after a few words."""
_MEGABYTE = 10**6
_STEPS_MEGABYTES = (2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
_ENOUGH_AGAIN = 1.2
"""Background work resumes at this multiple of the limit, so that it does not start and stop all the time."""

log = structlog.get_logger("room")


class RoomKeeper:
    """Checks the free space. `changed` is notified when `problems` change."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        settings: Callable[[], StorageSettings],
        read_free_bytes: Callable[[Path], float] | None = None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._settings = settings
        self._read_free_bytes = read_free_bytes or free_bytes
        self._free_bytes = math.inf
        self._is_resting = False
        self.changed: Notifier[[]] = Notifier()
        database.room.changed.subscribe(self._room_changed)

    async def run(self) -> None:
        """Check repeatedly until cancelled. Raises StorageLostError when the disk has failed."""
        while True:
            await self.check()
            await self._clock.sleep(POLL_SECONDS)

    async def check(self) -> None:
        """Check once. Raises StorageLostError."""
        self._database.require_storage()
        before, room = self.problems(), self._database.room
        self._free_bytes = await asyncio.to_thread(self._read_free_bytes, self._database.path.parent)
        if self._free_bytes >= _AGAIN_BYTES and not room.is_full:
            await asyncio.to_thread(create_reserve, self._database.path)
        limit = self._settings().rest_below_free_megabytes * _MEGABYTE
        self._is_resting = self._free_bytes < (limit * _ENOUGH_AGAIN if self._is_resting else limit)
        if self._free_bytes < _LEAST_BYTES:
            room.close()
        elif room.is_full and self._free_bytes >= _AGAIN_BYTES:
            await self._try_room(self._database.probe_disk_space())
        elif room.refusal and not room.is_full:
            await self._try_room(self._database.retry_write())
        elif self.problems() != before:
            self.changed.notify()

    async def _try_room(self, trial: Awaitable[object]) -> None:
        try:
            await trial
        except StorageLostError:
            raise
        except StorageError as error:
            # Tried again at the next check; this task must go on, because only it allows writes again.
            self._database.room.record_refusal(f"What is new is not stored. {error}")

    def problems(self) -> list[str]:
        """Return what the owner should know; empty if there is enough space."""
        settings = self._settings()
        room = self._database.room
        if room.refusal and not (room.is_full and self._free_bytes < _AGAIN_BYTES):
            return [room.refusal]
        if room.is_full:
            return [
                "The disk is full: nothing is stored, thinking and sleep pause. Free some space; it goes on by itself."
            ]
        if self._is_resting:
            free = self._describe_free_space(settings.rest_below_free_megabytes * _ENOUGH_AGAIN)
            return [f"The disk is nearly full ({free} free): it only talks. Free some disk space."]
        if self._free_bytes < settings.warn_below_free_megabytes * _MEGABYTE:
            return [
                f"On the disk of the memory {self._describe_free_space(settings.warn_below_free_megabytes)} are free."
            ]
        return []

    def _describe_free_space(self, limit_megabytes: float) -> str:
        """Return the free space in steps, so that it is not told anew with each megabyte."""
        steps = [step for step in _STEPS_MEGABYTES if step < limit_megabytes]
        least = next((step for step in steps if self._free_bytes < step * _MEGABYTE), limit_megabytes)
        return f"less than {least:,.0f} MB"

    def why_to_rest(self) -> str:
        """Return why background work is paused; empty if it is not."""
        if self._database.room.is_full:
            return "The disk is full."
        return "The disk is nearly full." if self._is_resting else ""

    def _room_changed(self) -> None:
        room = self._database.room
        if room.is_full or room.refusal:
            log.warning("disk.full" if room.is_full else "storing.stopped", why=room.refusal)
        else:
            log.info("storing.resumed")
        self.changed.notify()


def free_bytes(folder: Path) -> float:
    """Return the bytes that an unprivileged user may still write; infinite if unknown."""
    try:
        stats = os.statvfs(folder)
    except OSError:
        return math.inf
    return float(stats.f_bavail * stats.f_frsize)
