"""Runs the checks: in the daemon, or while none runs, holding its lock."""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from reveries.clock import Clock, SystemClock
from reveries.config import Home, LlmSettings, Settings
from reveries.daemon import checkup
from reveries.daemon.checkup.memory_file import check_file
from reveries.daemon.process.single_instance import hold_lock
from reveries.db.database import Database
from reveries.db.opening import open_database
from reveries.errors import AlreadyAwakeError, ConfigError
from reveries.llm.assets import resolve_auto_model
from reveries.llm.budget import Ledger
from reveries.llm.choose import ModelChoice, choose_fallbacks, choose_models
from reveries.llm.circuits import Circuits, open_circuits
from reveries.llm.fitting import MachineMemory, read_machine_memory
from reveries.llm.ollama_chat import list_ollama, local_model_names
from reveries.protocol import Checkup, Finding, modules_in

_OLLAMA_SECONDS = 3.0


@dataclass(frozen=True)
class OpenMemory:
    """The open memory, and what stands on it."""

    database: Database
    ledger: Ledger
    circuits: Circuits
    clock: Clock


@dataclass(frozen=True)
class Inside:
    """What every check reads. `memory` is None where it could not be opened, `models` the folder of weights; None is
    the default."""

    settings: Settings
    home: Home
    memory: OpenMemory | None = None
    models: Path | None = None
    llm: LlmSettings = field(init=False)
    """The settings, with the model that "auto" stands for."""

    machine: MachineMemory = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "machine", read_machine_memory())
        object.__setattr__(self, "llm", resolve_auto_model(self.settings.llm, self.models))


@dataclass(frozen=True, slots=True)
class ChosenModels:
    """The models that the settings choose, what Ollama has (None: it does not answer), and why a fallback is none."""

    choices: Sequence[ModelChoice]
    at_ollama: Sequence[str] | None
    error: ConfigError | None


async def read_chosen_models(llm: LlmSettings) -> ChosenModels:
    """Ask Ollama what it has, and choose as a wake would."""
    listed = await list_ollama(llm.ollama_url, _OLLAMA_SECONDS)
    names = None if listed is None else [model.name for model in listed]
    own = None if listed is None else local_model_names(listed)
    try:
        fallbacks = [choice for choices in choose_fallbacks(llm, own).values() for choice in choices]
        return ChosenModels([*choose_models(llm, own).values(), *fallbacks], names, None)
    except ConfigError as error:
        return ChosenModels([], names, error)


async def run_checks(inside: Inside) -> tuple[list[Finding], list[str]]:
    """Run every check; return the findings, and what was left out."""
    chosen = await read_chosen_models(inside.llm)
    findings: list[Finding] = []
    left_out: list[str] = []
    for module in modules_in(checkup):
        if not hasattr(module, "check"):
            continue
        results: AsyncIterator[Finding | str] = module.check(inside, chosen)
        async for result in results:
            if isinstance(result, str):
                left_out.append(result)
            else:
                findings.append(result)
    return findings, left_out


async def check_awake(number: int, inside: Inside) -> Checkup:
    """Answer request `number` with all checks, the memory being open."""
    findings, left_out = await run_checks(inside)
    return Checkup(number, findings, ["the memory", "the models", "the budget"], left_out)


async def check_offline(settings: Settings, home: Home, models: Path | None = None) -> Checkup:
    """Check everything while no daemon runs, holding the lock; only the models if a daemon runs after all."""
    file = home.database(settings)
    damage: list[Finding] = []
    left_out: list[str] = []
    try:
        with hold_lock(home, file):
            damage += await asyncio.to_thread(check_file, file, home.backups)
            if not damage and file.exists() and file.stat().st_size:
                return await _check_opened(settings, home, file, models)
    except AlreadyAwakeError as error:
        left_out.append(f"the memory: {error.message}")
    if damage:
        left_out.append("the budget: the memory was not opened")
    findings, more = await run_checks(Inside(settings, home, models=models))
    return Checkup(0, [*damage, *findings], ["the memory's file", "the models"], [*left_out, *more])


async def _check_opened(settings: Settings, home: Home, file: Path, models: Path | None) -> Checkup:
    database = await open_database(file, home.backups)
    try:
        return await check_awake(0, Inside(settings, home, await read_open_memory(database, settings), models))
    finally:
        await database.aclose()


async def read_open_memory(database: Database, settings: Settings) -> OpenMemory:
    """Read what stands on `database` where no daemon has it."""
    clock = SystemClock()
    # For waits, not for secrets.
    circuits = await open_circuits(database, clock, random.Random())
    return OpenMemory(database, Ledger(database, clock, lambda: settings.budget), circuits, clock)
