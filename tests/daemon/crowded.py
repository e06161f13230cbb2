"""A real daemon among many clients, good and bad: what it costs them and it (E3, E4, E5)."""

import asyncio
import contextlib
import hashlib
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psutil

from reveries import protocol
from reveries.config import Home
from reveries.db.driver import dbapi
from reveries.protocol import decode_frame, read_body
from tests.daemon.crowd import GoodClient, dripping, flood, good_client, never_reading
from tests.durability.mind import client_of, prepare, start, until_it_listens
from tests.e2e.living import Client
from tests.fakes.provider import provider

MEGABYTE = 2**20
_BY_A_CLIENT_ALONE = (
    "turns",
    "self_model_history",
    "tombstones",
    "erasures",
    "pinned_episodes",
    "withdrawn_experiences",
)
LEAST_ANSWERS = 20
"""Answers for a good client before the malicious ones are told to end."""


@dataclass
class Crowded:
    """The measurements; times in seconds, sizes in bytes."""

    fan_out_p99: float = 0.0
    """Time between the first and the last attached client that gets the same turn."""
    orders: int = 0
    """Number of different orders in which clients got the turns."""
    turns: int = 0
    alone_p99: float = 0.0
    """How long a good client waits while another one talks."""
    alone_growth: int = 0
    """The memory grows with what is said, whoever reads it."""
    stuck_answers: int = 0
    """Answer times for a good client while others never read or read ten bytes a second."""
    stuck_p99: float = 0.0
    stuck_growth: int = 0
    garbage_answers: int = 0
    """Answer times for a good client during the flood."""
    garbage_p99: float = 0.0
    garbage_growth: int = 0
    garbage_seconds: float = 0.0
    garbage_connections: int = 0
    garbage_changed: list[str] = field(default_factory=list)
    """Tables that differ afterwards, of those that only requests of clients change."""
    log_lines: int = 0
    tracebacks: int = 0
    descriptors_left: int = 0
    threads_left: int = 0
    wrong: list[str] = field(default_factory=list)


@dataclass
class Host:
    """The daemon under test."""

    home: Home
    process: "psutil.Process"

    @property
    def rss(self) -> int:
        return int(self.process.memory_info().rss)

    def log(self) -> list[str]:
        return (self.home.logs / "daemon.log").read_text(encoding="utf-8").splitlines()


@contextlib.asynccontextmanager
async def host() -> AsyncIterator[Host]:
    """Run a daemon with a provider that answers at once; it must live to the end and exit cleanly."""
    with tempfile.TemporaryDirectory(prefix="rv") as folder:
        home = Home(Path(folder) / "h")
        async with provider() as asked:
            prepare(home, asked)
            process = start([sys.executable, "-m", "reveries.daemon"], home)
            try:
                await until_it_listens(home, lambda: process.poll() is not None)
                yield Host(home, psutil.Process(process.pid))
                process.terminate()
                code = await asyncio.to_thread(process.wait, 30)
                assert code == 0, f"it ended with {code}"
            finally:
                process.kill()
                process.wait(timeout=300)


async def measure(
    *, clients: int, talkers: int, talk_seconds: float, stuck: int, frames: int, visits: int, turns: int = 40
) -> Crowded:
    """Run all measurements in sequence."""
    seen = Crowded()
    async with host() as mind:
        async with client_of(mind.home) as client:
            await _talk(client, 30)
        async with asyncio.timeout(300):
            # What a wake does in the background takes its megabytes once, on a busy machine perhaps late.
            while not any('"recall.loops"' in line for line in mind.log()):  # noqa: ASYNC110  # as above
                await asyncio.sleep(0.1)
        await asyncio.sleep(2)
        await _visits(mind, visits // 10)
        descriptors, threads = await _at_rest(mind.process.num_fds), mind.process.num_threads()
        await _many(mind, seen, clients, talkers, talk_seconds)
        before = mind.rss
        seen.alone_p99 = (await _asked(mind, turns)).p99_seconds
        seen.alone_growth = mind.rss - before
        await _stuck(mind, seen, stuck, turns)
        await _garbage(mind, seen, frames)
        await _visits(mind, visits)
        await asyncio.sleep(3)
        seen.descriptors_left = await _at_rest(mind.process.num_fds) - descriptors
        seen.threads_left = mind.process.num_threads() - threads
        lines = mind.log()
    seen.log_lines = len([line for line in lines if '"client.' in line])
    seen.tracebacks = len([line for line in lines if "Traceback" in line])
    return seen


async def _at_rest(read: Callable[[], int]) -> int:
    """Return the minimum of many samples, because a running thought or backup opens files for a while."""
    seen = []
    for _ in range(40):
        seen.append(read())
        await asyncio.sleep(0.05)
    return min(seen)


async def _talk(client: Client, turns: int) -> None:
    for turn in range(turns):
        await client.say(f"Turn {turn} about the pear tree.")


async def _many(mind: Host, seen: Crowded, clients: int, talkers: int, seconds: float) -> None:
    """Attach all clients, and let some of them talk."""
    heard: list[list[tuple[str, float]]] = [[] for _ in range(clients)]
    async with contextlib.AsyncExitStack() as stack:
        all_of_them = [await stack.enter_async_context(client_of(mind.home)) for _ in range(clients)]
        async with asyncio.TaskGroup() as tasks:
            listening = []
            for client, turns in zip(all_of_them, heard, strict=True):
                client.send(protocol.Attach(client.number()))
                await client.next_of(protocol.Attached)
                listening.append(tasks.create_task(_listen(client, turns), name="listener"))
            ends = time.monotonic() + seconds
            for client in all_of_them[:talkers]:
                tasks.create_task(_say_until(client, ends), name="talker")
            await asyncio.sleep(seconds + 3)
            await _hear_the_same(heard)
            for task in listening:
                task.cancel()
    orders = {tuple(turn for turn, _ in turns) for turns in heard}
    seen.orders, seen.turns = len(orders), len(heard[0])
    if len(orders) == 1:
        spreads = [
            max(moments) - min(moments) for moments in zip(*([at for _, at in turns] for turns in heard), strict=True)
        ]
        seen.fan_out_p99 = float(np.percentile(spreads, 99))


async def _hear_the_same(heard: Sequence[Sequence[object]]) -> None:
    """Wait until all have heard as much: what was told to one is on its way to the others. If it never comes, the
    orders show it."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(300):
            while len({len(turns) for turns in heard}) > 1:  # noqa: ASYNC110  # as above
                await asyncio.sleep(0.01)


async def _listen(client: Client, turns: list[tuple[str, float]]) -> None:
    while True:
        frame = decode_frame(await read_body(client.reader))
        if isinstance(frame, protocol.Spoken):
            turns.append((frame.turn.turn_id, time.perf_counter()))


async def _say_until(client: Client, ends: float) -> None:
    """Say something repeatedly; the listeners read the answers."""
    turn = 0
    while time.monotonic() < ends:
        turn += 1
        client.send(protocol.Say(client.number(), f"Word {turn} of many about the boat."))
        await asyncio.sleep(1.0)


async def _stuck(mind: Host, seen: Crowded, stuck: int, turns: int) -> None:
    before = mind.rss
    async with never_reading(mind.home.socket, stuck), dripping(mind.home.socket):
        good = await _asked(mind, turns)
        seen.stuck_growth = mind.rss - before
    seen.stuck_p99, seen.stuck_answers = good.p99_seconds, len(good.seconds)


async def _asked(mind: Host, turns: int) -> GoodClient:
    """Let a good client send requests while another one talks for some turns."""
    async with client_of(mind.home) as talker, good_client(mind.home.socket) as good, asyncio.TaskGroup() as tasks:
        talking = tasks.create_task(_talk(talker, turns), name="talker")
        while not talking.done() or len(good.seconds) < LEAST_ANSWERS:
            await good.ask()
    return good


async def _garbage(mind: Host, seen: Crowded, frames: int) -> None:
    before, peak, stored = mind.rss, 0, await asyncio.to_thread(_stored, mind.home)
    async with (
        good_client(mind.home.socket) as good,
        flood(mind.home.socket, frames) as bad,
        asyncio.TaskGroup() as tasks,
    ):
        tasks.create_task(bad.listen(), name="flood")
        await bad.is_pressing.wait()
        began, ended = time.monotonic(), 0.0
        while not bad.has_pressed.is_set() or len(good.seconds) < LEAST_ANSWERS:
            await good.ask()
            peak = max(peak, mind.rss)
            ended = ended or (time.monotonic() if bad.has_pressed.is_set() else 0.0)
        seen.garbage_answers = len(good.seconds)
        bad.end()
    seen.garbage_seconds = (ended or time.monotonic()) - began
    seen.garbage_growth, seen.garbage_p99 = peak - before, good.p99_seconds
    seen.garbage_connections = bad.connections
    now = await asyncio.to_thread(_stored, mind.home)
    seen.garbage_changed = [name for name in stored if stored[name] != now[name]]


def _stored(home: Home) -> dict[str, str]:
    """Return digests of the tables that only requests of clients change."""
    found = {"settings": hashlib.sha256(home.config.read_bytes()).hexdigest()}
    look = dbapi.connect(f"{home.database_default.as_uri()}?mode=ro", uri=True, isolation_level=None)
    try:
        for table in _BY_A_CLIENT_ALONE:
            rows = look.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()  # The names are ours.
            found[table] = hashlib.sha256(repr(rows).encode()).hexdigest()
    finally:
        look.close()
    return found


async def _visits(mind: Host, count: int) -> None:
    """Attach and detach repeatedly."""
    for _ in range(count):
        async with client_of(mind.home) as client:
            client.send(protocol.Attach(client.number()))
            await client.next_of(protocol.Attached)
