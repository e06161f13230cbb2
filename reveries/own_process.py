"""Hardening of our own processes, done before private text is in memory."""

import ctypes
import os
import resource
import sys
from pathlib import Path

_PR_SET_DUMPABLE = 4
_TLS_KEYS_FILE = "SSLKEYLOGFILE"
"""Names a file for TLS session keys; with it others could decrypt our traffic, prompts and API key included."""
_NO_CORE = 1
"""Bytes. Too small for a core file. Unlike 0, Linux also honours it when core dumps are piped to a program."""


def protect_process() -> None:
    """Disable core dumps (to a file or a pipe) and TLS key logging; on Linux also hide the process's memory and
    environment from other programs of the same user. Child processes that run another program must call it again."""
    os.environ.pop(_TLS_KEYS_FILE, None)
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    limit = _NO_CORE if sys.platform == "linux" and hard != 0 else 0
    resource.setrlimit(resource.RLIMIT_CORE, (limit, limit))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def set_sqlite_temp_folder(folder: Path) -> None:
    """Make SQLite put its temporary files into `folder` and not into a shared place such as /tmp; a VACUUM of a large
    memory needs them. SQLite reads this when it is loaded: call this before."""
    os.environ["SQLITE_TMPDIR"] = str(folder)
