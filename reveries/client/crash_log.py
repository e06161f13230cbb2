"""What went wrong in the client without being foreseen, written to the home's client.log for whoever mends it."""

import datetime as dt
import os
from pathlib import Path

from reveries import __version__
from reveries.api_keys import secrets_at
from reveries.config import Home
from reveries.error_location import trace_of
from reveries.own_files import open_own
from reveries.redaction import redacted, spellings
from reveries.safe_text import plain

_LIMIT_BYTES = 1_000_000


def write_down(error: BaseException, home: Home) -> Path | None:
    """Append where `error` was raised, and its kind, to client.log in the home's logs (0600). Where that is; None if
    it could not be written. Neither its words nor locals are written: they may hold what the owner said."""
    log = home.logs / "client.log"
    trace = redacted(trace_of(error), spellings(secrets_at(home)))
    head = f"{dt.datetime.now(dt.UTC).isoformat(timespec='seconds')} reveries {__version__} {type(error).__name__}"
    try:
        log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_APPEND
        if log.exists() and log.stat().st_size > _LIMIT_BYTES:
            flags |= os.O_TRUNC
        with os.fdopen(open_own(log, flags), "a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{head}\n{plain(trace)}\n")
    except OSError:
        return None
    return log


def unforeseen(error: BaseException, home: Home) -> str:
    """Write `error` down; a sentence that says where."""
    where = write_down(error, home)
    told = f"The details are in {where}." if where else f"It was a {type(error).__name__}, and it could not be logged."
    return f"Something went wrong that should not have. {told}"
