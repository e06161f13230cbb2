"""Write unexpected errors of the client to client.log in the home, for whoever fixes them."""

import datetime as dt
import os
from pathlib import Path

from reveries import __version__
from reveries.api_keys import load_home_secrets
from reveries.config import Home
from reveries.error_location import format_trace
from reveries.own_files import open_own_file
from reveries.redaction import list_spellings, redact
from reveries.safe_text import plain

_LIMIT_BYTES = 1_000_000


def write_crash(error: BaseException, home: Home) -> Path | None:
    """Append the type and traceback of `error` to client.log in the home's logs (0600). Return the path; None if it
    could not be written. Its message and locals are left out: they may contain what the owner said."""
    log = home.logs / "client.log"
    trace = redact(format_trace(error), list_spellings(load_home_secrets(home)))
    head = f"{dt.datetime.now(dt.UTC).isoformat(timespec='seconds')} reveries {__version__} {type(error).__name__}"
    try:
        log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_APPEND
        if log.exists() and log.stat().st_size > _LIMIT_BYTES:
            flags |= os.O_TRUNC
        with os.fdopen(open_own_file(log, flags), "a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{head}\n{plain(trace)}\n")
    except OSError:
        return None
    return log


def log_crash(error: BaseException, home: Home) -> str:
    """Log `error`, and return a message that says where."""
    where = write_crash(error, home)
    details = (
        f"The details are in {where}." if where else f"It was a {type(error).__name__}, which could not be logged."
    )
    return f"An unexpected error occurred. {details}"
