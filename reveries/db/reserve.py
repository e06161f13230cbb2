"""A small file that reserves disk space next to the memory (A5).

SQLite needs some space to open the memory. When the disk is full the reserve is deleted, so that the mind can wake and
say that the disk is full.
"""

import contextlib
import os
from errno import EDQUOT, ENOSPC
from pathlib import Path

from reveries.own_files import open_replacement

RESERVE_BYTES = 256 * 1024
_PROBE_BYTES = 4 * 2**20
"""Less free space than this counts as full: a few messages would use it up."""


def reserve_path(memory: Path) -> Path:
    """Return the reserve's path."""
    return memory.with_name(f"{memory.name}.reserve")


def create_reserve(memory: Path) -> None:
    """Create the reserve unless it exists. Call it only where there is enough space; a failure is ignored."""
    reserve = reserve_path(memory)
    if reserve.exists():
        return
    with contextlib.suppress(OSError):
        _fill_with_noise(reserve, RESERVE_BYTES)


def release_reserve(memory: Path) -> bool:
    """Delete the reserve; whether there was one."""
    try:
        reserve_path(memory).unlink()
    except OSError:
        return False
    return True


def is_out_of_space(memory: Path) -> bool:
    """Whether a small write fails for want of space or quota. Tested by writing, because no figure tells it."""
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
    """Write `size` random bytes: some file systems do not store zeros. Raises OSError; then the file is removed."""
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
