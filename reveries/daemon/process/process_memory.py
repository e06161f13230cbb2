"""Returns freed memory to the system (E7).

Sleep, snapshots, backups and searches briefly need megabytes, in threads. glibc keeps what they free in a heap per
thread, and after freeing a large block it takes the next of that size from the heap, too: a daemon grew by megabytes a
day although its data did not.
"""

import asyncio
import contextlib
import ctypes
from typing import Final

_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
_ARENA_MAX: Final = -8
"""Constants of glibc (malloc.h)."""
_OWN_PIECE_BYTES: Final = 2**20
_FREE_AT_THE_END_BYTES: Final = 2**17
_ARENAS: Final = 2


def keep_heap_small() -> None:
    """Have blocks of a megabyte and more returned as soon as they are freed, and threads share two heaps. Does nothing
    without glibc."""
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_MMAP_THRESHOLD, _OWN_PIECE_BYTES)
        mallopt(_TRIM_THRESHOLD, _FREE_AT_THE_END_BYTES)
        mallopt(_ARENA_MAX, _ARENAS)


async def give_back_free_memory() -> None:
    """Return free blocks to the system once, in a thread. Does nothing without glibc."""
    await asyncio.to_thread(_trim_heap)


def _trim_heap() -> None:
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return
    trim(0)
