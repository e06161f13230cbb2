"""A whole mind on a hand-turned clock: real memory, ledger, monologue, conversation and sleep; scripted models."""

import asyncio
import itertools
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from apscheduler.triggers.interval import IntervalTrigger

from reveries.config import Home, Settings
from reveries.daemon.app import scheduled_jobs, supervised_tasks
from reveries.daemon.lifecycle.recovery import supervise
from reveries.daemon.mind import Mind
from reveries.daemon.mind_builder import build_mind, load_guards
from reveries.daemon.mind_parts import MindParts
from reveries.daemon.models.embedders import Embedding
from reveries.daemon.models.role_models import Models
from reveries.daemon.occupations.schedule import Schedule, ScheduledJob
from reveries.daemon.process.loop_lag import LoopLag
from reveries.daemon.process.settings_in_force import SettingsInForce
from reveries.daemon.talk.sentence_embedding import SentenceEmbeddings
from reveries.daemon.talk.turn import TurnResult
from reveries.db.opening import open_database
from reveries.knowledge.project_knowledge import ProjectKnowledge
from reveries.llm.answer_counts import AnswerCounts
from reveries.llm.base import CHAT_ROLES, Embedder
from reveries.llm.budget import Ledger
from reveries.llm.choose import ModelChoice
from reveries.llm.circuits import open_circuits
from reveries.llm.metered import MeteredModel
from reveries.llm.tier_results import open_tier_results
from reveries.memory.memory import Memory, MemoryParts
from reveries.safety.journal import SafetyJournal
from tests.daemon.kit import Events
from tests.fakes.clock import HandClock
from tests.fakes.patient_clock import PatientClock
from tests.fakes.scripted import ScriptedModel
from tests.memory.kit import WordEmbedder

_LEFT_OUT = ("warm-up", "loop-lag", "room", "watchdog", "records", "loops")
"""What an older version wrote down, no mind here has. Compiling takes real seconds; the lag of a clock that is turned
by hand says nothing; looks every few seconds would be most of a simulated month: a test of a full disk looks itself,
and whether a part hangs is seen every minute."""
_LOOK_SECONDS = 60.0
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC).timestamp()


_OWNER = 1_000_000
"""The number of the client that `Living.say` speaks through."""


@dataclass
class Living:
    """A mind with its parts. Every role uses the same `model`."""

    mind: Mind
    model: ScriptedModel
    clock: HandClock

    async def say(self, words: str) -> TurnResult:
        """One who comes, says `words`, and leaves when they are answered."""
        self.mind.conversation.attach(_OWNER)
        try:
            return await self.mind.conversation.say(words, Events())
        finally:
            self.mind.conversation.detach(_OWNER)

    async def pass_time(self, hours: float) -> None:
        """Let simulated hours pass, with real work."""
        await self.clock.advance(hours * 3600)

    async def calls(self) -> dict[str, tuple[int, int]]:
        """Return today's calls and tokens by role."""
        used = await self.mind.ledger.usage_today()
        return {one.role: (one.calls, one.prompt_tokens + one.completion_tokens) for one in used if one.calls}


@asynccontextmanager
async def living(
    home: Home,
    model: ScriptedModel,
    clock: HandClock,
    settings: Settings,
    local: Embedder | None = None,
    *,
    owner_name: str = "Ana",
    first_id: int = 0,
    embedder: Embedder | None = None,
    all_jobs: bool = False,
) -> AsyncIterator[Living]:
    """Run a mind that thinks, becomes idle and sleeps when due, built as the daemon builds it.

    `local` stands for the embedder on this machine, by which thoughts and words are weighed too; None: there is none.
    `first_id` keeps the ids of a second life apart; `all_jobs`: the daemon's, not only deep sleep.
    """
    home.create()
    database = await open_database(home.path / "memory.db", home.backups)
    try:
        if isinstance(clock, PatientClock):
            await clock.watch(database)
        in_force = SettingsInForce(home.config, settings)
        ledger = Ledger(database, clock, lambda: in_force.current.budget, timezone=UTC)
        parts = _Chosen(owner_name, first_id, local or embedder or WordEmbedder(), local)
        mind, meanings = await _mind(home, model, clock, in_force, ledger, parts)
        every = IntervalTrigger(minutes=5, start_date=datetime(2020, 1, 1, tzinfo=UTC), timezone=UTC)
        jobs = [ScheduledJob("deep_sleep", every, mind.sleep.consolidate_if_due)]
        if all_jobs:
            jobs = [job for job in scheduled_jobs(mind) if job.name not in _LEFT_OUT]
        schedule = Schedule(database, clock, jobs)
        async with asyncio.TaskGroup() as tasks:
            supervised = supervised_tasks(mind, schedule, meanings)
            running = [
                tasks.create_task(supervise(name, child, clock, database.room), name=name)
                for name, child in supervised.items()
                if name not in _LEFT_OUT
            ]
            if isinstance(clock, PatientClock):
                running.append(tasks.create_task(_nothing_hangs(mind, clock), name="watchdog"))
            yield Living(mind, model, clock)
            for task in running:
                task.cancel()
        await mind.memory.close()
    finally:
        await database.aclose()


async def _nothing_hangs(mind: Mind, clock: HandClock) -> None:
    """Check that no part of the mind is reported as hanging (B7), whatever the test does."""
    while True:
        mind.watchdog.check(_LOOK_SECONDS)
        assert mind.watchdog.hung == []
        await clock.sleep(_LOOK_SECONDS)


@dataclass(frozen=True)
class _Chosen:
    owner_name: str
    first_id: int
    embedder: Embedder
    local: Embedder | None


async def _mind(
    home: Home, model: ScriptedModel, clock: HandClock, in_force: SettingsInForce, ledger: Ledger, chosen: _Chosen
) -> tuple[Mind, SentenceEmbeddings]:
    database = ledger._database
    tier_results = await open_tier_results(database)
    provider, _, name = model.name.partition("/")
    models = Models(
        chat=dict.fromkeys(CHAT_ROLES, MeteredModel(model, ledger)),
        embedding=Embedding(chosen.embedder, "for a test", (), lambda model_id: None, bare=chosen.local),
        choices=dict.fromkeys(CHAT_ROLES, ModelChoice(provider, name, "for a test")),
        fallbacks=dict.fromkeys(CHAT_ROLES, ()),
        circuits=await open_circuits(database, clock, random.Random(1)),
        adapters={model.name: model},
        weights=(),
        tested=tier_results.known,
    )
    count = itertools.count(chosen.first_id)
    parts = MemoryParts(
        database=database,
        embedder=models.embedder,
        clock=clock,
        memory=lambda: in_force.current.memory,
        recall=lambda: in_force.current.recall,
        owner_name=lambda: in_force.current.owner.name or chosen.owner_name,
        mind_name="Reverie",
        new_id=lambda: f"id{next(count):06}",
    )
    memory = Memory(parts)
    await memory.hydrate()
    journal = SafetyJournal(database, clock)
    mind_parts = MindParts(
        in_force=in_force,
        home=home,
        clock=clock,
        database=database,
        ledger=ledger,
        models=models,
        memory=memory,
        knowledge=ProjectKnowledge(database, models.embedder, clock, memory.new_id),
        journal=journal,
        answers=AnswerCounts(database),
        tier_results=tier_results,
        lag=LoopLag(clock),
    )
    meanings = SentenceEmbeddings(models.embedding.bare)
    guards = await load_guards(models, meanings)
    mind = build_mind(mind_parts, guards, random.Random(clock.now()))  # Each start uses other random names.
    await mind.conversation.open()
    await mind.thinking.restore()
    return mind, meanings
