"""A whole mind, with its real adapters, before a provider that can be wrong.

Its clock is that of an IdleTimeLoop, or a patient one that is turned by hand: neither goes on while anybody works.
"""

import asyncio
import contextlib
import itertools
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeVar, cast

import msgspec

from reveries.clock import Clock
from reveries.config import BudgetSettings, Home, RoleBudget, Settings, load_settings
from reveries.daemon.lifecycle.recovery import supervise
from reveries.daemon.mind import Mind
from reveries.daemon.mind_builder import Guards, build_mind
from reveries.daemon.mind_parts import MindParts
from reveries.daemon.models.role_models import Models, build_models
from reveries.daemon.process.loop_lag import LoopLag
from reveries.daemon.process.settings_in_force import SettingsInForce
from reveries.daemon.talk.crisis_help import CrisisDetector
from reveries.daemon.talk.turn import TurnResult
from reveries.db.database import Database
from reveries.db.opening import open_database
from reveries.knowledge.project_knowledge import ProjectKnowledge
from reveries.llm.answer_counts import AnswerCounts
from reveries.llm.budget import Ledger
from reveries.llm.circuits import Circuits, open_circuits
from reveries.llm.tier_results import TierResults
from reveries.memory.memory import Memory, MemoryParts
from reveries.monologue.observers import ThoughtEnd
from reveries.safety.breaker import Knowledge
from reveries.safety.journal import SafetyJournal
from tests.daemon.kit import Events
from tests.fakes.idle_time_loop import LoopClock
from tests.fakes.patient_clock import PatientClock, WatchedLedger
from tests.fakes.provider import Provider
from tests.memory.kit import WordEmbedder, talk

Dialect = Literal["openai", "ollama"]

KEY = "sk-planted-0123456789abcdef"
TALKER, THINKER, SLEEPER = "talker", "thinker", "sleeper"
MEMORABLE = ("My sister Marta moved to Lisbon in May.", "How is she settling in?")
FIRST_TOKEN_SECONDS, IDLE_SECONDS, TOTAL_SECONDS = 1.0, 1.0, 2.0
_REAL_SECONDS = 60
"""For each of these seconds, beside a clock that is turned by hand: the limits of a call go by the machine's time."""
_STEP_SECONDS, _LOOK_EVERY_SECONDS = 0.25, 1.0
_REAL_SECONDS_PER_STEP = 0.001
_HANG_SECONDS = 600
"""By the loop's time; where that is no machine's, only what is waited for counts (tests/fakes/idle_time_loop.py)."""
_OWNER = 1_000_000
"""The number of the client that `Living.say` speaks through."""

_T = TypeVar("_T")


def settings_for(dialect: Dialect, url: str, key_file: Path, each_second: float = 1) -> Settings:
    """The default settings with `url` as the only provider, and limits that a test can wait for."""
    settings = load_settings(None)
    times = {
        "first_token_seconds": FIRST_TOKEN_SECONDS * each_second,
        "idle_seconds": IDLE_SECONDS * each_second,
        "total_seconds": TOTAL_SECONDS * each_second,
    }
    llm = msgspec.structs.replace(
        settings.llm,
        provider=dialect,
        conversation_model=TALKER,
        monologue_model=THINKER,
        consolidation_model=SLEEPER,
        ollama_url=url,
        base_url=f"{url}/v1",
        api_key_file=str(key_file),
        limits=msgspec.structs.replace(settings.llm.limits, reply_tokens=64, reply_bytes=2**21, **times),
        hosted_limits=msgspec.structs.replace(settings.llm.hosted_limits, **times),
    )
    # Thoughts come as often as every five seconds, so that a hundred faults need not wait for their usual pace.
    monologue = msgspec.structs.replace(settings.monologue, max_tokens_per_cycle=64, idle_check_seconds=5.0)
    return msgspec.structs.replace(settings, llm=llm, monologue=monologue, budget=_without_limit(settings.budget))


def _without_limit(budget: BudgetSettings) -> BudgetSettings:
    """Money is not what is tested here."""
    plenty = RoleBudget(tokens_per_day=10**12, tokens_per_month=10**12, dollars_per_day=1e9, dollars_per_month=1e9)
    roles = dict.fromkeys(("conversation", "monologue", "consolidation", "embedding"), plenty)
    return msgspec.structs.replace(
        budget,
        tokens_per_day=10**12,
        tokens_per_month=10**12,
        dollars_per_day=1e9,
        dollars_per_month=1e9,
        **roles,
    )


@dataclass
class Living:
    """A mind that lives. `unhandled` must stay empty, whatever the provider does."""

    mind: Mind
    memory: Memory
    circuits: Circuits
    provider: Provider
    dialect: Dialect
    clock: LoopClock | PatientClock
    tasks: asyncio.TaskGroup
    unhandled: list[str] = field(default_factory=list)
    thoughts_ended: list[ThoughtEnd] = field(default_factory=list)
    children: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    async def while_time_passes(self, work: Awaitable[_T]) -> _T:
        """What `work` gives or raises; meanwhile time passes. TimeoutError after ten minutes."""
        if isinstance(self.clock, LoopClock):
            async with asyncio.timeout(_HANG_SECONDS):
                return await work
        async with asyncio.timeout(_HANG_SECONDS), asyncio.TaskGroup() as tasks:
            working = tasks.create_task(_outcome(work), name="work")
            while not working.done():
                await self.clock.advance(_STEP_SECONDS)
                await asyncio.sleep(_REAL_SECONDS_PER_STEP)
        result, error = working.result()
        if error is not None:
            raise error
        return cast("_T", result)

    async def until(self, holds: Callable[[], bool]) -> float:
        """Turn the clock until it holds; how many of its seconds that took."""
        began = self.clock.monotonic()

        async def holding() -> None:
            while not holds():
                await self.clock.sleep(_LOOK_EVERY_SECONDS)

        await self.while_time_passes(holding())
        return self.clock.monotonic() - began

    async def let_pass(self, seconds: float, step: float = 5.0) -> None:
        """Turn the clock on, with a moment after each step for the network and the disk."""
        for _ in range(int(seconds / step)):
            await self.clock.advance(step)
            await asyncio.sleep(_REAL_SECONDS_PER_STEP)

    async def say(self, words: str) -> tuple[TurnResult, Events]:
        """One who comes, says `words`, and leaves: thinking goes on at once, not after the minutes after a say."""
        events = Events()
        self.mind.conversation.attach(_OWNER)
        try:
            return await self.while_time_passes(self.mind.conversation.say(words, events)), events
        finally:
            self.mind.conversation.detach(_OWNER)

    def start_child(self, name: str, child: Callable[[], Awaitable[None]]) -> None:
        """As the daemon does it; what it raises is written down."""

        async def watched() -> None:
            try:
                await child()
            except Exception as error:
                self.unhandled.append(f"{name}: {error!r}")
                raise

        self.children[name] = self.tasks.create_task(supervise(name, watched, self.clock), name=name)

    async def forgive(self) -> None:
        """What the last fault left behind is forgotten; the provider is well."""
        await self.provider.heal()
        await self.circuits.record_answer(self.dialect)

    def start_thinking(self) -> None:
        self.start_child("observer", self._watch_thoughts)
        self.start_child("monologue", self.mind.monologue.run)

    async def _watch_thoughts(self) -> None:
        async with contextlib.aclosing(self.mind.monologue.cycle.observers.watch()) as events:
            async for event in events:
                if isinstance(event, ThoughtEnd):
                    self.thoughts_ended.append(event)

    @property
    def is_whole(self) -> bool:
        return not self.unhandled and not any(child.done() for child in self.children.values())


@contextlib.asynccontextmanager
async def living(
    home: Home, provider: Provider, dialect: Dialect, *, url: str = "", clock: LoopClock | PatientClock | None = None
) -> AsyncIterator[Living]:
    """A mind that remembers one exchange. `url`: where it looks for the provider, if not where that is. `clock`: the
    time of the loop, an IdleTimeLoop, if none is given."""
    home.create()
    key_file = home.path / "key"
    key_file.write_text(KEY)
    key_file.chmod(0o600)
    clock = clock or LoopClock()
    each_second = _REAL_SECONDS if isinstance(clock, PatientClock) else 1
    settings = settings_for(dialect, url or provider.url, key_file, each_second)
    async with contextlib.AsyncExitStack() as stack:
        database = await open_database(home.database_default, home.backups)
        stack.push_async_callback(database.aclose)
        ledger = WatchedLedger(database, clock, lambda: settings.budget)
        if isinstance(clock, PatientClock):
            await clock.watch(database, ledger)
        circuits = await open_circuits(database, clock, random.Random(1))
        models = await build_models(settings, home, ledger, circuits, clock)
        stack.push_async_callback(models.aclose)
        answers = AnswerCounts(database)
        memory = await _memory(database, settings, answers, clock)
        stack.push_async_callback(memory.close)
        mind = _mind(settings, home, clock, database, ledger, models, memory, answers)
        await mind.conversation.open()
        tasks = await stack.enter_async_context(asyncio.TaskGroup())
        alive = Living(mind, memory, circuits, provider, dialect, clock, tasks)
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: alive.unhandled.append(str(context)))
        alive.start_child("conversation", mind.conversation.run)
        try:
            yield alive
        finally:
            for child in alive.children.values():
                child.cancel()


async def _memory(database: Database, settings: Settings, answers: AnswerCounts, clock: Clock) -> Memory:
    count = itertools.count()
    prefix = f"{len(await database.rows('conversations.latest_chat'))}{random.getrandbits(32):08x}"
    memory = Memory(
        MemoryParts(
            database=database,
            embedder=WordEmbedder(),
            clock=clock,
            memory=lambda: settings.memory,
            recall=lambda: settings.recall,
            owner_name=lambda: "Ana",
            mind_name="Reverie",
            answers=answers,
            new_id=lambda: f"{prefix}{next(count):06}",
        )
    )
    await memory.hydrate()
    if not (await memory.stats()).turns:
        await talk(memory, MEMORABLE)
        await memory.light_sleep()
    return memory


def _mind(
    settings: Settings,
    home: Home,
    clock: Clock,
    database: Database,
    ledger: Ledger,
    models: Models,
    memory: Memory,
    answers: AnswerCounts,
) -> Mind:
    parts = MindParts(
        in_force=SettingsInForce(home.config, settings),
        home=home,
        clock=clock,
        database=database,
        ledger=ledger,
        models=replace(models, weights=()),  # the embedder is a twin: nothing has to be on this machine
        memory=memory,
        knowledge=ProjectKnowledge(database, models.embedder, clock, memory.new_id),
        journal=SafetyJournal(database, clock),
        answers=answers,
        tier_results=TierResults(database, {}),
        lag=LoopLag(clock),
    )
    return build_mind(parts, Guards(Knowledge(), CrisisDetector()), random.Random(7))


async def _outcome(work: Awaitable[_T]) -> tuple[_T | None, Exception | None]:
    """What `work` gave, or what it raised: an error would end the group that turns the clock, wrapped in another."""
    try:
        return await work, None
    except Exception as error:  # noqa: BLE001  # raised again by the caller
        return None, error
