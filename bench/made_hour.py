"""An hour of thinking with a simulated clock, over a scripted memory: only generating tokens takes time.

    python bench/an_hour.py --made --use development        # two scripted owners, for developing prompts
    python bench/an_hour.py --made --use once               # the third: run it once, after the last change

The owner's messages of several weeks (bench/made_hours.toml) are stored, with light sleep; then the conversation rests
and the hour begins. Every five minutes there is a reactivation: the conversation that ended, a memory that surfaces, a
request of the owner. The daemon's own code decides what is in a thought's prompt and whether it is kept;
bench/thoughts_judge.py rates it.
"""

import asyncio
import contextlib
import random
import tempfile
import tomllib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import msgspec
from parallel_model import ParallelModel, parallel_model
from thoughts_judge import Thought, Verdict, judge_all, table

from reveries.config import load_settings
from reveries.daemon.occupations.thought_sources import MemoryThoughtSources
from reveries.db.database import Database
from reveries.db.opening import open_database
from reveries.llm.assets import find_weights
from reveries.llm.onnx_embedding import OnnxEmbedder
from reveries.memory.memory import Memory, MemoryParts
from reveries.monologue.cycle import ThoughtCycle
from reveries.monologue.loop import Monologue
from reveries.monologue.ports import ThoughtState
from reveries.monologue.thought import FinishedThought, Reactivation, ThinkingReason
from reveries.safety.ambient import AmbientInputs
from reveries.safety.breaker import Breaker
from reveries.safety.journal import SafetyJournal
from tests.fakes.clock import HandClock

TALKS = Path(__file__).parent / "made_hours.toml"
_NOW = datetime(2026, 3, 18, 19, 0, tzinfo=UTC).timestamp()
_DAY_SECONDS = 86_400.0
_PAUSE_SECONDS = 40.0
_BETWEEN_SECONDS = 300.0
_STEP_SECONDS = 0.2
_OCCASIONS = ("memory", "step", "memory", "nudge", "step", "memory", "event", "step", "memory", "step", "memory")
"""After the talk that ended; one every five minutes."""


class Day(msgspec.Struct, frozen=True):
    days_ago: int
    said: list[str]


class Owner(msgspec.Struct, frozen=True):
    name: str
    use: str
    nudge: str
    event: str
    day: list[Day]


class _Talks(msgspec.Struct, frozen=True):
    owner: list[Owner]


@dataclass(frozen=True, slots=True)
class Thinking:
    """The parts of the mind for the hour."""

    memory: Memory
    database: Database
    clock: HandClock
    model: ParallelModel


@dataclass(frozen=True, slots=True)
class Played:
    """One owner's hour."""

    owner: str
    thoughts: tuple[FinishedThought, ...]
    verdicts: tuple[Verdict, ...]


def owners(use: str) -> list[Owner]:
    """Those of the file that may be used so."""
    talks = msgspec.convert(tomllib.loads(TALKS.read_text(encoding="utf-8")), _Talks)
    return [owner for owner in talks.owner if owner.use == use]


async def play_hours(
    model_name: str,
    use: str,
    show: Callable[[str], object],
    *,
    seed: int,
    tier: int,
    slots: int = 3,
    threads: int = 1,
) -> None:
    """Play the hours concurrently. `show` is called repeatedly with the page of all hours, their figures first."""
    played: dict[str, Played] = {}

    def on(hour: Played) -> None:
        played[hour.owner] = hour
        show(page(list(played.values()), model_name, use))

    server = parallel_model(model_name, slots=slots, threads=threads, context_tokens=4096)
    async with server as model, asyncio.TaskGroup() as tasks:
        for owner in owners(use):
            tasks.create_task(_play(owner, model, seed, tier, on), name=owner.name)


async def _play(owner: Owner, model: ParallelModel, seed: int, tier: int, on: Callable[[Played], None]) -> None:
    async with _remembering(owner, model) as thinking:
        chance = random.Random(seed)
        settings = load_settings(None)
        settings = msgspec.structs.replace(settings, owner=msgspec.structs.replace(settings.owner, name=owner.name))
        sources = _Heard(
            memory=thinking.memory,
            database=thinking.database,
            journal=SafetyJournal(thinking.database, thinking.clock),
            ambient=AmbientInputs(),
            clock=thinking.clock,
            settings=settings,
            chance=chance,
        )
        cycle = ThoughtCycle(
            model=model,
            sources=sources,
            breaker=Breaker(settings.circuit_breaker, max_pace=settings.circuit_breaker.max_tokens_per_second),
            clock=thinking.clock,
            settings=lambda: settings.monologue,
            chance=chance,
            tier=lambda: tier,
        )
        monologue = Monologue(cycle, cool_down_seconds=settings.circuit_breaker.cool_down_seconds)
        monologue.pause()
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(monologue.run(), name="monologue")
            async for _ in _live(owner, thinking, monologue, chance):
                judged = [_judged(one, owner) for one in sources.heard]
                on(Played(owner.name, tuple(sources.heard), tuple(judge_all(judged))))
            running.cancel()


class _Heard(MemoryThoughtSources):
    """The daemon's sources, which also record what they returned."""

    def __init__(self, **parts: object) -> None:
        super().__init__(**parts)  # type: ignore[arg-type]  # handed on as they came
        self.heard: list[FinishedThought] = []

    async def record(self, thought, state) -> None:  # type: ignore[no-untyped-def]  # as the daemon's
        self.heard.append(thought)
        await super().record(thought, state)

    async def association(self) -> Reactivation:
        """The hour brings its own."""
        await asyncio.Event().wait()
        raise AssertionError


async def _live(owner: Owner, thinking: Thinking, monologue: Monologue, chance: random.Random) -> AsyncIterator[None]:
    """One occasion after the other, each until it is thought about."""
    old = [episode for episode in thinking.memory.live.graph.episodes() if episode.created_at < _NOW - _DAY_SECONDS]
    chance.shuffle(old)
    monologue.resume(Reactivation(ThinkingReason.CONVERSATION))
    await _until_settled(thinking, monologue)
    yield
    for occasion in _OCCASIONS:
        await thinking.clock.advance(_BETWEEN_SECONDS)
        monologue.ask(_reactivation(occasion, owner, old, thinking.clock.now()))
        await _until_settled(thinking, monologue)
        yield


def _reactivation(occasion: str, owner: Owner, old: list, now: float) -> Reactivation:  # type: ignore[type-arg]
    match occasion:
        case "memory" if old:
            episode = old.pop()
            return Reactivation(ThinkingReason.ASSOCIATION, episode.summary, episode.id)
        case "nudge":
            return Reactivation(ThinkingReason.NUDGE, owner.nudge)
        case "event":
            return Reactivation(
                ThinkingReason.CALENDAR, f"Tomorrow: {owner.event}", is_tainted=True, event_key="made", at=now
            )
        case _:
            return Reactivation(ThinkingReason.STEP)


async def _until_settled(thinking: Thinking, monologue: Monologue) -> None:
    """Turn the clock while it thinks, but not while the model is at work: that is real time."""
    began = False
    for _ in range(100_000):
        began = began or monologue.state is ThoughtState.THINKING
        if began and monologue.state is not ThoughtState.THINKING and not monologue.thinking_lock.locked():
            return
        await asyncio.sleep(0.01)
        if not thinking.model.is_busy:
            await thinking.clock.advance(_STEP_SECONDS)


def _judged(thought: FinishedThought, owner: Owner) -> Thought:
    last = owner.day[-1].said
    talk = " ".join(words.split(" | ")[0] for words in last)
    about = thought.occasion if thought.why_began in ("nudge", "calendar") else ""
    texts = tuple(one.text for one in thought.memories)
    recent = (talk,) if thought.why_began not in ("nudge", "calendar", "association") else (about,) * bool(about)
    replies = tuple(words.split(" | ")[1] for day in owner.day for words in day.said)
    return Thought(thought.text, not thought.unkept_because, (*texts, *recent), replies)


@contextlib.asynccontextmanager
async def _remembering(owner: Owner, model: ParallelModel) -> AsyncIterator[Thinking]:
    """A memory that has heard the owner's weeks and slept on them lightly."""
    clock, ids = HandClock(_NOW), count()
    settings = load_settings(None)
    with tempfile.TemporaryDirectory(prefix="rvm") as folder:
        database = await open_database(Path(folder) / "memory.db")
        weights = find_weights("all-minilm-l6-v2")
        embedder = OnnxEmbedder(weights / "model.onnx", weights / "tokenizer.json")
        memory = Memory(
            MemoryParts(
                database=database,
                embedder=embedder,
                clock=clock,
                memory=lambda: settings.memory,
                recall=lambda: settings.recall,
                owner_name=lambda: owner.name,
                mind_name=settings.mind.name,
                new_id=lambda: f"{next(ids):08x}",
            )
        )
        await memory.hydrate()
        for day in owner.day:
            await _talk(memory, clock, day)
        try:
            yield Thinking(memory, database, clock, model)
        finally:
            await memory.close()
            await database.aclose()


async def _talk(memory: Memory, clock: HandClock, day: Day) -> None:
    clock.step_wall(_NOW - day.days_ago * _DAY_SECONDS - clock.now())
    conversation = await memory.conversations.begin_conversation()
    for words in day.said:
        said, reply = words.split(" | ")
        turn = await memory.conversations.append_owner_turn(conversation.id, said)
        await memory.conversations.record_exchange(turn, reply)
        clock.step_wall(_PAUSE_SECONDS)
    await memory.conversations.mark_conversation_idle(conversation.id)
    await memory.light_sleep()


def page(hours: Sequence[Played], model: str, use: str) -> str:
    """The figures, then every thought."""
    verdicts = [one for hour in hours for one in hour.verdicts]
    lines = [f"# Hours of made owners ({use}), {model}", "", "| | |", "|---|---:|"]
    lines += [f"| {name} | {value} |" for name, value in table(verdicts).items()]
    for hour in hours:
        lines += ["", f"## {hour.owner}"]
        for thought, verdict in zip(hour.thoughts, hour.verdicts, strict=True):
            lines += _thought(thought, verdict)
    return "\n".join(lines) + "\n"


def _thought(thought: FinishedThought, verdict: Verdict) -> list[str]:
    occasion = f" ({thought.occasion})" if thought.occasion else ""
    shown = [f"- {memory.when}: {memory.text}" for memory in thought.memories]
    said = [f"> {line}" for line in thought.text.splitlines() if line.strip()]
    counts = "counts" if verdict.counts else "does not count"
    judged = (
        f"{thought.why_ended}: {thought.explanation} {counts}: {len(verdict.new)} new words, rests on "
        f"{verdict.rests_on}, copies a reply: {verdict.copies_reply}, repeats: {verdict.repeats_thought}."
    )
    return ["", f"### {thought.why_began}{occasion}", "", *said, "", *shown, "", judged]
