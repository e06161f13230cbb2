"""An event loop whose time passes only while nobody works: waiting costs milliseconds, and a busy machine adds nothing.

Its time stands still while a callback runs, bytes are on their way, a thread works or waits for a core. When all of
them rest, it goes on to the next timer. So a limit of ten seconds, met by a real client and a real socket of this
process, is reached at once and to the millisecond. Not for other processes: their work is not seen.
"""

import asyncio
import os
import selectors
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike

_NAP_SECONDS: Final = 0.001
"""Real time, while a thread works."""
_LOOKS: Final = 2
"""So often in a row nobody must be at work before time passes."""
_LONGEST_STEP_SECONDS: Final = 0.25
"""The kernel may still hold bytes for this process when all else rests: that costs a step, not a whole limit."""
_THREADS: Final = "/proc/self/task"
_TELLS_OF_THREADS: Final = Path(_THREADS).exists()
_STAT_BYTES: Final = 512
_T = TypeVar("_T")


class IdleTimeLoop(asyncio.SelectorEventLoop):
    """See the module. `time()` has nothing to do with the machine's clock."""

    def __init__(self) -> None:
        self.passed_seconds = 0.0
        self.calls_in_threads = 0
        super().__init__(_IdleSelector(self))

    def time(self) -> float:
        return self.passed_seconds

    def run_in_executor(  # type: ignore[override]  # its arguments, whatever they are, go through
        self, executor: Executor | None, func: Callable[..., _T], *args: Any
    ) -> asyncio.Future[_T]:
        future: asyncio.Future[_T] = super().run_in_executor(executor, func, *args)
        self.calls_in_threads += 1
        future.add_done_callback(self._call_in_thread_ended)
        return future

    def _call_in_thread_ended(self, _: object) -> None:
        self.calls_in_threads -= 1


class LoopClock:
    """The clock of a mind that lives in such a loop: one time for what it waits for and for the limits of its calls."""

    def __init__(self, start: float = 1_750_000_000.0) -> None:
        self._start = start

    def now(self) -> float:
        return self._start + self.monotonic()

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def advance(self, seconds: float) -> None:
        """Let `seconds` pass at once, as a machine does that was suspended: then all who are due wake up."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, IdleTimeLoop)
        loop.passed_seconds += seconds
        await asyncio.sleep(_NAP_SECONDS)


class _IdleSelector(selectors.BaseSelector):
    """A selector that, where it would wait for a timer, looks whether anybody works and else lets the time pass."""

    def __init__(self, loop: IdleTimeLoop) -> None:
        self._loop = loop
        self._real = selectors.DefaultSelector()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout <= 0:
            return self._real.select(timeout)
        for _ in range(_LOOKS):
            # It lets go of the interpreter: a thread that waited for it wants a core from now on, and is seen to.
            if events := self._real.select(0 if _TELLS_OF_THREADS else _NAP_SECONDS):
                return events
            if self._loop.calls_in_threads or _does_a_thread_want_a_core():
                return self._real.select(_NAP_SECONDS)  # The loop comes back at the same time.
        self._loop.passed_seconds += min(timeout, _LONGEST_STEP_SECONDS)
        return self._real.select(0)

    def register(self, fileobj: "FileDescriptorLike", events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: "FileDescriptorLike") -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def modify(self, fileobj: "FileDescriptorLike", events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.modify(fileobj, events, data)

    def get_map(self) -> Mapping["FileDescriptorLike", selectors.SelectorKey]:
        return self._real.get_map()

    def close(self) -> None:
        self._real.close()


def _does_a_thread_want_a_core() -> bool:
    """Whether another thread runs, could run, or waits for the disk. Where the system does not say: no."""
    if not _TELLS_OF_THREADS:
        return False
    own = str(threading.get_native_id())
    return any(_state(name) in b"RD" for name in os.listdir(_THREADS) if name != own)  # noqa: PTH208  # Asked very often.


def _state(thread: str) -> bytes:
    """Return one letter (proc_pid_stat(5)). Without pathlib and text files: a test asks a hundred thousand times."""
    try:
        descriptor = os.open(f"{_THREADS}/{thread}/stat", os.O_RDONLY)
    except OSError:
        return b"X"  # It ended meanwhile.
    try:
        return os.read(descriptor, _STAT_BYTES).rpartition(b")")[2].split(maxsplit=1)[0]
    except OSError:
        return b"X"
    finally:
        os.close(descriptor)
