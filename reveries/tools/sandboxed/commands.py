"""Run one command in the sandbox with limits on time, memory, processes and output. No process of it survives."""

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
    find_closed_folders,
    open_file,
    read_dot_entries,
    reopen_folders,
    revert_dot_entries,
    walk_handles,
)

MOST_SECONDS = 300.0
MOST_PROCESSES = 256
MOST_MEMORY_BYTES = 3_000_000_000
MOST_FILE_BYTES = 200_000_000
LEAST_FREE_BYTES = 300_000_000
_KEPT_BYTES = 48_000
"""How much output is kept, half from its beginning and half from its end; the hash covers all of it."""
_MOST_DIGESTED_BYTES = 50_000_000
_MOST_OUTPUT_BYTES = 100_000_000
_POLL_SECONDS = 0.02
_GRACE_SECONDS = 0.2
"""How long output of background processes is still read after the command ended."""
_PAGE_BYTES = resource.getpagesize()
_UMASK = 0o022
"""The daemon's own files are its owner's alone (077); what a command makes in a project's folder is an ordinary file,
as one that is written there by a tool."""


@dataclass(frozen=True)
class CommandResult:
    """The result of a command."""

    exit_code: int
    """128 + the signal number if a signal ended it."""
    output: str
    output_sha256: str
    seconds: float
    stopped_because: str
    """Which limit it exceeded; empty if it ended by itself."""
    taken_back: list[str] = field(default_factory=list)
    """Dot paths that it created or changed without permission: each was restored or renamed."""


@dataclass(frozen=True)
class _Executable:
    """A file that was executable before a command."""

    identity: tuple[int, ...]
    digest: str
    """SHA-256; empty for a file that is too large to read each time."""


def run_command(command: str, folder: str, seconds: float, *, is_tainted: bool) -> CommandResult:
    """Run `command` with the shell in `folder`, then kill what it left running. After a tainted step, new executables
    lose their executable bits, and changes to dot paths are reverted."""
    if not is_tainted:
        return _run_in_shell(command, folder, seconds)
    were_executable, were_closed, dots = (
        dict(_read_executables(folder)),
        find_closed_folders(folder),
        read_dot_entries(folder),
    )
    result = _run_in_shell(command, folder, seconds)
    reopen_folders(folder, were_closed)
    _revert_executables(folder, were_executable)
    return replace(result, taken_back=revert_dot_entries(folder, dots))


def _run_in_shell(command: str, folder: str, seconds: float) -> CommandResult:
    began = time.monotonic()
    child = subprocess.Popen(
        ["/bin/sh", "-c", command],
        cwd=folder,
        env=dict(os.environ),  # The environment of the sandbox, which was cleared before.
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        umask=_UMASK,
        preexec_fn=_set_process_limits,
    )
    collected = _CommandOutput()
    try:
        why = _watch_command(child, collected, began + min(seconds, MOST_SECONDS), folder)
    finally:
        kill_other_processes()
        code = child.wait()
        _reap_processes()
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


def kill_other_processes() -> None:
    """Kill every other process in the sandbox, also those that ignore signals or left the session."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(-1, signal.SIGKILL)


def _reap_processes() -> None:
    """Reap exited processes: as process 1 of the sandbox, this one inherits all orphans."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


class _CommandOutput:
    """The beginning, the end and the hash of a command's output."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._first = b""
        self._last = b""
        self.count = 0

    def add(self, piece: bytes) -> None:
        self._hash.update(piece)
        self.count += len(piece)
        remaining = _KEPT_BYTES // 2 - len(self._first)
        self._first += piece[:remaining]
        self._last = (self._last + piece[remaining:])[-_KEPT_BYTES // 2 :]

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    @property
    def text(self) -> str:
        omitted = self.count - len(self._first) - len(self._last)
        middle = f"\n[{omitted:,} bytes left out]\n".encode() if omitted else b""
        return (self._first + middle + self._last).decode("utf-8", "replace")


def _watch_command(child: "subprocess.Popen[bytes]", output: _CommandOutput, ends_at: float, folder: str) -> str:
    """Read output until the command ends or exceeds a limit. Return the limit it exceeded, or an empty string."""
    assert child.stdout is not None
    os.set_blocking(child.stdout.fileno(), False)
    ended_at = checked_at = 0.0
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        while True:
            if is_ready := bool(selector.select(_POLL_SECONDS)):
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
            if now - checked_at >= _POLL_SECONDS:
                checked_at = now
                if why := _find_exceeded_limit(folder):
                    return why


def _read_rest(child: "subprocess.Popen[bytes]", output: _CommandOutput) -> None:
    """Read the output since the last read. All processes have ended, so no more can follow."""
    assert child.stdout is not None
    with contextlib.suppress(BlockingIOError):
        while piece := os.read(child.stdout.fileno(), 1 << 16):
            output.add(piece)


def _find_exceeded_limit(folder: str) -> str:
    """Return which limit all processes together exceed, or an empty string. They are counted here because the kernel's
    process limit does not apply to root."""
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


def _set_process_limits() -> None:
    for name, most in (
        (resource.RLIMIT_CORE, 1),  # 1, because with 0 Linux would still pipe a core dump to a handler program.
        (resource.RLIMIT_FSIZE, MOST_FILE_BYTES),
        (resource.RLIMIT_NOFILE, 1024),
    ):
        resource.setrlimit(name, (most, most))  # No RLIMIT_AS: programs reserve far more than they use.
    os.nice(5)


def _read_executables(folder: str) -> Iterator[tuple[str, _Executable]]:
    budget = _MOST_DIGESTED_BYTES
    for path, handle, name, entry_stat in _walk_executables(folder):
        is_small = entry_stat.st_size <= min(budget, _MOST_DIGESTED_BYTES // 50)
        budget -= entry_stat.st_size if is_small else 0
        yield path, _Executable(_stat_identity(entry_stat), _digest(handle, name) if is_small else "")


def _revert_executables(folder: str, executables: dict[str, _Executable]) -> None:
    for path, handle, name, entry_stat in _walk_executables(folder):
        before = executables.get(path)
        if before is None or (
            before.identity != _stat_identity(entry_stat) and before.digest != (_digest(handle, name) or "unknown")
        ):
            with contextlib.suppress(OSError):
                os.chmod(name, stat.S_IMODE(entry_stat.st_mode) & ~0o111 & 0o777, dir_fd=handle)


def _stat_identity(entry_stat: os.stat_result) -> tuple[int, ...]:
    """Return what changes whenever a file changes: no command can set a file's ctime."""
    return entry_stat.st_dev, entry_stat.st_ino, entry_stat.st_size, entry_stat.st_ctime_ns


def _digest(handle: int, name: str) -> str:
    """Return the SHA-256 of a file; empty if it may not be read."""
    digest = hashlib.sha256()
    with contextlib.suppress(OSError), open_file(handle, name) as file:
        while piece := os.read(file, 1 << 20):
            digest.update(piece)
        return digest.hexdigest()
    return ""


def _walk_executables(folder: str) -> Iterator[tuple[str, int, str, os.stat_result]]:
    for at, _, names, handle in walk_handles(folder):
        for name in names:
            with contextlib.suppress(OSError):
                entry_stat = os.stat(name, dir_fd=handle, follow_symlinks=False)
                if stat.S_ISREG(entry_stat.st_mode) and entry_stat.st_mode & 0o111:
                    yield f"{at}/{name}", handle, name, entry_stat
