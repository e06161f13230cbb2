"""Builds the daemon from top to bottom: settings, lock, log, database, models, memory, the mind (`mind_builder`), jobs,
and the socket last. Everything is opened on one exit stack, so it is closed in exact reverse order."""

import asyncio
import contextlib
import gc
import os
import random
import secrets
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import structlog
from apscheduler.triggers.interval import IntervalTrigger

from reveries import __version__
from reveries.api_keys import known_secrets
from reveries.clock import Clock
from reveries.config import Home, Settings
from reveries.crash_history import clear_crash_history, record_start
from reveries.daemon import requests
from reveries.daemon.due_notes import make_reminders
from reveries.daemon.forgetting import scrub_after_restore
from reveries.daemon.lifecycle.recovery import live_with_recovery, supervise
from reveries.daemon.lifecycle.watchdog import BACKUP, LIGHT_SLEEP, REPLY, REST, SCHEDULE, STORAGE, THINKING
from reveries.daemon.mind import Mind
from reveries.daemon.mind_builder import build_mind, load_guards
from reveries.daemon.mind_parts import MindParts
from reveries.daemon.models.embedders import wait_for_embedder
from reveries.daemon.models.role_models import Models, build_models, longest_call_seconds
from reveries.daemon.models.safe_mode_models import safe_models
from reveries.daemon.occupations.schedule import Schedule, ScheduledJob
from reveries.daemon.process.home_files import clear_partial_files
from reveries.daemon.process.logs import log_to
from reveries.daemon.process.loop_lag import LoopLag, report_hangs
from reveries.daemon.process.process_memory import give_back_free_memory
from reveries.daemon.process.safe_mode import (
    require_memory,
    safe_mode_sentence,
    why_after_crashes,
    without_background,
)
from reveries.daemon.process.service_manager import notify_waiting
from reveries.daemon.process.settings_in_force import SettingsInForce
from reveries.daemon.process.single_instance import hold_lock, listening_socket
from reveries.daemon.requests.clients import AttachedClients
from reveries.daemon.requests.registry import DetachedTasks, RequestDispatcher
from reveries.daemon.senses.battery import on_battery
from reveries.daemon.senses.folder_watch import FolderWatch
from reveries.daemon.server import Server
from reveries.daemon.shutdown import Shutdown, wind_down
from reveries.daemon.talk.conversation import Conversation
from reveries.daemon.talk.sentence_embedding import SentenceEmbeddings
from reveries.db.database import Database
from reveries.db.failpoints import Step, reach_step
from reveries.db.opening import open_database
from reveries.errors import ReveriesError, StorageDamagedError, StorageLostError
from reveries.knowledge.project_knowledge import ProjectKnowledge
from reveries.llm.answer_counts import AnswerCounts
from reveries.llm.budget import Ledger
from reveries.llm.circuits import open_circuits
from reveries.llm.tier_results import open_tier_results
from reveries.memory.conversations import MAIN_CHANNEL
from reveries.memory.memory import Memory, MemoryParts
from reveries.protocol.checkup import modules_in
from reveries.safety.journal import SafetyJournal

log = structlog.get_logger("daemon")
modules_in(requests)  # The folder is the list: each module registers its handlers.

_EPOCH = datetime(2020, 1, 1, tzinfo=UTC)
_SAFE_MODE_TASKS = frozenset({"erased-again", "conversation", "room", "schedule", "loop-lag", "watchdog"})
"""The supervised tasks that run in safe mode. `erased-again` erases what a restored backup brought back."""


class _Ended(Exception):  # Not an error: raised to end the task group and every task in it.
    """The daemon was asked to end and has shut down."""


@dataclass(frozen=True, slots=True)
class Wake:
    """Options of one start. `safe_because` says why to start in safe mode; empty for a normal start."""

    settings: Settings
    home: Home
    config_file: Path
    safe_because: str = ""


async def live(wake: Wake, clock: Clock) -> int:
    """Start the mind, run it until asked to end, close it; return the exit code. Raises ReveriesError if it cannot
    start. A request to end also ends a start that is still going on.

    If the memory is found damaged, the newest intact backup replaces it, once (A8). After repeated crashes it starts in
    safe mode (B6).
    """
    settings, home, ending = wake.settings, wake.home, Shutdown()
    with (
        hold_lock(home, home.database(settings)),
        log_to(home.logs, settings.log.level, known_secrets(settings.llm)),
        ending.handling_signals(),
    ):
        if why := wake.safe_because or why_after_crashes(home, clock.now()):
            require_memory(home.database(settings), home.backups)
            wake = Wake(without_background(settings), home, wake.config_file, safe_mode_sentence(why))
        log.info("waking", version=__version__, is_safe=bool(why))
        record_start(home, clock.now())
        if cleared := clear_partial_files(home, home.database(settings), clock.now()):
            log.info("leftovers.cleared", files=cleared)

        async def life(awake: asyncio.Event) -> int:
            return await _live_until_ended(wake, clock, awake, ending)

        try:
            return await live_with_recovery(life, home.database(settings), home.backups, clock)
        except (ReveriesError, asyncio.CancelledError) as error:  # An explained error or a request to end is no crash.
            clear_crash_history(home)
            if isinstance(error, ReveriesError) or not ending.requested.is_set():
                raise
            # A thread may still be restoring a backup: hold the lock until it is done.
            await asyncio.get_running_loop().shutdown_default_executor()
            log.info("wake.cancelled")
            return 0


async def _live_until_ended(wake: Wake, clock: Clock, awake: asyncio.Event, ending: Shutdown) -> int:
    settings, home, safe_because = wake.settings, wake.home, wake.safe_because
    async with contextlib.AsyncExitStack() as stack:
        database = await open_database(home.database(settings), home.backups)
        stack.push_async_callback(database.aclose)
        database.has_conversation = True
        in_force = SettingsInForce(wake.config_file, settings)
        longest_call = longest_call_seconds(settings.llm)
        ledger = Ledger(database, clock, lambda: in_force.current.budget, longest_call_seconds=longest_call)
        circuits = await open_circuits(database, clock, random.Random())
        tier_results = await open_tier_results(database)
        if safe_because:
            models = await safe_models(database, circuits)
        else:
            models = await build_models(settings, home, ledger, circuits, clock, tier_results.known)
        stack.push_async_callback(models.aclose)
        models.require_weights()
        answers = AnswerCounts(database)
        memory = _build_memory(in_force, database, models, answers, clock)
        # The memory is not garbage: collections while it is loaded take time, and each later one would block the
        # loop (a tenth of a second was measured at 100,000 episodes on a busy machine).
        gc.disable()
        try:
            await memory.hydrate(from_rows=bool(safe_because))
            gc.freeze()
        finally:
            gc.enable()
        stack.push_async_callback(memory.close)
        if not safe_because:
            stack.push_async_callback(memory.save_last_snapshot)
        parts = MindParts(
            in_force=in_force,
            home=home,
            clock=clock,
            database=database,
            ledger=ledger,
            models=models,
            memory=memory,
            knowledge=ProjectKnowledge(database, models.embedder, clock, memory.new_id),
            answers=answers,
            tier_results=tier_results,
            journal=SafetyJournal(database, clock),
            lag=LoopLag(clock),
            read_power=on_battery,
            safe_because=safe_because,
        )
        meanings = SentenceEmbeddings(models.embedding.bare)
        guards = await load_guards(models, meanings)
        mind = build_mind(parts, guards, random.Random())  # For thoughts and waits, not for secrets.
        await mind.conversations.open()
        if not safe_because:
            await mind.thinking.restore()
        reach_step(Step.WOKEN)
        awake.set()
        listener = stack.enter_context(listening_socket(home.socket))
        clear_crash_history(home)
        await asyncio.to_thread(database.clear_pending_notice)
        ending.is_waking = False
        await _run_mind(mind, listener, meanings, ending)
    # The disk may fail after the request to end, when the exit code is set already.
    return StorageLostError.exit_code if database.is_lost else ending.exit_code


def _build_memory(
    in_force: SettingsInForce, database: Database, models: Models, answers: AnswerCounts, clock: Clock
) -> Memory:
    return Memory(
        MemoryParts(
            database=database,
            embedder=models.embedder,
            clock=clock,
            memory=lambda: in_force.current.memory,
            recall=lambda: in_force.current.recall,
            owner_name=lambda: in_force.current.owner.name,
            mind_name=in_force.current.mind.name,
            new_id=_new_id,
            old_embedder=models.embedding.old,
            answers=answers,
        )
    )


async def _run_mind(mind: Mind, listener: socket.socket, meanings: SentenceEmbeddings, ending: Shutdown) -> None:
    try:
        async with asyncio.TaskGroup() as tasks:
            await _start_tasks(mind, listener, tasks, ending, meanings)
            await ending.requested.wait()
            await wind_down(mind, ending)
            raise _Ended
    except* _Ended:
        log.info("closing", exit_code=ending.exit_code)
        reach_step(Step.CLOSING)
    except* StorageLostError as errors:
        log.exception("storage.lost")
        ending.exit_code = StorageLostError.exit_code
        if errors.subgroup(StorageDamagedError) is not None:
            mind.database.suspect("it was seen while the mind was awake")


async def _start_tasks(
    mind: Mind, listener: socket.socket, tasks: asyncio.TaskGroup, ending: Shutdown, meanings: SentenceEmbeddings
) -> None:
    """Start every long-running task; return when clients can connect. All but the server are supervised."""

    def storage_lost(error: StorageLostError) -> None:
        log.error("storage.lost", why=error.message)
        if isinstance(error, StorageDamagedError):
            mind.database.suspect(error.message)
        ending.storage_lost(error.exit_code)

    clients = AttachedClients(mind.conversations)
    clients.follow(mind.events)
    requests = RequestDispatcher(mind, clients, DetachedTasks(tasks, storage_lost), ending.fall_asleep)
    server = Server(
        mind=mind.settings.mind.name,
        clock=mind.clock,
        handle=requests.handle,
        on_gone=clients.detach,
        on_storage_lost=storage_lost,
        secrets=known_secrets(mind.settings.llm),
    )
    listening = asyncio.Event()
    tasks.create_task(server.run(listener, listening), name="server")
    schedule = Schedule(mind.database, mind.clock, scheduled_jobs(mind))
    for name, task in supervised_tasks(mind, schedule, meanings).items():
        if mind.safe_because and name not in _SAFE_MODE_TASKS:
            continue
        tasks.create_task(_supervise_task(name, task, mind, ending), name=name)
    tasks.create_task(report_hangs(mind.clock), name="hang-reporter")
    await listening.wait()
    await notify_waiting("READY=1")
    log.info("awake", pid=os.getpid())


async def _supervise_task(name: str, task: Callable[[], Awaitable[None]], mind: Mind, ending: Shutdown) -> None:
    """Run and restart `task`. Raises StorageLostError to end the daemon, except when it already ends for that reason:
    then clients are first answered that their words could not be stored."""
    try:
        await supervise(name, task, mind.clock, mind.database.room)
    except StorageLostError as error:
        if ending.exit_code != error.exit_code:
            raise


async def _run_conversation(conversation: Conversation) -> None:
    """Notice when a conversation becomes idle."""
    await conversation.pulse.during(conversation.run())


def supervised_tasks(
    mind: Mind, schedule: Schedule, meanings: SentenceEmbeddings
) -> dict[str, Callable[[], Awaitable[None]]]:
    """Return the supervised tasks by name: those that may fail and be restarted without ending the mind."""
    monologue = mind.monologue

    def is_occupied() -> bool:
        return mind.conversations.is_talking or bool(mind.room.why_to_rest())

    pulses = {THINKING: monologue.pulse, SCHEDULE: schedule.pulse, STORAGE: mind.database.pulse}
    tasks: dict[str, Callable[[], Awaitable[None]]] = {}
    for conversation in mind.conversations:
        where = "" if conversation.channel == MAIN_CHANNEL else f" {conversation.channel}"
        pulses |= {f"{REPLY}{where}": conversation.reply_pulse, f"{REST}{where}": conversation.pulse}
        tasks |= {
            f"conversation{where}": partial(_run_conversation, conversation),
            f"danger{where}": conversation.danger.preload,
            f"read-ahead{where}": conversation.run_read_ahead,
        }
    for name, pulse in pulses.items():
        mind.watchdog.watch(name, pulse)
    mind.watchdog.watch(LIGHT_SLEEP, mind.memory.light_sleep_pulse, is_waited_for=True)
    mind.watchdog.watch(BACKUP, mind.database.copy_pulse, is_waited_for=True)
    return tasks | {
        "warm-up": mind.sleep.warm_up,
        "leftovers": mind.sleep.run_light_sleep,
        "records": mind.memory.shorten_records,
        "erased-again": lambda: scrub_after_restore(mind),
        "look-at-embedder": lambda: wait_for_embedder(mind.memory, mind.models.embedding, mind.clock),
        "monologue": lambda: monologue.pulse.during(monologue.run()),
        "occupations": mind.occupations.run,
        "folders": FolderWatch(mind.projects.store, mind.clock, mind.projects.follow_folder).run,
        "power": mind.power.run,
        "room": mind.room.run,
        "models": mind.models.run,
        "schedule": lambda: schedule.pulse.during(schedule.run()),
        "reembedding": lambda: mind.memory.reembedding.run(is_occupied),
        "loop-lag": mind.lag.run,
        "meanings": meanings.run,
        "watchdog": lambda: mind.watchdog.run(mind.clock),
    }


def scheduled_jobs(mind: Mind) -> list[ScheduledJob]:
    """Return the scheduled jobs of a running mind."""
    backup = ScheduledJob("backup", _every(hours=1), mind.backups.back_up, has_own_pulse=True)
    if mind.safe_because:
        return [backup]
    return [
        ScheduledJob("deep_sleep", _every(minutes=5), mind.sleep.consolidate_if_due),
        ScheduledJob("time", _every(hours=1), mind.sleep.apply_decay),
        backup,
        ScheduledJob("snapshot", _every(minutes=15), mind.sleep.save_snapshot_if_idle),
        ScheduledJob("loops", _every(minutes=15), mind.sleep.compile_loops_if_idle),
        ScheduledJob("reminders", _every(minutes=15), partial(make_reminders, mind)),
        ScheduledJob("free_memory", _every(minutes=15), give_back_free_memory),
    ]


def _every(**interval: int) -> IntervalTrigger:
    # A fixed start date makes the trigger a pure function of the time passed to it.
    return IntervalTrigger(**interval, start_date=_EPOCH, timezone=UTC)


def _new_id() -> str:
    """Return a random 64-bit id in hex, for example "3f9ac81b20d4e57a"."""
    return secrets.token_hex(8)
