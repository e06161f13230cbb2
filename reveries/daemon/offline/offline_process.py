"""Commands that work while no daemon runs, in a process that the client starts and reads from:

    python -m reveries.daemon.offline.offline_process models
    python -m reveries.daemon.offline.offline_process test [--role ROLE] [--with-tiers]
    python -m reveries.daemon.offline.offline_process usage [--days N]
    python -m reveries.daemon.offline.offline_process checkup
    python -m reveries.daemon.offline.offline_process tools
    python -m reveries.daemon.offline.offline_process mind-export --file F [--name BACKUP] [--with-vectors]
    python -m reveries.daemon.offline.offline_process mind-import --file F
    python -m reveries.daemon.offline.offline_process backup-create | backup-list
    python -m reveries.daemon.offline.offline_process backup-verify [--name N] | backup-restore [--name N]

It writes protocol frames on standard output, one JSON object a line: `Progress`, and last the answer that the daemon
would give, or `Failed`. `test`, `usage` and `checkup` hold the daemon's lock and use the same ledger; `test` makes
calls.
"""

import argparse
import contextlib
import logging
import os
from pathlib import Path

from reveries.config import Home, find_home, load_settings
from reveries.errors import ReveriesError
from reveries.own_process import protect_process, set_sqlite_temp_folder


def main(words: list[str] | None = None) -> int:
    """Run a command and return the exit code: 0, or that of the error in the last line."""
    arguments = _argument_parser().parse_args(words)
    os.umask(0o077)
    protect_process()
    # There is no log here, and warnings of libraries may quote private text: keep them off standard error.
    logging.getLogger().addHandler(logging.NullHandler())
    logging.captureWarnings(True)
    home = find_home()
    set_sqlite_temp_folder(_folder_of_memory(home))
    from reveries.daemon.offline.offline_answers import (
        run_offline_command,
    )  # Late: SQLite reads its temporary folder when it is loaded.

    return run_offline_command(arguments, home)


def _argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m reveries.daemon.offline.offline_process")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("models")
    test = commands.add_parser("test")
    test.add_argument("--role", default="")
    test.add_argument("--with-tiers", action="store_true")
    commands.add_parser("usage").add_argument("--days", type=int, default=30)
    commands.add_parser("checkup")
    commands.add_parser("tools")
    for name in ("create", "list", "verify", "restore"):
        commands.add_parser(f"backup-{name}").add_argument("--name", default="")
    for name in ("export", "import"):
        moving = commands.add_parser(f"mind-{name}")
        moving.add_argument("--file", required=True)
        moving.add_argument("--name", default="")
        moving.add_argument("--with-vectors", action="store_true")
    return parser


def _folder_of_memory(home: Home) -> Path:
    """Return the folder of the memory; the default if the settings cannot be read, which is reported later."""
    with contextlib.suppress(ReveriesError):
        return home.database(load_settings(home.config)).parent
    return home.path


if __name__ == "__main__":
    raise SystemExit(main())
