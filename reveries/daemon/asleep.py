"""What the owner may ask of a mind that sleeps, done by a process of its own that the client starts and listens to:

    python -m reveries.daemon.asleep models
    python -m reveries.daemon.asleep test [--role ROLE]

It writes frames of the protocol on standard output, one JSON object a line: `Progress`, and at last what a waking mind
would answer, or `Failed`. `test` makes calls, so it holds the daemon's lock and uses the same ledger.
"""

import argparse
import asyncio
import contextlib
import os
import random
import sys

import msgspec

from reveries import protocol
from reveries.clock import SystemClock
from reveries.config import Home, Settings, find_home, load_settings
from reveries.daemon.instance import hold_lock
from reveries.daemon.models import build_models
from reveries.daemon.models_overview import answer_frame, models_overview
from reveries.daemon.probing import Prober, roles_named
from reveries.db.database import open_database
from reveries.errors import ReveriesError
from reveries.llm.answer_counts import AnswerCounts
from reveries.llm.budget import Ledger
from reveries.llm.circuits import open_circuits


def main(words: list[str] | None = None) -> int:
    """The exit code: 0, or that of the error that the last line tells."""
    parser = argparse.ArgumentParser(prog="python -m reveries.daemon.asleep")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("models")
    commands.add_parser("test").add_argument("--role", default="")
    arguments = parser.parse_args(words)
    os.umask(0o077)
    try:
        home = find_home()
        settings = load_settings(home.config)
        if arguments.command == "models":
            _tell(asyncio.run(models_overview(settings)))
        else:
            _tell(asyncio.run(_test(settings, home, arguments.role)))
    except ReveriesError as error:
        _tell(protocol.Failed(0, error.code, error.message, error.advice))
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    return 0


async def _test(settings: Settings, home: Home, role: str) -> protocol.ModelsProbed:
    """The daemon's own way to its models, without the daemon."""
    roles_named(role)
    home.create()
    clock = SystemClock()
    async with contextlib.AsyncExitStack() as stack:
        stack.enter_context(hold_lock(home))
        database = await open_database(home.database(settings), home.backups)
        stack.push_async_callback(database.aclose)
        # Chance for waits, not for secrets.
        circuits = await open_circuits(database, clock, random.Random())
        models = await build_models(settings, home, Ledger(database, clock, settings.budget), circuits, clock)
        stack.push_async_callback(models.aclose)
        counts = AnswerCounts(database)

        def tell(what: str, done: int, total: int) -> None:
            _tell(protocol.Progress(0, what, done, total))

        prober = Prober(models.chat, models.embedder, counts, clock, tell)
        probes = await prober.probe(role)
        return protocol.ModelsProbed(0, probes, [answer_frame(count) for count in await counts.counts()])


def _tell(frame: protocol.Frame) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(frame) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    raise SystemExit(main())
