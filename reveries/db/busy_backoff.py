"""Long file work in a low-priority thread, so that conversation is not slowed down.

Only for work that releases Python's lock (SQLite, hashing): a low-priority thread that holds it would stall all others.
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
    """Run `work` in a thread of higher niceness than this one (Linux only), and wait for it.

    Threads that it starts inherit the niceness. With `is_low_priority` False it runs directly. Raises what `work`
    raises.
    """
    if not is_low_priority:
        return work()
    with ThreadPoolExecutor(1, "calmly", _lower_thread_priority) as own:
        return own.submit(work).result()


def _lower_thread_priority() -> None:
    if sys.platform != "linux":
        return  # Elsewhere niceness is per process, and only root can lower it again.
    with contextlib.suppress(OSError):
        nicer = min(_NICEST, os.getpriority(os.PRIO_PROCESS, 0) + _NICER)
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), nicer)
