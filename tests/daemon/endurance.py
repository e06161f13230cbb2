"""Simulated days of a whole mind, with a look at what it holds of the machine every hour (E7).

A person talks many times a day, thoughts come by themselves, sleep, backups and snapshots are at their times. The model
is scripted, the embedder counts words, the clock is turned by hand; the rest is the real thing.
"""

import asyncio
import gc
import random
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FunctionType, ModuleType

import numpy as np
import psutil

from reveries.config import Home, Settings
from tests.daemon.mind_kit import NOON, Living, living
from tests.daemon.month import DAY, Mind
from tests.fakes.patient_clock import PatientClock
from tests.memory.kit import WordEmbedder

MEGABYTE = 2**20
_HOURS = 24
_POOL_THREADS = 4
"""Threads of the pool of `asyncio.to_thread` (tests/fakes/patient_clock.py)."""
_DEEDS = ("planted", "sold", "dreamt of", "painted", "lost", "found", "wrote about", "asked after")
_NAMES = ("Marta", "Paul", "Ines", "Tomas", "Ruth", "Jonas", "Lea", "Omar")


@dataclass(frozen=True, slots=True)
class Sample:
    """The state at one hour. Sizes in bytes."""

    hour: int
    rss: int
    graph: int
    """Size of the live memory; counted once a day, 0 in between."""
    log: int
    file: int
    descriptors: int
    tasks: int
    threads: int


@dataclass
class Endured:
    """The samples, and what is wrong with them."""

    days: int
    samples: list[Sample] = field(default_factory=list)
    seconds_by_day: list[list[float]] = field(default_factory=list)
    """Seconds of each turn by the wall clock."""
    unhandled: list[str] = field(default_factory=list)
    thoughts: int = 0
    episodes: int = 0
    record_bytes: int = 0
    """The recorded passes of sleep, at the end."""

    @property
    def daily(self) -> list[Sample]:
        return [sample for sample in self.samples if sample.graph]

    def growth_per_day(self, after_day: int = 3) -> float:
        """Slope of resident memory beyond the live memory's own, in bytes a day."""
        seen = [sample for sample in self.daily if sample.hour >= after_day * _HOURS]
        return _slope([sample.hour / _HOURS for sample in seen], [sample.rss - sample.graph for sample in seen])

    def turn_seconds(self, percentile: float, days: slice) -> float:
        """Over several days, because the 99th percentile of the fifty turns of one day is the slowest of them."""
        return float(np.percentile([one for day in self.seconds_by_day[days] for one in day], percentile))

    def wrong(self, after_day: int = 3) -> list[str]:
        """Return what misses the goals of E7, a sentence each."""
        found = list(self.unhandled)
        if (growth := self.growth_per_day(after_day) / MEGABYTE) > 1:
            found.append(f"it grows by {growth:.2f} MB a day beyond its memory")
        first = next(sample for sample in self.daily if sample.hour >= after_day * _HOURS)
        if self.daily[-1].threads > first.threads + _POOL_THREADS:
            found.append(f"threads grow from {first.threads} to {self.daily[-1].threads}")
        for name in ("descriptors", "tasks"):
            seen = [(sample.hour, getattr(sample, name)) for sample in self.daily if sample.hour >= after_day * _HOURS]
            if len({many for _, many in seen}) > 1 and _slope(*zip(*seen, strict=True)) * _HOURS > 0.05:
                found.append(f"{name} grow: {[many for _, many in seen]}")
        if (largest := max(sample.log for sample in self.samples)) > 64 * MEGABYTE:
            found.append(f"the log grew to {largest / MEGABYTE:.0f} MB")
        if self.record_bytes > self.daily[-1].file / 2:
            found.append(f"the records of sleep are {self.record_bytes / MEGABYTE:.0f} MB, most of the file")
        return found


async def endure(
    home: Home, settings: Settings, days: int, turns_a_day: int, tell: Callable[[Endured], None] = lambda seen: None
) -> Endured:
    """Run the days; `tell` gets a summary at the end of each day."""
    seen, chance, mind = Endured(days), random.Random(7), Mind({}, 7)
    asyncio.get_running_loop().set_exception_handler(
        lambda _, context: seen.unhandled.append(f"unhandled: {context['message']} {context.get('exception')!r}")
    )
    gc.collect()  # Close what earlier tests left open now, and not between two samples.
    async with living(home, mind.model, PatientClock(NOON), settings, all_jobs=True) as life:
        await _fill_the_pool()
        for day in range(days):
            seen.seconds_by_day.append([])
            for hour in range(_HOURS):
                # Active from seven to eleven, with the turns spread over these hours.
                turns = turns_a_day // 16 + (hour - 7 < turns_a_day % 16) if 7 <= hour < 23 else 0
                await _hour(life, seen, chance, turns)
                _forget_what_the_fakes_heard(life)
                seen.samples.append(_sample(life, day * _HOURS + hour, counts_graph=hour == _HOURS - 1))
            seen.thoughts = len(await life.mind.sources.entries(0.0, 1_000_000))
            seen.episodes = (await life.mind.memory.stats()).episodes
            seen.record_bytes = await _record_bytes(life)
            tell(seen)
    gc.collect()  # A task that was never awaited is reported when it is collected.
    return seen


async def _fill_the_pool() -> None:
    """Start every thread of the pool now, because its first use would be random."""
    all_there = threading.Barrier(_POOL_THREADS)
    async with asyncio.TaskGroup() as tasks:
        for _ in range(_POOL_THREADS):
            tasks.create_task(asyncio.to_thread(all_there.wait, 30), name="pool")


async def _record_bytes(life: Living) -> int:
    statement = "SELECT coalesce(sum(length(change_set)), 0) AS bytes FROM consolidation_changes"
    return int((await life.mind.database.rows_of_text(statement, ()))[0]["bytes"])


async def _hour(life: Living, seen: Endured, chance: random.Random, turns: int) -> None:
    ends = life.clock.monotonic() + DAY / _HOURS
    for _ in range(turns):
        words = f"{chance.choice(_NAMES)} {chance.choice(_DEEDS)} number {chance.randrange(100_000)} of the old things."
        began = time.perf_counter()
        await life.say(words)
        seen.seconds_by_day[-1].append(time.perf_counter() - began)
        await life.clock.advance(60 + 240 * chance.random())
    await life.clock.advance(max(0.0, ends - life.clock.monotonic()))


def _forget_what_the_fakes_heard(life: Living) -> None:
    life.model.prompts.clear()
    life.model.read.clear()
    embedder = life.mind.models.embedder
    assert isinstance(embedder, WordEmbedder)
    embedder.texts.clear()


def _sample(life: Living, hour: int, *, counts_graph: bool) -> Sample:
    process, path = psutil.Process(), life.mind.database.path
    gc.collect()
    log = path.with_name(f"{path.name}-wal")
    return Sample(
        hour=hour,
        rss=process.memory_info().rss,
        graph=bytes_of(life.mind.memory.live) if counts_graph else 0,
        log=log.stat().st_size if log.exists() else 0,
        file=path.stat().st_size,
        descriptors=process.num_fds(),
        tasks=len(asyncio.all_tasks()),
        threads=process.num_threads(),
    )


def bytes_of(root: object) -> int:
    """Return all objects below `root` that only data refers to, each once."""
    seen, waiting, total = set[int](), [root], 0
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, type | ModuleType | FunctionType):
            continue
        seen.add(id(one))
        total += sys.getsizeof(one)
        if isinstance(one, np.ndarray) and one.base is not None:
            waiting.append(one.base)
        waiting.extend(gc.get_referents(one))
    return total


def _slope(places: Sequence[float], values: Sequence[float]) -> float:
    return float(np.polyfit(places, values, 1)[0]) if len(places) > 1 else 0.0
