"""Keeps watch over the disk of the memory: over its room (A5), where it warns, lets the background rest while there is
little, and finds out when a full disk takes something again; and over a failure that nobody else heard of (A4)."""

import asyncio
import math
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import structlog

from reveries.clock import Clock
from reveries.config import StorageSettings
from reveries.db.database import Database
from reveries.db.reserve import put_by
from reveries.errors import StorageError, StorageLostError
from reveries.notifier import Notifier

LOOK_SECONDS = 1.5
"""Between two looks: a disk that is full is told of within 2 s, also while nothing is written."""
_LEAST_BYTES = 2**20
"""With less than this it counts as full before the first commit fails."""
_AGAIN_BYTES = 4 * 2**20
"""With less than this a full disk is not tried again: it would be full after a few words."""
_MEGABYTE = 10**6
_ENOUGH_AGAIN = 1.2
"""So much more than the limit must be free before the background goes on: else it would begin and end all the time."""

log = structlog.get_logger("room")


class RoomKeeper:
    """`run` until cancelled. `changed` is notified when what it says has changed."""

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
        """Look, again and again. Raises StorageLostError when the disk has failed, whoever met that."""
        while True:
            await self.look()
            await self._clock.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Once. Raises StorageLostError."""
        self._database.require_storage()
        before, room = self.problems(), self._database.room
        self._free_bytes = await asyncio.to_thread(self._read_free_bytes, self._database.path.parent)
        if self._free_bytes >= _AGAIN_BYTES and not room.is_full:
            await asyncio.to_thread(put_by, self._database.path)
        limit = self._settings().rest_below_free_megabytes * _MEGABYTE
        self._is_resting = self._free_bytes < (limit * _ENOUGH_AGAIN if self._is_resting else limit)
        if self._free_bytes < _LEAST_BYTES:
            room.close()
        elif room.is_full and self._free_bytes >= _AGAIN_BYTES:
            await self._try_room(self._database.try_room())
        elif room.refusal and not room.is_full:
            await self._try_room(self._database.try_again())
        elif self.problems() != before:
            self.changed.notify()

    async def _try_room(self, trial: Awaitable[object]) -> None:
        try:
            await trial
        except StorageLostError:
            raise
        except StorageError as error:
            # Tried again at the next look: this must go on, for nobody else opens the gate.
            self._database.room.refused(f"What is new is not stored. {error}")

    def problems(self) -> list[str]:
        """What the owner should know; empty when there is enough."""
        settings = self._settings()
        room = self._database.room
        if room.refusal and not (room.is_full and self._free_bytes < _AGAIN_BYTES):
            return [room.refusal]
        if room.is_full:
            return [
                "The disk is full: nothing new is stored, thought or slept on. Free some room; it goes on by itself."
            ]
        if self._is_resting:
            return [
                f"The disk is nearly full ({settings.rest_below_free_megabytes} MB): it only talks. Free some room."
            ]
        if self._free_bytes < settings.warn_below_free_megabytes * _MEGABYTE:
            return [f"Less than {settings.warn_below_free_megabytes} MB are free on the disk of the memory."]
        return []

    def why_to_rest(self) -> str:
        """Why nothing that nobody waits for is begun; empty when it may be."""
        if self._database.room.is_full:
            return "The disk is full."
        return "The disk is nearly full." if self._is_resting else ""

    def _room_changed(self) -> None:
        room = self._database.room
        if room.is_full or room.refusal:
            log.warning("disk.full" if room.is_full else "memory.refuses", why=room.refusal)
        else:
            log.info("memory.takes_what_is_new")
        self.changed.notify()


def free_bytes(folder: Path) -> float:
    """What an owner without privilege may still write there; infinite where nobody can tell."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return math.inf
    return float(found.f_bavail * found.f_frsize)
