"""Lives that end by SIGKILL at random moments, and what the file says after each."""

import asyncio
import contextlib
import os
import random
import shutil
import signal
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from reveries.config import Home
from tests.durability.checks import copied, violations
from tests.durability.ledger import Acknowledged
from tests.durability.mind import ROOT, Company, Zygote, client_of, has_ended, prepare
from tests.fakes.provider import Provider, provider
from tests.memory.kit import WordEmbedder, open_memory
from tests.memory.test_memory import picture

_READY_SECONDS = 300.0
_WAKING_SECONDS = 0.5
"""What waking takes, until it was seen here."""
LONGEST_LIFE_SECONDS = 2.0


@dataclass
class Killed:
    """What a run of kills showed."""

    kills: int = 0
    while_waking: int = 0
    """Kills before the mind could be reached."""
    slept_before: int = 0
    """Lives that had ended by `reveries sleep` when the kill came."""
    acknowledged: int = 0
    seconds: float = 0.0
    ready_seconds: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def per_minute(self) -> float:
        return 60 * self.kills / self.seconds


@dataclass
class Lives:
    """One home, life after life."""

    home: Home
    ledger: Acknowledged
    zygote: Zygote
    provider: Provider
    chance: random.Random
    seen: Killed = field(default_factory=Killed)

    async def run(self, kills: int, *, graph_every: int = 1) -> Killed:
        """So many lives, each killed; the graph is built in two ways after every `graph_every`-th."""
        began = time.monotonic()
        for number in range(kills):
            await self._life(number)
            self._check(number)
            if number % graph_every == 0:
                await self._compare_graphs(number)
            if self.seen.wrong:
                break
        await self._last_life()
        self.seen.seconds = time.monotonic() - began
        self.seen.acknowledged = self.ledger.count
        return self.seen

    async def _life(self, number: int) -> None:
        company = Company(self.home, self.ledger, f"life{number}", random.Random(self.chance.random()))
        process = self.zygote.wake(self.home)
        is_over = False
        async with asyncio.TaskGroup() as tasks:
            kept = tasks.create_task(company.keep(lambda: not is_over), name="company")
            await self._let_live(number, process)
            os.kill(process, signal.SIGKILL)
            is_over = True
            code = await asyncio.to_thread(self.zygote.reap, process)
            kept.cancel()
        if not code:
            self.seen.slept_before += 1
        elif code != -signal.SIGKILL:
            self.seen.wrong.append(f"life {number} ended by itself with {code}: {self._last_words()}")
        self.seen.kills += 1
        self.seen.wrong += [f"life {number}: {one}{self._unforeseen()}" for one in company.failures]

    def _unforeseen(self) -> str:
        """The log lines of errors that nobody foresaw: without them a failure could not be found again."""
        logs = sorted(path for path in self.home.logs.rglob("*") if path.is_file())
        lines = [line for path in logs for line in path.read_text(encoding="utf-8").splitlines()]
        return "".join(f"\n{line}" for line in lines if "request.failed" in line)[-4000:]

    def _last_words(self) -> str:
        return (self.home.logs / "daemon.out").read_text(encoding="utf-8")[-2000:]

    async def _let_live(self, number: int, process: int) -> None:
        """Either a time from the first instruction on, so that waking is hit too, or one from being awake on."""
        span = self.chance.uniform(0.0, LONGEST_LIFE_SECONDS)
        began = time.monotonic()
        if number % 4 == 3:
            # To wake takes a fraction of a second: on a quick machine a smaller one.
            waking = min(self.seen.ready_seconds, default=_WAKING_SECONDS)
            await asyncio.sleep(1.25 * waking * span / LONGEST_LIFE_SECONDS)
            self.seen.while_waking += not await self._is_awake()
            return
        if await self._awakes(process):
            self.seen.ready_seconds.append(time.monotonic() - began)
            await asyncio.sleep(span)

    async def _awakes(self, process: int) -> bool:
        """Wait until it can be reached. False when it ended before: it may have been put to sleep already."""
        ends = time.monotonic() + _READY_SECONDS
        while not await self._is_awake():
            if has_ended(process):
                return False
            if time.monotonic() > ends:
                self.seen.wrong.append(f"it did not wake within {_READY_SECONDS:.0f} s: {self._last_words()}")
                return False
            await asyncio.sleep(0.01)
        return True

    async def _is_awake(self) -> bool:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            async with client_of(self.home):
                return True
        return False

    def _check(self, number: int) -> None:
        with copied(self.home.database_default, self.home.path / "copy") as copy:
            if copy.exists():
                self.seen.wrong += [f"after life {number}: {one}" for one in violations(copy, self.ledger)]

    async def _compare_graphs(self, number: int) -> None:
        """From the snapshot and what changed since, and from the rows alone."""
        pictures = []
        for keep_snapshot in (True, False):
            with copied(self.home.database_default, self.home.path / "copy") as copy:
                if not keep_snapshot:
                    copy.with_suffix(".snapshot").unlink(missing_ok=True)
                async with open_memory(copy.parent, embedder=WordEmbedder("ollama/words")) as memory:
                    pictures.append(picture(memory))
        for name, shown in pictures[0].items():
            if shown != pictures[1][name]:
                self.seen.wrong.append(f"after life {number}: {name} differ between snapshot and rows")

    async def _last_life(self) -> None:
        """It wakes, takes up what was left, answers, and ends cleanly."""
        company = Company(self.home, self.ledger, "last", self.chance)
        process = self.zygote.wake(self.home)
        try:
            assert await self._awakes(process), self._last_words()
            async with asyncio.timeout(_READY_SECONDS), client_of(self.home) as client:
                await company.say(client, "last: are you there?")
            os.kill(process, signal.SIGTERM)
        except BaseException:
            os.kill(process, signal.SIGKILL)
            raise
        finally:
            code = await asyncio.to_thread(self.zygote.reap, process)
        self.seen.wrong += [f"at last: {one}" for one in company.failures]
        if code:
            self.seen.wrong.append(f"at last: exit code {code}")
        self._check(-1)


@contextlib.asynccontextmanager
async def lives(folder: Path, seed: int, package: Path = ROOT) -> AsyncIterator[Lives]:
    """A home in `folder`, its ledger beside it, a provider and a zygote; all gone at the end. `package` holds the
    `reveries` to run."""
    home = Home(folder / "h")
    zygote = Zygote.start(package)
    ledger = Acknowledged(folder / "ledger.jsonl")
    try:
        async with provider() as asked:
            prepare(home, asked)
            yield Lives(home, ledger, zygote, asked, random.Random(seed))
    finally:
        ledger.close()
        zygote.close()
        shutil.rmtree(home.path, ignore_errors=True)
