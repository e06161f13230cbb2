"""What a process of ours does for itself before anything that was said is in its memory."""

import ctypes
import os
import resource
import sys
from pathlib import Path

_PR_SET_DUMPABLE = 4
_TLS_KEYS_FILE = "SSLKEYLOGFILE"
"""Where OpenSSL's users write by which what they sent can be read: prompts, and the key with them."""
_NO_CORE = 1
"""Bytes. No file fits into that, and Linux pipes none to a program either: a limit of 0 it passes over for a pipe."""


def keep_to_itself() -> None:
    """No core dump, in a file or through a pipe, and on Linux nobody but root looks into its memory or its environment,
    not even other programs of the same user; and nothing is written down by which its TLS can be read. Children that
    are another program do it again for themselves."""
    os.environ.pop(_TLS_KEYS_FILE, None)
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    limit = _NO_CORE if sys.platform == "linux" and hard != 0 else 0
    resource.setrlimit(resource.RLIMIT_CORE, (limit, limit))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def keep_temporary_files_in(folder: Path) -> None:
    """What SQLite needs for a moment and does not hold in memory (a large memory written anew, say) goes into `folder`,
    not into a place for everybody's. It asks once, when it is loaded: call this before."""
    os.environ["SQLITE_TMPDIR"] = str(folder)
