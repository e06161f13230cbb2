"""Runs the commands of `offline_process` and prints their frames.

Each command imports what it alone needs: a person waits for it, and with everything it would begin a second later.
"""

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
from reveries.daemon.process.single_instance import hold_lock
from reveries.db.database import Database
from reveries.db.opening import open_database
from reveries.errors import ReveriesError
from reveries.llm.answer_counts import AnswerCounts
from reveries.llm.budget import Ledger
from reveries.llm.circuits import open_circuits
from reveries.llm.tier_results import open_tier_results, read_tier_results


def run_offline_command(arguments: argparse.Namespace, home: Home) -> int:
    """Run the command and return the exit code: 0, or that of the error in the last line."""
    try:
        if arguments.command == "tools":
            from reveries.daemon.program_tools import describe_tools

            _print_frame(protocol.Tools(0, describe_tools()))
            return 0
        settings = _load_command_settings(arguments.command, home)
        if arguments.command == "models":
            asyncio.run(_print_overview(settings, home))
        elif arguments.command.startswith("backup-"):
            _print_frame(_answer_backup(settings, home, arguments.command, arguments.name))
        elif arguments.command.startswith("mind-"):
            _print_frame(_transfer_mind(settings, home, arguments))
        elif arguments.command == "usage":
            asyncio.run(_print_usage(settings, home, arguments.days))
        elif arguments.command == "checkup":
            from reveries.daemon.checkup.inside import check_offline

            _print_frame(asyncio.run(check_offline(settings, home)))
        else:
            asyncio.run(_run_model_tests(settings, home, arguments.role, with_tiers=arguments.with_tiers))
    except ReveriesError as error:
        _print_frame(protocol.Failed(0, error.code, error.message, error.advice))
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    return 0


def _load_command_settings(command: str, home: Home) -> Settings:
    """Load the settings; backup and export also work with a broken file, as safe mode does."""
    if command.startswith("backup-") or command == "mind-export":
        from reveries.daemon.process.safe_mode import settings_in_safe_mode

        return settings_in_safe_mode(home.config)[0]
    return load_settings(home.config)


def _answer_backup(settings: Settings, home: Home, command: str, name: str) -> protocol.Frame:
    from reveries.daemon.offline.backup_answers import (
        create_backup_offline,
        list_backups,
        restore_backup,
        verify_backups,
    )

    match command:
        case "backup-create":
            return asyncio.run(create_backup_offline(settings, home, SystemClock(), _report_progress))
        case "backup-verify":
            return verify_backups(home, name, _report_progress)
        case "backup-restore":
            return restore_backup(settings, home, SystemClock(), name, _report_progress)
        case _:
            return list_backups(home)


def _transfer_mind(settings: Settings, home: Home, arguments: argparse.Namespace) -> protocol.Frame:
    from reveries.daemon.lifecycle.mind_transfer import export_to_file, import_from_file

    def report_rows(rows: int, total: int) -> None:
        _print_frame(protocol.Progress(0, "rows", rows, total))

    file = Path(arguments.file)
    if arguments.command == "mind-import":
        return import_from_file(settings, home, file, report_rows)
    return export_to_file(settings, home, file, arguments.name, report_rows, with_vectors=arguments.with_vectors)


async def _print_overview(settings: Settings, home: Home) -> None:
    from reveries.daemon.models.models_overview import models_overview

    # Printed before the loop is closed, which waits for a DNS look-up of Ollama's host and may take long.
    _print_frame(await models_overview(settings, tested=read_tier_results(home.database(settings))))


async def _print_usage(settings: Settings, home: Home, days: int) -> None:
    """Print the usage from the ledger, which is empty for a new home."""
    from reveries.daemon.models.usage_report import usage_report

    home.create()
    async with contextlib.AsyncExitStack() as stack:
        stack.enter_context(hold_lock(home, home.database(settings)))
        database = await open_database(home.database(settings), home.backups)
        stack.push_async_callback(database.aclose)
        _print_frame(await usage_report(0, _ledger(settings, database, SystemClock()), days))


def _ledger(settings: Settings, database: Database, clock: Clock) -> Ledger:
    from reveries.daemon.models.role_models import longest_call_seconds

    return Ledger(database, clock, lambda: settings.budget, longest_call_seconds=longest_call_seconds(settings.llm))


async def _run_model_tests(settings: Settings, home: Home, role: str, *, with_tiers: bool) -> None:
    """Test the models through the ledger, as the daemon does."""
    from reveries.daemon.models.model_probe import Prober, select_roles
    from reveries.daemon.models.role_models import build_models
    from reveries.daemon.models.tier_test import TierTester

    select_roles(role)
    home.create()
    clock = SystemClock()
    async with contextlib.AsyncExitStack() as stack:
        stack.enter_context(hold_lock(home, home.database(settings)))
        database = await open_database(home.database(settings), home.backups)
        stack.push_async_callback(database.aclose)
        # For waits, not for secrets.
        circuits = await open_circuits(database, clock, random.Random())
        ledger = _ledger(settings, database, clock)
        results = await open_tier_results(database)
        models = await build_models(settings, home, ledger, circuits, clock, results.known)
        stack.push_async_callback(models.aclose)
        counts = AnswerCounts(database)

        prober = Prober(models.first, models.embedder, ledger, circuits, counts, clock, _report_progress)
        tested = protocol.ModelsProbed(0, await prober.probe(role), [])
        if with_tiers:
            tester = TierTester(models.first, models.tier, results, circuits, clock, _report_progress)
            tested = msgspec.structs.replace(tested, tiers=await tester.test(role))
        answers = await counts.counts()
        _print_frame(msgspec.structs.replace(tested, answers=answers))


def _report_progress(what: str, done: int, total: int) -> None:
    _print_frame(protocol.Progress(0, what, done, total))


def _print_frame(frame: protocol.Frame) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(frame) + b"\n")
    sys.stdout.buffer.flush()
