"""`python -m reveries.daemon [--config FILE] [--safe]`: runs the daemon in the foreground; `reveries wake` detaches
it."""

import argparse
import asyncio
import faulthandler
import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from reveries.api_keys import load_home_secrets
from reveries.clock import SystemClock
from reveries.config import Home, find_home, load_settings
from reveries.daemon.process.process_memory import keep_heap_small
from reveries.error_location import format_trace
from reveries.errors import ReveriesError
from reveries.own_process import protect_process, set_sqlite_temp_folder
from reveries.redaction import list_spellings, redact

if TYPE_CHECKING:
    from reveries.daemon.app import Wake


def main() -> None:
    """Run the daemon and exit with a code of errors.py. An error is one sentence on the last line."""
    parser = argparse.ArgumentParser(prog="reveries.daemon")
    parser.add_argument("--config", type=Path, default=None)
    parser.add_argument("--safe", action="store_true", help="Safe mode: show what it knows, do nothing else.")
    arguments = parser.parse_args()
    os.umask(0o077)
    protect_process()
    keep_heap_small()
    # A hanging daemon that is ended by systemd's watchdog (SIGABRT) writes where it hung.
    if sys.stderr is not None:  # None if it was started with standard error closed.
        faulthandler.enable()
    # One BLAS thread: the arrays are small, and the model needs the cores.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    home = find_home()
    try:
        file = arguments.config or home.config
        # Imports come later, so that a wrong setting is reported before anything heavy is loaded.
        settings = None if arguments.safe else load_settings(file)
        home.create()
        set_sqlite_temp_folder(home.database(settings).parent if settings is not None else home.path)
        gc.disable()  # Little of what is imported is garbage: looking for it takes a tenth of the time of importing.
        from reveries.daemon.app import Wake, live

        gc.freeze()
        gc.enable()
        wake = Wake(settings, home, file) if settings is not None else _safe_wake(home, file)
        sys.exit(asyncio.run(live(wake, SystemClock())))
    except ReveriesError as error:
        _print_error(f"reveries: {redact(str(error), list_spellings(load_home_secrets(home)))}\n")
        sys.exit(error.exit_code)
    except Exception as error:  # noqa: BLE001  # A named boundary: unexpected errors are shown without private text.
        _print_error(redact(format_trace(error), list_spellings(load_home_secrets(home))))
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


def _print_error(words: str) -> None:
    """Write to standard error if it is open; otherwise the exit code must do."""
    if sys.stderr is not None:
        sys.stderr.write(words)


def _safe_wake(home: Home, file: Path) -> "Wake":
    from reveries.daemon.app import Wake
    from reveries.daemon.process.safe_mode import settings_in_safe_mode

    settings, wrong = settings_in_safe_mode(file)
    return Wake(settings, home, file, safe_because=wrong or "You asked for it.")


if __name__ == "__main__":
    main()
