"""The repairs of `reveries doctor --fix`: file modes, a stale socket, partial files, missing folders.

Nothing is removed that may be of use or might not be ours.
"""

import contextlib
import fcntl
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from reveries.client.checkup.daemon_check import is_stale_socket
from reveries.client.checkup.home_check import list_exposed_files, list_partial_files
from reveries.client.checkup.machine import CheckupMachine
from reveries.config import Home
from reveries.protocol import Finding


def repair(findings: Sequence[Finding], home: Home, machine: CheckupMachine) -> list[str]:
    """Repair what can be repaired; a sentence for each repair, or for its failure."""
    done: list[str] = []
    for fault, where in dict.fromkeys((finding.fault, finding.where) for finding in findings if finding.is_mendable):
        try:
            done += _repair_fault(fault, Path(where), home, machine)
        except OSError as error:
            done.append(f"Not done ({fault}): {error.strerror or error}.")
    return done


def _repair_fault(fault: str, where: Path, home: Home, machine: CheckupMachine) -> Iterator[str]:
    match fault:
        case "home-mode":
            yield _close_to_others(home.path, 0o700)
        case "file-mode":
            for path in list_exposed_files(home):
                yield _close_to_others(path, 0o700 if path.is_dir() else 0o600)
        case "socket-mode":
            if stat.S_ISSOCK(where.lstat().st_mode):
                yield _close_to_others(where, 0o600)
        case "key-file-mode":
            yield _close_to_others(where, 0o600)
        case "folder-missing":
            where.mkdir(mode=0o700, exist_ok=True)
            yield f"Created {where}."
        case "socket-stale":
            yield from _remove_socket(home)
        case _:
            yield from _remove_partial_files(home, machine)


def _close_to_others(path: Path, mode: int) -> str:
    path.chmod(mode)
    return f"Closed {path} to others (mode {mode:o})."


def _remove_socket(home: Home) -> Iterator[str]:
    """Remove the stale socket, holding the daemon's lock so that none can create it meanwhile."""
    with _hold_lock(home.lock) as is_ours:
        if is_ours and is_stale_socket(home.socket):
            home.socket.unlink()
            yield f"Removed the stale socket {home.socket}."
        else:
            yield "Kept the socket: a daemon is starting."


def _remove_partial_files(home: Home, machine: CheckupMachine) -> Iterator[str]:
    with _hold_lock(home.lock) as is_ours:
        if not is_ours:
            yield "Kept the partial files: a daemon is awake and may be writing one."
            return
        for part in list_partial_files(home, machine.now()):
            part.unlink()
            yield f"Removed {part}."


@contextlib.contextmanager
def _hold_lock(path: Path) -> Iterator[bool]:
    """Try to hold the daemon's lock within the context; yields whether that worked."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)
