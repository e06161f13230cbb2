"""Effect of a running backup on conversations: the real daemon, alternately with and without a backup."""

import asyncio
import itertools
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from large_mind import SETTINGS, WORDS_A_TURN, Talk

from reveries import protocol
from reveries.config import Home
from tests.e2e.living import Client, Living
from tests.fakes.provider import Provider, provider

BUDGET = """
[budget]
tokens_per_day = 1000000000
tokens_per_month = 1000000000
[budget.conversation]
tokens_per_day = 1000000000
tokens_per_month = 1000000000
"""
WARM_TURNS = 30
PAUSE_SECONDS = 0.1
"""Between a reply and the next words: who talks without any would measure what a turn leaves to be done after it."""
WAKE_SECONDS = 900.0
_COPY_SECONDS = 1800.0


@dataclass
class Waited:
    """Seconds from the owner's words until they are reported as stored, and until the model is first called."""

    stored: list[float] = field(default_factory=list)
    asked: list[float] = field(default_factory=list)


@dataclass
class Beside:
    """The measurements, alternating: `copying` while a copy is made, `alone` for as long without one."""

    alone: Waited = field(default_factory=Waited)
    copying: Waited = field(default_factory=Waited)
    copy_seconds: list[float] = field(default_factory=list)
    load: list[float] = field(default_factory=list)


def milliseconds(seconds: list[float], percent: float) -> float:
    """So many of a hundred were no slower."""
    return round(1000 * float(np.percentile(seconds, percent)), 1)


async def talk_beside_copies(home: Home, pairs: int) -> Beside:
    """Talk to the mind in `home`, which is changed by it, while it makes so many copies, and as long between them."""
    seen = Beside()
    async with provider(time.monotonic) as there:
        # As an installed package is: compiled once.
        compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(home.path / "cache" / "bytecode")}
        daemon = Living(home, settings=SETTINGS.format(url=there.url) + BUDGET, environment=compiled)
        await daemon.wake(WAKE_SECONDS)
        try:
            async with daemon.client() as talker, daemon.client() as keeper:
                # As somebody who is there: else the conversation would rest after each reply.
                talker.send(protocol.Attach(talker.number()))
                await talker.next_of(protocol.Attached)
                talk = _Talker(talker, there)
                await talk.until(_after(WARM_TURNS), Waited())
                for _ in range(pairs):
                    await _one_pair(seen, talk, keeper)
        finally:
            await daemon.end(seconds=600)
    return seen


async def _one_pair(seen: Beside, talk: "_Talker", keeper: Client) -> None:
    seen.load.append(round(os.getloadavg()[0], 1))
    began = time.monotonic()
    keeper.send(protocol.MakeBackup(keeper.number()))
    async with asyncio.TaskGroup() as tasks:
        copying = tasks.create_task(keeper.next_of(protocol.Backups, _COPY_SECONDS), name="copy")
        await talk.until(copying.done, seen.copying)
    seen.copy_seconds.append(round(time.monotonic() - began, 1))
    ends = time.monotonic() + seen.copy_seconds[-1]
    await talk.until(lambda: time.monotonic() > ends, seen.alone)
    keeper.seen.clear()


class _Talker:
    """Sends different words in each turn, one turn after the other."""

    def __init__(self, client: Client, there: Provider) -> None:
        self._client, self._there, self._talk = client, there, Talk()

    async def until(self, is_over: Callable[[], bool], waited: Waited) -> None:
        while not is_over():
            stored, asked = await self._turn()
            waited.stored.append(stored)
            waited.asked.append(asked)
            self._client.seen.clear()
            await asyncio.sleep(PAUSE_SECONDS)

    async def _turn(self) -> tuple[float, float]:
        before = len(self._there.requests)
        words = self._talk.words(WORDS_A_TURN)
        began = time.monotonic()
        self._client.send(protocol.Say(self._client.number(), words))
        await self._client.next_of(protocol.Stored)
        stored = time.monotonic() - began
        replied = await self._client.next_of(protocol.Replied)
        assert replied.reason in ("stop", "length"), replied.explanation
        first = next(one for one in self._there.requests[before:] if one.is_generation)
        return stored, first.at - began


def _after(times: int) -> Callable[[], bool]:
    numbers = itertools.count()
    return lambda: next(numbers) >= times
