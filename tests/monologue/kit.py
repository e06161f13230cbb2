"""A monologue with a manual clock and inspectable sources."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from reveries.config import MonologueSettings, load_settings
from reveries.monologue.cycle import ThoughtCycle
from reveries.monologue.loop import Monologue
from reveries.monologue.permission import ThinkingHold
from reveries.monologue.ports import SavedState
from reveries.monologue.thought import FinishedThought, Reactivation, ThoughtInputs
from reveries.safety.breaker import Breaker
from reveries.safety.verdict import CONTINUE, Verdict
from tests.fakes.clock import HandClock
from tests.fakes.scripted import ScriptedModel

SETTINGS = load_settings(None).monologue
THOUGHT = "Anna moved to Oslo. They will miss her. That is enough for now. And more that is never said."
ENDLESS = "word " * 5000


@dataclass
class Sources:
    """Sources that record what they are given."""

    has_something: bool = True
    keeps_having_something: bool = False
    saved: SavedState = field(default_factory=SavedState)
    thoughts: list[FinishedThought] = field(default_factory=list)
    states: list[SavedState] = field(default_factory=list)
    checkpoints: list[FinishedThought] = field(default_factory=list)
    trips: list[tuple[Verdict, str, str]] = field(default_factory=list)
    gathered: list[tuple[Reactivation, str, bool]] = field(default_factory=list)
    comes_up: asyncio.Event = field(default_factory=asyncio.Event)
    surfacing: Reactivation | None = None
    gathering: asyncio.Event | None = None
    """If given, gathering waits for this event; likewise `recording`."""
    recording: asyncio.Event | None = None

    async def restore(self) -> SavedState:
        return self.saved

    async def has_something_to_process(self) -> bool:
        return self.has_something

    async def gather(self, why: Reactivation, previous: str, *, comfort: bool) -> ThoughtInputs:
        if self.gathering is not None:
            await self.gathering.wait()
        self.gathered.append((why, previous, comfort))
        ambient = "All is well stored." if comfort else ""
        return ThoughtInputs("R", "T", "", (), (), (), (), "now", "", previous=previous, ambient=ambient)

    async def record(self, thought: FinishedThought, state: SavedState) -> None:
        if self.recording is not None:
            await self.recording.wait()
        self.thoughts.append(thought)
        self.states.append(state)
        self.has_something = self.keeps_having_something

    async def checkpoint(self, thought: FinishedThought) -> None:
        self.checkpoints.append(thought)

    async def record_trip(self, verdict: Verdict, so_far: str, response: str, *, is_tainted: bool) -> None:
        self.trips.append((verdict, so_far, response))

    async def association(self) -> Reactivation:
        await self.comes_up.wait()
        self.comes_up.clear()
        assert self.surfacing is not None
        return self.surfacing

    async def calendar(self) -> Reactivation:
        await asyncio.Event().wait()
        raise AssertionError


@dataclass
class Watch:
    """A breaker with verdicts scripted by the test."""

    decide: Callable[[str], Verdict] = lambda piece: CONTINUE
    resets: int = 0

    def observe(self, piece: str, now: float) -> Verdict:
        return self.decide(piece)

    def reset(self) -> None:
        self.resets += 1


@dataclass
class Kit:
    """A monologue with its parts; `living` runs the loop while a test advances the clock."""

    model: ScriptedModel
    clock: HandClock = field(default_factory=HandClock)
    sources: Sources = field(default_factory=Sources)
    watch: Watch | Breaker = field(default_factory=Watch)
    slice_tokens: int | None = None
    settings: MonologueSettings = SETTINGS
    held: Callable[[], ThinkingHold | None] = lambda: None
    cool_down_seconds: float = 30.0
    tier: int = 0

    def __post_init__(self) -> None:
        cycle = ThoughtCycle(
            model=self.model,
            sources=self.sources,
            breaker=self.watch,
            clock=self.clock,
            settings=lambda: self.settings,
            chance=random.Random(7),
            slice_tokens=lambda: self.slice_tokens,
            tier=lambda: self.tier,
        )
        self.monologue = Monologue(cycle, find_hold=self.held, cool_down_seconds=self.cool_down_seconds)

    def configure(self, settings: MonologueSettings) -> None:
        self.settings = settings
        self.monologue.apply_settings()

    @contextlib.asynccontextmanager
    async def living(self) -> AsyncIterator[None]:
        async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
            running = tasks.create_task(self.monologue.run(), name="monologue")
            await self.clock.advance(0)
            yield
            running.cancel()
