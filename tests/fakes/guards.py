"""Audit hooks for the tests: they see what Python does from below, without a patch."""

import os
from pathlib import Path
from typing import Final

_OWN_DESCRIPTORS: Final = Path("/proc/self/fd")
_LOCKED_SUFFIXES: Final = (".db", ".db-shm")
_LOG_SUFFIX: Final = ".db-wal"
"""SQLite takes no lock on its log (os_unix.c, unixOpen: all but the main file do without), so reading it drops none."""
_LOOPBACK: Final = ("localhost", "::1", "", None)


class DatabaseOpenedError(AssertionError):
    """Python code opened, by its path, a database file that SQLite holds in this process."""


class NetworkRefusedError(AssertionError):
    """A test tried to reach another machine."""


class DatabaseGuard:
    """Refuses the opening, and keeps what it saw in `seen`. Looks only where /proc tells which files are open."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if event != "open":
            return
        name, _, flags = arguments
        path = os.fsdecode(name) if isinstance(name, str | bytes | os.PathLike) else ""
        is_harmless = path.endswith(_LOG_SUFFIX) and isinstance(flags, int) and flags & os.O_ACCMODE == os.O_RDONLY
        if path.endswith((*_LOCKED_SUFFIXES, _LOG_SUFFIX)) and not is_harmless and _is_held(path):
            self.seen.append(path)
            raise DatabaseOpenedError(f"{path} was opened by Python while SQLite holds it.")


class NetworkGuard:
    """Refuses every look-up and every connection that is not to this machine."""

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if event == "socket.getaddrinfo":
            self._check(arguments[0])
        elif event in ("socket.connect", "socket.sendto"):
            address = arguments[1]
            if isinstance(address, tuple):
                self._check(address[0])

    def _check(self, host: object) -> None:
        if isinstance(host, bytes):
            host = host.decode("ascii", "replace")
        if host not in _LOOPBACK and not str(host).startswith("127."):
            raise NetworkRefusedError(f"A test tried to reach {host}.")


def _is_held(path: str) -> bool:
    """Whether a descriptor of this process is open on `path`."""
    wanted = Path(path).resolve()
    try:
        descriptors = list(_OWN_DESCRIPTORS.iterdir())
    except OSError:
        return False
    for descriptor in descriptors:
        try:
            if descriptor.readlink() == wanted:
                return True
        except OSError:
            continue
    return False
