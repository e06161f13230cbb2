"""Checks the times of the open memory: the clock, and the age of the backups. All in unix seconds."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from reveries.daemon.checkup.inside import ChosenModels, Inside
from reveries.protocol import Fault, Finding

_CLOCK_SECONDS = 120.0
_FIRST_BACKUP_SECONDS = 2 * 3600.0
_OLD_BACKUP_SECONDS = 2 * 86400.0
_WAIT = "Let it be awake for an hour, or put to sleep."

CLOCK_BEHIND = Fault("clock-behind", "wrong", "The clock is earlier than the latest memory.", "Set the clock.")
OLD_BACKUP = Fault("backup-old", "watch", "There is no recent backup of the memory.", _WAIT)


async def check(inside: Inside, _: ChosenModels) -> AsyncIterator[Finding | str]:
    """Yield what does not fit together."""
    if inside.memory is None:
        return
    [span] = await inside.memory.database.rows("statistics.span")
    first_at, last_at, folder = float(span["first_at"]), float(span["last_at"]), inside.home.backups
    if (behind := last_at - inside.memory.clock.now()) > _CLOCK_SECONDS:
        yield CLOCK_BEHIND.found(f"The clock is {behind / 3600:.1f} hours behind the last thing that was remembered.")
    newest = await asyncio.to_thread(_newest_copy, folder)
    if newest is None:
        if last_at - first_at >= _FIRST_BACKUP_SECONDS:
            yield OLD_BACKUP.found("There is no backup of the memory.", where=folder)
    elif last_at - newest > _OLD_BACKUP_SECONDS:
        days = int((last_at - newest) / 86400)
        yield OLD_BACKUP.found(f"The newest backup is {days} days older than the last memory.", where=folder)


def _newest_copy(backups: Path) -> float | None:
    return max((copy.stat().st_mtime for copy in backups.glob("*.db")), default=None)
