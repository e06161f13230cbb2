"""Whether new data can be stored (A5, H3).

A commit that finds the disk full closes the gate: nothing is tried after it, so nothing is acknowledged, and no model
is called, because each call is reserved on the disk first. The disk watcher probes again and opens it.
"""

import asyncio

from reveries.errors import DiskFullError
from reveries.notifier import Notifier


def disk_full_error() -> DiskFullError:
    """Return the error for a full disk."""
    return DiskFullError(
        "The disk is full: nothing new can be stored.", advice="Free some space; the mind continues by itself."
    )


class DiskSpace:
    """Whether the disk takes new data; open at first. `changed` is notified of each change."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()
        self.refusal = ""
        """Why the last write was refused, where the disk is not full; empty after a commit."""
        self.changed: Notifier[[]] = Notifier()

    @property
    def is_full(self) -> bool:
        return not self._open.is_set()

    def require(self) -> None:
        """Raise DiskFullError while the disk is full."""
        if self.is_full:
            raise disk_full_error()

    def close(self) -> None:
        """Record a full disk; an earlier refusal no longer counts."""
        if not self.is_full or self.refusal:
            self._open.clear()
            self.refusal = ""
            self.changed.notify()

    def open(self) -> None:
        """Record that data can be stored again."""
        if self.is_full:
            self._open.set()
            self.changed.notify()

    def record_refusal(self, why: str) -> None:
        """Record a refused write though the disk is not full."""
        if why != self.refusal:
            self.refusal = why
            self.changed.notify()

    def record_write(self) -> None:
        """Record a successful write."""
        if self.refusal:
            self.refusal = ""
            self.changed.notify()

    async def wait(self) -> None:
        """Wait until there is space."""
        await self._open.wait()
