"""Running one command in the sandbox: bounded in time, memory, processes and what it says; nothing of it stays."""

import contextlib
import hashlib
import os
import resource
import selectors
import signal
import stat
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from reveries.tools.sandboxed.dots import (
    closed_folders,
    look_at_dots,
    open_file,
    open_folders,
    take_back_dots,
    walk_handles,
)

MOST_SECONDS = 300.0
MOST_PROCESSES = 256
MOST_MEMORY_BYTES = 3_000_000_000
MOST_FILE_BYTES = 200_000_000
LEAST_FREE_BYTES = 300_000_000
_KEPT_BYTES = 48_000
"""Of what it says: the first and the last half of so much; all of it is in the hash."""
_MOST_DIGESTED_BYTES = 50_000_000
_MOST_OUTPUT_BYTES = 100_000_000
_LOOK_SECONDS = 0.02
_GRACE_SECONDS = 0.2
"""So long what a command left behind may go on saying something."""
_PAGE_BYTES = resource.getpagesize()


@dataclass(frozen=True)
class CommandResult:
    """What a command came to."""

    exit_code: int
    """128 + the signal that ended it."""
    output: str
    output_sha256: str
    seconds: float
    stopped_because: str
    """Why it was ended from outside; empty where it ended by itself."""
    taken_back: list[str] = field(default_factory=list)
    """Paths under a dot name that it may not make or change: they were put back or taken out."""


@dataclass(frozen=True)
class _Executable:
    """A file that was executable before a command."""

    identity: tuple[int, ...]
    digest: str
    """Empty for one that is too large to be read each time."""


def run_command(command: str, folder: str, seconds: float, *, is_tainted: bool) -> CommandResult:
    """Run `command` by the shell in `folder`, and end whatever it leaves behind. What a tainted step makes executable
    is not, and what it does under a dot name is taken back."""
    if not is_tainted:
        return _run_in_shell(command, folder, seconds)
    were_executable, were_closed, dots = dict(_executables(folder)), closed_folders(folder), look_at_dots(folder)
    ended = _run_in_shell(command, folder, seconds)
    open_folders(folder, were_closed)
    _take_back_executables(folder, were_executable)
    return replace(ended, taken_back=take_back_dots(folder, dots))


def _run_in_shell(command: str, folder: str, seconds: float) -> CommandResult:
    began = time.monotonic()
    child = subprocess.Popen(
        ["/bin/sh", "-c", command],
        cwd=folder,
        env=dict(os.environ),  # Of the sandbox: it was emptied before.
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=_limit_itself,
    )
    collected = _Output()
    try:
        why = _watch_command(child, collected, began + min(seconds, MOST_SECONDS), folder)
    finally:
        end_everybody_else()
        code = child.wait()
        _collect_the_dead()
        _read_rest(child, collected)
        assert child.stdout is not None
        child.stdout.close()
    return CommandResult(
        exit_code=128 - code if code < 0 else code,
        output=collected.text,
        output_sha256=collected.digest,
        seconds=time.monotonic() - began,
        stopped_because=why,
    )


def end_everybody_else() -> None:
    """Kill every process in the sandbox but this one: what ignores a signal, or left its session, ends all the same."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(-1, signal.SIGKILL)


def _collect_the_dead() -> None:
    """Process 1 inherits what others left behind."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


class _Output:
    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._first = b""
        self._last = b""
        self.count = 0

    def add(self, piece: bytes) -> None:
        self._hash.update(piece)
        self.count += len(piece)
        room = _KEPT_BYTES // 2 - len(self._first)
        self._first += piece[:room]
        self._last = (self._last + piece[room:])[-_KEPT_BYTES // 2 :]

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    @property
    def text(self) -> str:
        left_out = self.count - len(self._first) - len(self._last)
        middle = f"\n[{left_out:,} bytes left out]\n".encode() if left_out else b""
        return (self._first + middle + self._last).decode("utf-8", "replace")


def _watch_command(child: "subprocess.Popen[bytes]", output: _Output, ends_at: float, folder: str) -> str:
    """Read what it says until it ends; why it has to be ended."""
    assert child.stdout is not None
    os.set_blocking(child.stdout.fileno(), False)
    ended_at = looked_at = 0.0
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        while True:
            if is_ready := bool(selector.select(_LOOK_SECONDS)):
                piece = os.read(child.stdout.fileno(), 1 << 16)
                output.add(piece)
                if not piece:
                    selector.unregister(child.stdout)
            now = time.monotonic()
            if child.poll() is not None:
                ended_at = ended_at or now
                if not is_ready or now - ended_at > _GRACE_SECONDS:
                    return ""
            if now >= ends_at:
                return "it took too long"
            if output.count > _MOST_OUTPUT_BYTES:
                return "it said too much"
            if now - looked_at >= _LOOK_SECONDS:
                looked_at = now
                if why := _why_too_much(folder):
                    return why


def _read_rest(child: "subprocess.Popen[bytes]", output: _Output) -> None:
    """What was said between the last look and the end. Nobody is left who could go on."""
    assert child.stdout is not None
    with contextlib.suppress(BlockingIOError):
        while piece := os.read(child.stdout.fileno(), 1 << 16):
            output.add(piece)


def _why_too_much(folder: str) -> str:
    """Whether everything that runs here is more than it may be. A limit of the kernel's counts no processes of root."""
    count, pages = 0, 0
    for process in Path("/proc").glob("[0-9]*"):
        count += 1
        with contextlib.suppress(OSError, IndexError, ValueError):
            pages += int((process / "statm").read_bytes().split()[1])
    if count > MOST_PROCESSES:
        return "it began too many processes"
    if pages * _PAGE_BYTES > MOST_MEMORY_BYTES:
        return "it took too much memory"
    disk = os.statvfs(folder)
    return "the disk is nearly full" if disk.f_bavail * disk.f_frsize < LEAST_FREE_BYTES else ""


def _limit_itself() -> None:
    for name, most in (
        (resource.RLIMIT_CORE, 1),  # With 0 Linux would pipe a core dump to a program all the same.
        (resource.RLIMIT_FSIZE, MOST_FILE_BYTES),
        (resource.RLIMIT_NOFILE, 1024),
    ):
        resource.setrlimit(name, (most, most))  # What programs reserve is no measure of what they use: no RLIMIT_AS.
    os.nice(5)


def _executables(folder: str) -> Iterator[tuple[str, _Executable]]:
    room = _MOST_DIGESTED_BYTES
    for path, handle, name, found in _each_executable(folder):
        is_small = found.st_size <= min(room, _MOST_DIGESTED_BYTES // 50)
        room -= found.st_size if is_small else 0
        yield path, _Executable(_identity(found), _digest(handle, name) if is_small else "")


def _take_back_executables(folder: str, known: dict[str, _Executable]) -> None:
    for path, handle, name, found in _each_executable(folder):
        was = known.get(path)
        if was is None or (was.identity != _identity(found) and was.digest != (_digest(handle, name) or "unknown")):
            with contextlib.suppress(OSError):
                os.chmod(name, stat.S_IMODE(found.st_mode) & ~0o111 & 0o777, dir_fd=handle)


def _identity(found: os.stat_result) -> tuple[int, ...]:
    """No command can set the time of a file's last change of any kind."""
    return found.st_dev, found.st_ino, found.st_size, found.st_ctime_ns


def _digest(handle: int, name: str) -> str:
    """Empty for one that may not be read."""
    digest = hashlib.sha256()
    with contextlib.suppress(OSError), open_file(handle, name) as file:
        while piece := os.read(file, 1 << 20):
            digest.update(piece)
        return digest.hexdigest()
    return ""


def _each_executable(folder: str) -> Iterator[tuple[str, int, str, os.stat_result]]:
    for at, _, names, handle in walk_handles(folder):
        for name in names:
            with contextlib.suppress(OSError):
                found = os.stat(name, dir_fd=handle, follow_symlinks=False)
                if stat.S_ISREG(found.st_mode) and found.st_mode & 0o111:
                    yield f"{at}/{name}", handle, name, found
