"""What reveries/daemon/offline_process.py is asked for: the work itself, and the frames that it tells."""

import argparse
import asyncio
import contextlib
import random
import sys
from pathlib import Path

import msgspec

from reveries import protocol
from reveries.clock import Clock, SystemClock
from reveries.config import Home, Settings, load_settings
from reveries.daemon.backup_answers import create_backup_offline, list_backups, restore_backup, verify_backups
from reveries.daemon.checkup import check_offline
from reveries.daemon.mind_transfer import brought_in, taken_out
from reveries.daemon.model_probe import Prober, roles_named
from reveries.daemon.models import build_models, longest_call_seconds
from reveries.daemon.models_overview import answer_frame, models_overview
from reveries.daemon.safe_mode import settings_in_safe_mode
from reveries.daemon.single_instance import hold_lock
from reveries.daemon.tier_test import TierTester
from reveries.daemon.usage_report import usage_report
from reveries.db.database import Database
from reveries.db.opening import open_database
from reveries.errors import ReveriesError
from reveries.llm.answer_counts import AnswerCounts
from reveries.llm.budget import Ledger
from reveries.llm.circuits import open_circuits
from reveries.llm.tier_results import look_at_tier_results, open_tier_results


def done(arguments: argparse.Namespace, home: Home) -> int:
    """Do it; the exit code: 0, or that of the error that the last line tells."""
    try:
        settings = _settings(arguments.command, home)
        if arguments.command == "models":
            asyncio.run(_overview(settings, home))
        elif arguments.command.startswith("backup-"):
            _print_frame(_backup(settings, home, arguments.command, arguments.name))
        elif arguments.command.startswith("mind-"):
            _print_frame(_move(settings, home, arguments))
        elif arguments.command == "usage":
            asyncio.run(_print_usage(settings, home, arguments.days))
        elif arguments.command == "checkup":
            _print_frame(asyncio.run(check_offline(settings, home)))
        else:
            asyncio.run(_test(settings, home, arguments.role, with_tiers=arguments.with_tiers))
    except ReveriesError as error:
        _print_frame(protocol.Failed(0, error.code, error.message, error.advice))
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    return 0


def _settings(command: str, home: Home) -> Settings:
    """For copies, and for taking a mind out, of a file that is wrong what safe mode takes: they must work then too."""
    if command.startswith("backup-") or command == "mind-export":
        return settings_in_safe_mode(home.config)[0]
    return load_settings(home.config)


def _backup(settings: Settings, home: Home, command: str, name: str) -> protocol.Frame:
    match command:
        case "backup-create":
            return asyncio.run(create_backup_offline(settings, home, SystemClock(), _report_progress))
        case "backup-verify":
            return verify_backups(home, name, _report_progress)
        case "backup-restore":
            return restore_backup(settings, home, SystemClock(), name, _report_progress)
        case _:
            return list_backups(home)


def _move(settings: Settings, home: Home, arguments: argparse.Namespace) -> protocol.Frame:
    def tell(rows: int, total: int) -> None:
        _print_frame(protocol.Progress(0, "rows", rows, total))

    file = Path(arguments.file)
    if arguments.command == "mind-import":
        return brought_in(settings, home, file, tell)
    return taken_out(settings, home, file, arguments.name, tell, with_vectors=arguments.with_vectors)


async def _overview(settings: Settings, home: Home) -> None:
    # Told before the loop is closed: that waits for a look-up of Ollama's name, which may take longer than we do.
    _print_frame(await models_overview(settings, tested=look_at_tier_results(home.database(settings))))


async def _print_usage(settings: Settings, home: Home, days: int) -> None:
    """What the ledger has. Whoever was never awake has a ledger too: an empty one."""
    home.create()
    async with contextlib.AsyncExitStack() as stack:
        stack.enter_context(hold_lock(home, home.database(settings)))
        database = await open_database(home.database(settings), home.backups)
        stack.push_async_callback(database.aclose)
        _print_frame(await usage_report(0, _ledger(settings, database, SystemClock()), days))


def _ledger(settings: Settings, database: Database, clock: Clock) -> Ledger:
    return Ledger(database, clock, settings.budget, longest_call_seconds=longest_call_seconds(settings.llm))


async def _test(settings: Settings, home: Home, role: str, *, with_tiers: bool) -> None:
    """The daemon's own way to its models, without the daemon."""
    roles_named(role)
    home.create()
    clock = SystemClock()
    async with contextlib.AsyncExitStack() as stack:
        stack.enter_context(hold_lock(home, home.database(settings)))
        database = await open_database(home.database(settings), home.backups)
        stack.push_async_callback(database.aclose)
        # Chance for waits, not for secrets.
        circuits = await open_circuits(database, clock, random.Random())
        ledger = _ledger(settings, database, clock)
        results = await open_tier_results(database)
        models = await build_models(settings, home, ledger, circuits, clock, results.known)
        stack.push_async_callback(models.aclose)
        counts = AnswerCounts(database)

        def tell(what: str, done: int, total: int) -> None:
            _print_frame(protocol.Progress(0, what, done, total))

        prober = Prober(models.first, models.embedder, ledger, circuits, counts, clock, tell)
        tested = protocol.ModelsProbed(0, await prober.probe(role), [])
        if with_tiers:
            tester = TierTester(models.first, models.tier, results, circuits, clock, tell)
            tested = msgspec.structs.replace(tested, tiers=await tester.test(role))
        answers = [answer_frame(count) for count in await counts.counts()]
        _print_frame(msgspec.structs.replace(tested, answers=answers))


def _report_progress(what: str, done: int, total: int) -> None:
    _print_frame(protocol.Progress(0, what, done, total))


def _print_frame(frame: protocol.Frame) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(frame) + b"\n")
    sys.stdout.buffer.flush()
