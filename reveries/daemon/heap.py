"""Gives memory that is free back to the system (E7).

Sleep, snapshots, copies and searches need megabytes for a moment, in threads of their own. The C library keeps what
they let go for that thread's next time, and each thread has its own: a mind grew so while nothing that it held did.
"""

import asyncio
import ctypes


async def give_back_free_memory() -> None:
    """Once, in a thread: every free piece is looked at. Does nothing where the C library is not glibc."""
    await asyncio.to_thread(_trim)


def _trim() -> None:
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return
    trim(0)
