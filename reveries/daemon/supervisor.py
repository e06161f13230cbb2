"""Children that may fail without taking the mind with them (R-40): logged, backed off, started again."""

from collections.abc import Awaitable, Callable

import structlog

from reveries.clock import Clock
from reveries.db.room import Room
from reveries.errors import DiskFullError, StorageLostError

_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 300.0
_HEALTHY_AFTER_SECONDS = 60.0

log = structlog.get_logger("supervisor")


async def supervise(name: str, child: Callable[[], Awaitable[None]], clock: Clock, room: Room | None = None) -> None:
    """Run `child` until it returns. When it raises, wait (1 s, doubling to 5 min) and run it again.

    A child that ran for a minute before it failed begins again with the shortest wait. One that found the disk full
    begins again as soon as there is `room` (A5). StorageLostError is passed on: a daemon whose disk fails must end
    (A4).
    """
    pause = _FIRST_PAUSE_SECONDS
    while True:
        began = clock.monotonic()
        try:
            await child()
        except StorageLostError:
            raise
        except Exception as error:  # The named boundary: whatever a child raises, the mind lives on.
            if room is not None and room.is_full and _is_of_full_disk(error):
                log.warning("child.waits_for_room", child=name)
                await room.wait()
                continue
            if clock.monotonic() - began > _HEALTHY_AFTER_SECONDS:
                pause = _FIRST_PAUSE_SECONDS
            log.exception("child.failed", child=name, retry_seconds=pause)
            await clock.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
        else:
            return


def _is_of_full_disk(error: Exception) -> bool:
    """Whether that is all that is wrong."""
    if isinstance(error, ExceptionGroup):
        return all(_is_of_full_disk(one) for one in error.exceptions)
    return isinstance(error, DiskFullError)
