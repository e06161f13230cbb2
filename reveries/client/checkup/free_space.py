"""Checks the space on the disk of the home."""

from collections.abc import Iterator

from reveries.client.checkup.place import Place
from reveries.client.wording import size
from reveries.protocol import Fault, Finding

_LOW_SPACE_BYTES = 200_000_000
_FULL_DISK_BYTES = 4_000_000
_LARGE_LOGS_BYTES = 100_000_000

FULL = Fault("disk-full", "wrong", "The disk is full.", "Free some space; then it continues.", hides_memory=True)
LOW = Fault("disk-low", "watch", "The disk is nearly full.", "Free some space: at least 200 MB.")
LARGE_LOGS = Fault("logs-large", "watch", "The logs take up much space.", "See why: reveries logs")


def check(place: Place) -> Iterator[Finding]:
    """Yield what there is too little or too much of."""
    if not place.is_usable:
        return
    path, logs = place.home.path, place.home.logs
    space = place.machine.free_space(path)
    if space.free_bytes < _LOW_SPACE_BYTES:
        fault = FULL if space.free_bytes < _FULL_DISK_BYTES else LOW
        yield fault.found(f"The disk of {path} has {size(space.free_bytes)} left.", where=path)
    if space.free_inodes == 0:
        yield FULL.found("The disk cannot hold more files (no free inodes).", where=path)
    log_bytes = sum(file.lstat().st_size for file in logs.glob("*"))
    if log_bytes > _LARGE_LOGS_BYTES:
        yield LARGE_LOGS.found(f"The logs take {size(log_bytes)}.", where=logs)
