"""Long work on files in a thread that stands back: whoever talks meanwhile comes first.

For work of SQLite's or of hashing, that lets Python's other threads run. One that holds Python's lock and is kept from
the processor would keep all of them from it.
"""

import contextlib
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

_Result = TypeVar("_Result")
_NICER: Final = 10
_NICEST: Final = 19


def run_at_low_priority(work: Callable[[], _Result], *, is_low_priority: bool = True) -> _Result:
    """Do it in a thread of its own, nicer than this one where each thread has its own niceness (Linux), and wait for
    it. So do the threads that it starts. Not `is_low_priority`: do it here and now. Raises what it raises."""
    if not is_low_priority:
        return work()
    with ThreadPoolExecutor(1, "calmly", _lower_thread_priority) as own:
        return own.submit(work).result()


def _lower_thread_priority() -> None:
    if sys.platform != "linux":
        return  # Elsewhere it would be the niceness of the whole process, which nobody but root may take back.
    with contextlib.suppress(OSError):
        nicer = min(_NICEST, os.getpriority(os.PRIO_PROCESS, 0) + _NICER)
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), nicer)
