"""Checks memory, models and budget for `reveries doctor`. Loads and calls no model."""

import asyncio
import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from reveries.clock import Clock, SystemClock
from reveries.config import Home, LlmSettings, Settings
from reveries.daemon.memory_checkup import check_file, check_open, sqlite_findings
from reveries.daemon.process.single_instance import hold_lock
from reveries.db.database import Database
from reveries.db.driver import SQLITE_VERSION
from reveries.db.opening import open_database
from reveries.errors import AlreadyAwakeError, ConfigError, ModelMissingError, NotFoundError, ReveriesError
from reveries.llm.assets import asset, damaged_file, find_weights, resolve_auto_model
from reveries.llm.budget import Ledger, LimitUse
from reveries.llm.caps import UNKNOWN_PRICE_ADVICE
from reveries.llm.choose import ModelChoice, choose_fallbacks, choose_models
from reveries.llm.circuits import Circuits, open_circuits
from reveries.llm.embedded import SLOTS
from reveries.llm.fitting import MachineMemory, fit_context, read_machine_memory
from reveries.llm.ollama_chat import list_ollama, local_model_names
from reveries.llm.prices import price_of, read_library_prices
from reveries.llm.schema_refusals import open_schema_refusals
from reveries.protocol import Checkup, Finding, make_finding
from reveries.redaction import redact
from reveries.tools.sandbox import Sandbox, find_sandbox

_OLLAMA_SECONDS = 3.0


async def checkup(
    number: int,
    settings: Settings,
    home: Home,
    database: Database,
    ledger: Ledger,
    circuits: Circuits,
    clock: Clock,
    models: Path | None = None,
) -> Checkup:
    """Check everything, with the database open. `models` is the folder of weights; None is the default."""
    findings, left_out = await check_open(database, home, clock)
    # After a change of llm.embedding_model the earlier one serves recall until everything is embedded again.
    serving = {str(row["model_id"]) for row in await database.rows("vectors.serving")}
    findings += circuit_findings(circuits, named_providers(settings.llm) | serving)
    findings += limit_findings(await ledger.limits())
    findings += refusal_findings((await open_schema_refusals(database, clock)).known, named_providers(settings.llm))
    findings += await check_models(settings.llm, models)
    findings += await check_sandbox(database)
    return Checkup(number, findings, ["the memory", "the models", "the budget"], left_out)


async def check_offline(settings: Settings, home: Home, models: Path | None = None) -> Checkup:
    """Check everything while no daemon runs, holding the lock; only the models if a daemon runs after all."""
    file = home.database(settings)
    findings: list[Finding] = []
    try:
        with hold_lock(home, file):
            findings += await asyncio.to_thread(check_file, file, home.backups)
            if not findings and file.exists() and file.stat().st_size:
                return await _checkup_of_open(settings, home, file, models)
    except AlreadyAwakeError as error:
        left_out = [f"the memory: {error.message}"]
    else:
        left_out = ["the budget: the memory was not opened"] if findings else []
    findings += sqlite_findings(SQLITE_VERSION)
    findings += await check_models(settings.llm, models)
    return Checkup(0, findings, ["the memory's file", "the models"], left_out)


async def _checkup_of_open(settings: Settings, home: Home, file: Path, models: Path | None) -> Checkup:
    clock = SystemClock()
    database = await open_database(file, home.backups)
    try:
        ledger = Ledger(database, clock, lambda: settings.budget)
        # For waits, not for secrets.
        circuits = await open_circuits(database, clock, random.Random())
        return await checkup(0, settings, home, database, ledger, circuits, clock, models)
    finally:
        await database.aclose()


async def check_models(
    llm: LlmSettings, models: Path | None = None, machine: MachineMemory | None = None
) -> list[Finding]:
    """Check that each configured model is present, intact, and fits into memory."""
    llm = resolve_auto_model(llm, models)
    listed = await list_ollama(llm.ollama_url, _OLLAMA_SECONDS)
    names = None if listed is None else [model.name for model in listed]
    own = None if listed is None else local_model_names(listed)
    try:
        chosen = [choice for choices in choose_fallbacks(llm, own).values() for choice in choices]
    except ConfigError as error:
        return [make_finding("fallback-unknown", error.message, error.advice)]
    chosen = [*choose_models(llm, own).values(), *chosen]
    if any(choice.is_hosted for choice in chosen):
        await asyncio.to_thread(read_library_prices)
    embedded = sorted({choice.model for choice in chosen if choice.provider == "embedded"})
    findings: list[Finding] = []
    for model in embedded:
        findings += await asyncio.to_thread(_check_embedded, llm, model, models, machine or read_machine_memory())
    findings += list(_check_ollama(llm, chosen, names))
    findings += price_findings(llm, sorted({choice.name for choice in chosen if choice.is_hosted}))
    return [*findings, *await asyncio.to_thread(_check_embedder, llm, models)]


async def check_sandbox(database: Database) -> list[Finding]:
    """Check that commands can be sandboxed, if a project has a folder to run them in."""
    if not await database.rows("projects.with_folder"):
        return []
    return sandbox_findings(await asyncio.to_thread(find_sandbox))


def sandbox_findings(sandbox: Sandbox) -> list[Finding]:
    """Return why commands cannot be run; empty if they can."""
    return [] if sandbox.can_run else [make_finding("sandbox-missing", sandbox.why_not)]


def named_providers(llm: LlmSettings) -> set[str]:
    """Return the providers that the settings name or that run here; problems of others do not matter. Pure."""
    models = (llm.conversation_model, llm.monologue_model, llm.consolidation_model, llm.work_model)
    several = (llm.conversation_fallbacks, llm.monologue_fallbacks, llm.consolidation_fallbacks, llm.work_fallbacks)
    named = [*models, *(name for names in several for name in names)]
    return {"embedded", "ollama", llm.provider, llm.embedding_model, *(name.partition("/")[0] for name in named)}


def circuit_findings(circuits: Circuits, in_use: Collection[str] | None = None) -> list[Finding]:
    """Return the problems of providers; only of those `in_use` if that is given."""
    refused = {sentence for _, sentence in circuits.refusing}
    return [
        make_finding("key-refused" if sentence in refused else "provider-failing", sentence)
        for sentence in circuits.problems(in_use)
    ]


def price_findings(llm: LlmSettings, names: Iterable[str]) -> list[Finding]:
    """Return which of the models `names` have no known price: hardly a call of them fits into the budget."""
    return [
        make_finding(
            "price-unknown",
            f"The price of {name} is in no list. The dearest is assumed, and most of its calls are refused.",
            UNKNOWN_PRICE_ADVICE,
            name,
        )
        for name in dict.fromkeys(names)
        if not price_of(name, llm).is_known
    ]


def limit_findings(limits: Sequence[LimitUse]) -> list[Finding]:
    """Return the budget limits that are reached."""
    reached = [use for use in limits if use.used > 0 and use.used >= use.limit]
    return [
        make_finding(
            "ledger-over-cap", f"The limit {use.key} of {use.limit:g} is reached: {use.used:g}.", where=use.key
        )
        for use in reached
    ]


def refusal_findings(refusals: Mapping[str, float], in_use: Collection[str]) -> list[Finding]:
    """Return which models of the providers `in_use` refused a JSON schema, and when."""
    return [
        make_finding(
            "schema-refused",
            f"{model} refused the form of an answer (a JSON schema) on {datetime.fromtimestamp(at):%Y-%m-%d}: "
            "it is told the form in words.",
            where=model,
        )
        for model, at in refusals.items()
        if model.partition("/")[0] in in_use
    ]


def _check_embedded(llm: LlmSettings, model: str, models: Path | None, machine: MachineMemory) -> Iterator[Finding]:
    advice = f"Fetch them: reveries models pull {model}"
    if damage := _find_damage(model, models):
        yield make_finding("weights-damaged", f"{damage} is damaged: its size or sha256 is wrong.", advice, str(damage))
        return
    try:
        find_weights(model, models)
    except (ModelMissingError, NotFoundError) as error:
        yield make_finding("weights-missing", error.message, error.advice, model)
        return
    try:
        fit_context(llm.embedded, model, len(set(SLOTS.values())), machine)
    except ReveriesError as error:
        yield make_finding("model-too-large", error.message, error.advice, model)


def _check_embedder(llm: LlmSettings, models: Path | None) -> list[Finding]:
    name = llm.embedding_model
    if "/" in name:
        return []
    advice = f"Fetch them: reveries models pull {name}"
    if damage := _find_damage(name, models):
        return [
            make_finding("embedder-damaged", f"{damage} is damaged: its size or sha256 is wrong.", advice, str(damage))
        ]
    try:
        find_weights(name, models)
    except ReveriesError as error:
        return [make_finding("embedder-missing", error.message, error.advice, name)]
    return []


def _find_damage(model: str, models: Path | None) -> Path | None:
    """Return the damaged file of a known model; None if it is intact, missing, or the owner's own."""
    try:
        return damaged_file(asset(model), models)
    except (NotFoundError, OSError):
        return None


def _check_ollama(llm: LlmSettings, chosen: Sequence[ModelChoice], names: Sequence[str] | None) -> Iterator[Finding]:
    wanted = sorted({choice.model for choice in chosen if choice.provider == "ollama"})
    provider, is_served, embedder = llm.embedding_model.partition("/")
    if is_served and provider == "ollama":
        wanted.append(embedder)
    if not wanted:
        return
    if names is None:
        message = f"No Ollama answers at {redact(llm.ollama_url)}."
        yield make_finding("ollama-unreachable", message, where="llm.ollama_url")
        return
    for model in wanted:
        if not model:
            yield make_finding(
                "ollama-model-missing", "Ollama has no model that can talk.", "Fetch one: ollama pull llama3.2"
            )
        elif model not in names and f"{model}:latest" not in names:
            yield make_finding(
                "ollama-model-missing", f"Ollama does not have {model}.", f"Fetch it: ollama pull {model}"
            )
