"""Whether what is to be stored is taken (A5, H3).

A commit that finds no room closes the gate: nothing is tried after it, so nothing is acknowledged, and no model is
asked, for each call is reserved on the disk first. Whoever keeps watch over the disk tries again and opens it.
"""

import asyncio

from reveries.errors import DiskFullError
from reveries.notifier import Notifier


def disk_full_error() -> DiskFullError:
    return DiskFullError(
        "The disk is full: nothing new can be stored.", advice="Free some room; the mind goes on by itself."
    )


class DiskSpace:
    """Open from the beginning. `changed` is notified of each change."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()
        self.refusal = ""
        """Why the last that was to be stored was not, where the disk is not the reason; empty after a commit."""
        self.changed: Notifier[[]] = Notifier()

    @property
    def is_full(self) -> bool:
        return not self._open.is_set()

    def require(self) -> None:
        """Raises DiskFullError while there is none."""
        if self.is_full:
            raise disk_full_error()

    def close(self) -> None:
        """Something could not be stored, for there is none: whatever else was in the way is not what is now."""
        if not self.is_full or self.refusal:
            self._open.clear()
            self.refusal = ""
            self.changed.notify()

    def open(self) -> None:
        """Something could be stored again."""
        if self.is_full:
            self._open.set()
            self.changed.notify()

    def refused(self, why: str) -> None:
        """Something could not be stored, though there is room."""
        if why != self.refusal:
            self.refusal = why
            self.changed.notify()

    def stored(self) -> None:
        """Something could."""
        if self.refusal:
            self.refusal = ""
            self.changed.notify()

    async def wait(self) -> None:
        """Until there is room."""
        await self._open.wait()
