"""Which wakes came to no end: a line each, written before anything is opened, taken away when the mind answers or has
said why it cannot. What is left are crashes, and after a few of them it wakes in safe mode (B6)."""

import contextlib
import os
import stat
from pathlib import Path

from reveries.config import Home
from reveries.own_files import open_own

CRASHES_UNTIL_SAFE = 5
WITHIN_SECONDS = 600.0
_MOST_BYTES = 4096


def record_of(home: Home) -> Path:
    """The file that holds them."""
    return home.path / "wakes"


def crashes_lately(home: Home, now: float) -> int:
    """How many wakes of the last ten minutes came to no end. A file that cannot be read, or is none of ours: none."""
    return sum(abs(now - began) <= WITHIN_SECONDS for began in _begun(record_of(home)))


def begin(home: Home, now: float) -> None:
    """Note that a wake begins. Call it while holding the lock. What cannot be noted does not keep it from waking."""
    earlier = [began for began in _begun(record_of(home)) if abs(now - began) <= WITHIN_SECONDS]
    _write_record(record_of(home), [*earlier[-2 * CRASHES_UNTIL_SAFE :], now])


def came_to_its_end(home: Home) -> None:
    """It answers, or it has said why it cannot: no crash, and none before it counts any more."""
    with contextlib.suppress(OSError):
        record_of(home).unlink(missing_ok=True)


def _begun(file: Path) -> list[float]:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return []
    try:
        words = os.read(descriptor, _MOST_BYTES).split() if stat.S_ISREG(os.fstat(descriptor).st_mode) else []
    finally:
        os.close(descriptor)
    found = []
    for word in words:
        with contextlib.suppress(ValueError):
            found.append(float(word))
    return found


def _write_record(file: Path, begun: list[float]) -> None:
    with contextlib.suppress(OSError), os.fdopen(open_own(file), "wb") as opened:
        opened.write("".join(f"{began:.0f}\n" for began in begun).encode("ascii"))
