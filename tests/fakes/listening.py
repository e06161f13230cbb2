"""Whether somebody listens: the socket of one who wakes has its name a moment before anybody may connect."""

import socket
import time
from pathlib import Path

_SECONDS = 300.0
"""A hang: on a busy machine a process starts slowly."""


def listens(path: Path) -> bool:
    """Whether a connection is taken there."""
    with socket.socket(socket.AF_UNIX) as one:
        try:
            one.connect(str(path))
        except OSError:
            return False
    return True


def until_it_listens(path: Path) -> None:
    """Wait for another process, which tells nobody."""
    ends = time.monotonic() + _SECONDS
    while not listens(path):
        assert time.monotonic() < ends, f"nobody listens at {path}"
        time.sleep(0.02)
