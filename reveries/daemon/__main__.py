"""`python -m reveries.daemon [--config FILE] [--safe]`: the mind itself, in the foreground.

`reveries wake` starts it detached.
"""

import argparse
import asyncio
import faulthandler
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from reveries.api_keys import secrets_at
from reveries.clock import SystemClock
from reveries.config import Home, find_home, load_settings
from reveries.daemon.process_memory import keep_heap_small
from reveries.error_location import trace_of
from reveries.errors import ReveriesError
from reveries.own_process import keep_temporary_files_in, keep_to_itself
from reveries.redaction import redacted, spellings

if TYPE_CHECKING:
    from reveries.daemon.app import Wake


def main() -> None:
    """Wake, live, and end with the exit code of errors.py. What went wrong is one sentence on the last line."""
    parser = argparse.ArgumentParser(prog="reveries.daemon")
    parser.add_argument("--config", type=Path, default=None)
    parser.add_argument("--safe", action="store_true", help="Safe mode: show what it knows, do nothing else.")
    arguments = parser.parse_args()
    os.umask(0o077)
    keep_to_itself()
    keep_heap_small()
    # Who ends a daemon that hangs (systemd's watchdog: SIGABRT) is to leave word of where it hung.
    if sys.stderr is not None:  # Started with it closed, there is nowhere to leave it.
        faulthandler.enable()
    # One BLAS thread: the arrays are small, and the model needs the cores.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    home = find_home()
    try:
        file = arguments.config or home.config
        # Late, so that a wrong setting is told before anything heavy is loaded.
        settings = None if arguments.safe else load_settings(file)
        home.create()
        keep_temporary_files_in(home.database(settings).parent if settings is not None else home.path)
        from reveries.daemon.app import Wake, live

        wake = Wake(settings, home, file) if settings is not None else _safe_wake(home, file)
        sys.exit(asyncio.run(live(wake, SystemClock())))
    except ReveriesError as error:
        _print_error(f"reveries: {redacted(str(error), spellings(secrets_at(home)))}\n")
        sys.exit(error.exit_code)
    except Exception as error:  # noqa: BLE001  # A named boundary: what nobody foresaw, without a word that was said.
        _print_error(redacted(trace_of(error), spellings(secrets_at(home))))
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


def _print_error(words: str) -> None:
    """Where errors go nowhere, the exit code tells alone."""
    if sys.stderr is not None:
        sys.stderr.write(words)


def _safe_wake(home: Home, file: Path) -> "Wake":
    from reveries.daemon.app import Wake
    from reveries.daemon.safe_mode import settings_in_safe_mode

    settings, wrong = settings_in_safe_mode(file)
    return Wake(settings, home, file, safe_because=wrong or "You asked for it.")


if __name__ == "__main__":
    main()
