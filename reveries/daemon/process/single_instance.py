"""Ensures one daemon per mind with a kernel lock, and opens the socket that it listens on.

The lock decides, never a pid in a file: it is released with the process, however that ends (R-8, B1..B3).
"""

import contextlib
import errno
import fcntl
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

from reveries.config import Home
from reveries.errors import AlreadyAwakeError, HomeError
from reveries.own_files import open_own_file

_LISTEN_BACKLOG = 64


@contextlib.contextmanager
def hold_lock(home: Home, memory: Path | None = None) -> Iterator[None]:
    """Hold the lock of this home and of its `memory`, which another home may use too. Raises AlreadyAwakeError with the
    holder's pid, and HomeError if the lock cannot be opened."""
    with contextlib.ExitStack() as locks:
        locks.enter_context(
            _lock_file(home.lock, f"The mind in {home.path} is already awake", "See it: reveries status")
        )
        if memory is not None and memory.parent.is_dir():
            in_use = f"The memory {memory} is in use by the mind of another home"
            advice = "Give each home its own memory: reveries config set storage.db_path"
            locks.enter_context(_lock_file(memory.with_name(f"{memory.name}.lock"), in_use, advice))
        yield


@contextlib.contextmanager
def _lock_file(lock: Path, refusal: str, advice: str) -> Iterator[None]:
    try:
        descriptor = open_own_file(lock, mode=0)
    except OSError as error:
        why = (error.strerror or "").rstrip(".")
        raise HomeError(f"The lock {lock} cannot be opened: {why}.", advice="Check its owner and mode.") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise AlreadyAwakeError(f"{refusal} (process {_read_holder(lock)}).", advice=advice) from error
        _write_pid(descriptor)
        yield
    finally:
        os.close(descriptor)


def _read_holder(lock: Path) -> str:
    with contextlib.suppress(OSError):
        return lock.read_bytes()[:32].decode("ascii", "replace").strip() or "unknown"
    return "unknown"


def _write_pid(descriptor: int) -> None:
    """Write our pid into the lock file. On a full disk that fails, but the lock is held (A5)."""
    pid = f"{os.getpid()}\n".encode("ascii")
    with contextlib.suppress(OSError):
        os.pwrite(descriptor, pid, 0)
        os.ftruncate(descriptor, len(pid))


@contextlib.contextmanager
def listening_socket(path: Path) -> Iterator[socket.socket]:
    """Open a listening unix socket at `path` with mode 0600. Call it only while holding the lock.

    A socket left behind by a daemon that died is replaced; anything else at that path is left alone and refused
    (HomeError). At the end the path is removed only if it is still ours.
    """
    _clear_stale(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        before = os.umask(0o177)
        try:
            listener.bind(str(path))
        except OSError as error:
            raise HomeError(
                f"The socket {path} cannot be created: {error.strerror}.", advice="Choose another REVERIES_HOME."
            ) from error
        finally:
            os.umask(before)
        ours = _file_identity(path)
        listener.listen(_LISTEN_BACKLOG)
        listener.setblocking(False)
        yield listener
        if ours is not None and _file_identity(path) == ours:
            path.unlink(missing_ok=True)
    finally:
        listener.close()


def _clear_stale(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise HomeError(
            f"{path} is in the way: it is not a socket, so it was left alone.", advice="Move it, then: reveries wake"
        )
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except OSError as error:
            if error.errno == errno.ECONNREFUSED:
                path.unlink(missing_ok=True)
                return
            raise HomeError(
                f"The socket {path} is in the way: {error.strerror}.", advice="Move it, then: reveries wake"
            ) from error
    raise HomeError(f"Another program listens on {path}.", advice="End it, or choose another REVERIES_HOME.")


def _file_identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino
