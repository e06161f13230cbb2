"""So much memory and no more for a process and its children: a memory cgroup of their own (Linux, as root)."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_FIRST = Path("/sys/fs/cgroup/memory")
"""Where cgroups of the first version have theirs; the second has one tree for all."""
_SECOND = Path("/sys/fs/cgroup")
_UNLIMITED = {True: "-1", False: "max"}


@dataclass(frozen=True, slots=True)
class MemoryRoom:
    """Nobody is in it, and nothing is limited, until somebody says so."""

    folder: Path
    is_first: bool

    def take(self, process: int) -> None:
        """That process is in it from now on, with what it starts. What it has by now is not counted."""
        (self.folder / "cgroup.procs").write_text(str(process))

    def limit(self, size: int | None) -> None:
        """At most so many bytes; who needs more is ended by the kernel. None: as many as there are."""
        text = _UNLIMITED[self.is_first] if size is None else str(size)
        (self.folder / ("memory.limit_in_bytes" if self.is_first else "memory.max")).write_text(text)

    @property
    def held(self) -> int:
        """Bytes that those who are in it hold; what they have read of files is not among them, it can be read again."""
        return self._number("memory.stat", "rss" if self.is_first else "anon")

    @property
    def ended(self) -> int:
        """How many processes the kernel has ended for it."""
        return self._number("memory.oom_control" if self.is_first else "memory.events", "oom_kill")

    def _number(self, file: str, name: str) -> int:
        return int(dict(line.split() for line in (self.folder / file).read_text().splitlines())[name])


@contextlib.contextmanager
def memory_room() -> Iterator[MemoryRoom]:
    """One, gone at the end, and whoever is still in it too. Raises OSError where it cannot be had."""
    is_first = (_FIRST / "cgroup.procs").exists()
    if not is_first:
        (_SECOND / "cgroup.subtree_control").write_text("+memory")
    folder = (_FIRST if is_first else _SECOND) / f"reveries-test-{os.getpid()}"
    folder.mkdir()
    try:
        yield MemoryRoom(folder, is_first)
    finally:
        _empty(folder)
        folder.rmdir()


def _empty(folder: Path) -> None:
    """The children of a killed daemon end by themselves, in a moment: it is not waited for."""
    ends = time.monotonic() + 10
    while (processes := (folder / "cgroup.procs").read_text().split()) and time.monotonic() < ends:
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGKILL)
        time.sleep(0.02)
