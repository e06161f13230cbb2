"""The history of crashed starts. Each start writes a line before it opens anything, and the lines are removed when the
mind answers or has reported why it cannot. What remains are crashes; after a few of them it wakes in safe mode (B6)."""

import contextlib
import os
import stat
from pathlib import Path

from reveries.config import Home
from reveries.own_files import open_own_file

CRASHES_UNTIL_SAFE = 5
WITHIN_SECONDS = 600.0
_MOST_BYTES = 4096


def crash_history_file(home: Home) -> Path:
    """Return the path of the file with the start times."""
    return home.path / "wakes"


def count_recent_crashes(home: Home, now: float) -> int:
    """Count the starts of the last ten minutes that crashed; 0 if the file cannot be read or is not a regular file."""
    return sum(abs(now - started_at) <= WITHIN_SECONDS for started_at in _read_start_times(crash_history_file(home)))


def record_start(home: Home, now: float) -> None:
    """Record that a start begins. Call this while holding the lock. A failed write does not prevent the start."""
    file = crash_history_file(home)
    earlier = [started_at for started_at in _read_start_times(file) if abs(now - started_at) <= WITHIN_SECONDS]
    _write_start_times(file, [*earlier[-2 * CRASHES_UNTIL_SAFE :], now])


def clear_crash_history(home: Home) -> None:
    """Forget the recorded starts: the mind answers, or has reported why it cannot."""
    with contextlib.suppress(OSError):
        crash_history_file(home).unlink(missing_ok=True)


def _read_start_times(file: Path) -> list[float]:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return []
    try:
        words = os.read(descriptor, _MOST_BYTES).split() if stat.S_ISREG(os.fstat(descriptor).st_mode) else []
    finally:
        os.close(descriptor)
    start_times = []
    for word in words:
        with contextlib.suppress(ValueError):
            start_times.append(float(word))
    return start_times


def _write_start_times(file: Path, start_times: list[float]) -> None:
    with contextlib.suppress(OSError), os.fdopen(open_own_file(file), "wb") as opened:
        opened.write("".join(f"{started_at:.0f}\n" for started_at in start_times).encode("ascii"))
