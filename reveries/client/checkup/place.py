"""The home that is checked, and whether a daemon runs and answers there."""

import asyncio
import contextlib
import errno
import fcntl
import os
import socket
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from reveries.client.checkup.machine import CheckupMachine
from reveries.config import Home, Settings, load_settings
from reveries.errors import ConfigError, ConnectionLostError, HomeError, ReveriesError
from reveries.protocol import AskCheckup, AskStatus, Checkup, Status

_ANSWER_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class DaemonAnswer:
    """What a running daemon answered; `error` if it did not. One too old for a checkup has none."""

    status: Status | None = None
    checkup: Checkup | None = None
    error: ReveriesError | None = None


@dataclass
class Place:
    """What every check reads, found out once."""

    home: Home
    machine: CheckupMachine

    @cached_property
    def is_usable(self) -> bool:
        """Whether there is a home that can be checked further."""
        with contextlib.suppress(HomeError):
            self.home.check()
            return self.home.path.is_dir()
        return False

    @cached_property
    def settings(self) -> Settings | ConfigError:
        """The settings, or why they cannot be read."""
        try:
            return load_settings(self.home.config)
        except ConfigError as error:
            return error

    @cached_property
    def is_running(self) -> bool:
        """Whether a daemon runs here."""
        return lock_is_held(self.home.lock)

    @cached_property
    def answer(self) -> DaemonAnswer | None:
        """What the running daemon answers; None if there is none, or nothing of ours to reach it by."""
        try:
            socket_stat = self.home.socket.lstat()
        except OSError:
            return None
        is_ours = stat.S_ISSOCK(socket_stat.st_mode) and socket_stat.st_uid == self.machine.uid
        return asyncio.run(_ask_daemon(self.home, self.machine.greet_seconds)) if self.is_running and is_ours else None


Repair = Callable[[Path, Place], Iterator[str]]
"""What --fix does about a fault, given where it was found: a sentence for each thing that was done."""


async def _ask_daemon(home: Home, greet_seconds: float) -> DaemonAnswer:
    from reveries.client.connection import connect

    try:
        async with connect(home, client="doctor", seconds=greet_seconds) as mind:
            status = await mind.ask(AskStatus, Status)
            try:
                return DaemonAnswer(status, await mind.ask(AskCheckup, Checkup, seconds=_ANSWER_SECONDS))
            except ConnectionLostError:  # So ends a daemon that does not know the request.
                return DaemonAnswer(status)
    except ReveriesError as error:
        return DaemonAnswer(error=error)


def lock_is_held(lock: Path) -> bool:
    """Whether a daemon is running: the kernel releases the lock when the process ends."""
    try:
        with lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


@contextlib.contextmanager
def hold_lock(lock: Path) -> Iterator[bool]:
    """Try to hold the daemon's lock, so that none starts meanwhile; yields whether that worked."""
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(descriptor)


def connect_error(path: Path) -> int | None:
    """Return the errno of connecting to the socket; None on success."""
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except OSError as error:
            return error.errno or errno.ETIMEDOUT
    return None


def close_to_others(path: Path, _: Place) -> Iterator[str]:
    """Repair: let only the owner read and write `path`."""
    mode = 0o700 if path.is_dir() else 0o600
    path.chmod(mode)
    yield f"Closed {path} to others (mode {mode:o})."
