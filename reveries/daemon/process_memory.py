"""Keeps what is free from staying with the process (E7).

Sleep, snapshots, copies and searches need megabytes for a moment, in threads of their own. The C library keeps what
they let go for that thread's next time, each thread has its own, and from a large piece that is let go it learns to
take the next of that size from there, too: a mind grew so by megabytes a day while nothing that it held did.
"""

import asyncio
import contextlib
import ctypes
from typing import Final

_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
_ARENA_MAX: Final = -8
"""glibc's names of them (malloc.h)."""
_OWN_PIECE_BYTES: Final = 2**20
_FREE_AT_THE_END_BYTES: Final = 2**17
_ARENAS: Final = 2


def keep_heap_small() -> None:
    """For all that this process does from now on: a piece of a megabyte and more goes back as soon as it is let go,
    and threads share two heaps. Does nothing where the C library is not glibc."""
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_MMAP_THRESHOLD, _OWN_PIECE_BYTES)
        mallopt(_TRIM_THRESHOLD, _FREE_AT_THE_END_BYTES)
        mallopt(_ARENA_MAX, _ARENAS)


async def give_back_free_memory() -> None:
    """Once, in a thread: every free piece is looked at. Does nothing where the C library is not glibc."""
    await asyncio.to_thread(_trim_heap)


def _trim_heap() -> None:
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return
    trim(0)
