"""A little room that is put by beside the memory. SQLite needs some to open it, so a disk that took nothing more would
keep a mind from waking: what is put by is given up then, and it wakes, and says that the disk is full (A5)."""

import contextlib
import os
from errno import EDQUOT, ENOSPC
from pathlib import Path

from reveries.own_files import open_replacement

RESERVE_BYTES = 256 * 1024
_PROBE_BYTES = 4 * 2**20
"""Who may not write so much has as good as no room: a few words, and it would be full."""


def reserve_path(memory: Path) -> Path:
    """Where it is."""
    return memory.with_name(f"{memory.name}.reserve")


def create_reserve(memory: Path) -> None:
    """Put room by, unless there is some. Only where there is more than enough; what cannot be put by is not."""
    reserve = reserve_path(memory)
    if reserve.exists():
        return
    with contextlib.suppress(OSError):
        _fill_with_noise(reserve, RESERVE_BYTES)


def release_reserve(memory: Path) -> bool:
    """Let it go. Whether there was any."""
    try:
        reserve_path(memory).unlink()
    except OSError:
        return False
    return True


def is_out_of_space(memory: Path) -> bool:
    """Whether its owner may write no more there, for want of room or of a quota: tried, for no number says so."""
    tried = memory.with_name(f"{memory.name}.tried")
    try:
        _fill_with_noise(tried, _PROBE_BYTES)
    except OSError as error:
        return error.errno in (EDQUOT, ENOSPC)
    finally:
        with contextlib.suppress(OSError):
            tried.unlink(missing_ok=True)
    return False


def _fill_with_noise(file: Path, size: int) -> None:
    """No zeros: some file systems keep none of them. Raises OSError; then nothing is left."""
    opened = open_replacement(file)
    try:
        at = 0
        while at < size:
            at += os.pwrite(opened, os.urandom(min(2**18, size - at)), at)
    except OSError:
        with contextlib.suppress(OSError):
            file.unlink()
        raise
    finally:
        os.close(opened)
