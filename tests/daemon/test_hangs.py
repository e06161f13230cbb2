"""A part of the real daemon hangs while its event loop runs: the watchdog is not notified any more (B7)."""

import asyncio
import contextlib
import itertools
import json
import os
import socket
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import AsyncIterator
from pathlib import Path
from typing import BinaryIO

import pytest

from reveries import protocol
from reveries.config import Home
from reveries.daemon.lifecycle.watchdog import BACKUP, LIGHT_SLEEP, REPLY, REST, SCHEDULE, SLEEP, STORAGE, THINKING
from reveries.db.failpoints import HangPlace
from tests.durability.mind import ROOT, client_of, prepare
from tests.fakes.provider import provider
from tests.rows import check_rows

LIVE = """
    from apscheduler.triggers.interval import IntervalTrigger
    from reveries.daemon import app
    from reveries.daemon.lifecycle import watchdog
    from reveries.daemon.__main__ import main
    from tests.fakes.failpoints import arm_from_environment

    arm_from_environment()
    watchdog.POLL_SECONDS = 0.05
    watchdog.longest_call_seconds = lambda llm: 0.2
    watchdog.LEAST_PATIENCE_SECONDS = {patience}
    app._every = lambda **_: IntervalTrigger(seconds=1)
    main()
"""
"""A daemon with short patience, and with jobs that are due every second."""
_PATIENCE_SECONDS = 1.2
_WITH_ALL_BUT_ONE_SECONDS = 4.0
"""Used where nothing else may count as hanging: on a busy machine a write may take a second."""
NAMED = {
    HangPlace.THOUGHT: THINKING,
    HangPlace.REPLY: REPLY,
    HangPlace.BETWEEN_TURNS: REPLY,
    HangPlace.REST: REST,
    HangPlace.JOB: SCHEDULE,
    HangPlace.SLEEP: SLEEP,
    HangPlace.LIGHT_SLEEP: LIGHT_SLEEP,
    HangPlace.TRANSACTION: STORAGE,
}
_SECONDS = 300.0
"""A hang of the test: on a busy machine a life is slow."""


@pytest.mark.system  # For its length alone.
@pytest.mark.requirement("B7")
@check_rows("place", sorted(set(HangPlace) - {HangPlace.COPY}))
async def test_a_part_that_hangs_is_named_and_who_watches_hears_no_more(place: HangPlace) -> None:
    with tempfile.TemporaryDirectory(prefix="rv") as folder:
        home = Home(Path(folder) / "h")
        async with provider() as asked, asyncio.timeout(_SECONDS):
            prepare(home, asked)
            async with living(home, place) as manager:
                await heard(manager, b"READY=1")
                await heard(manager, b"WATCHDOG=1")
                async with asyncio.TaskGroup() as tasks:
                    company = tasks.create_task(_keep_company(home, place), name="company")
                    while NAMED[place] not in hung(home):  # noqa: ASYNC110  # another process is asked: no event
                        await asyncio.sleep(0.05)
                    # Its status reports it too, unless nothing can be written: then it cannot answer.
                    if place is not HangPlace.TRANSACTION:
                        async with client_of(home) as client:
                            assert any("No progress for" in problem for problem in (await client.status()).problems)
                    drain(manager)
                    with pytest.raises(TimeoutError):
                        async with asyncio.timeout(0.5):
                            await heard(manager, b"WATCHDOG=1")
                    company.cancel()


@pytest.mark.system  # For its length alone.
@pytest.mark.requirement("B7", "A9")
async def test_a_backup_that_hangs_is_told_of_and_the_mind_lives_on() -> None:
    """A restart every hour would not help, because the next backup would hang too."""
    with tempfile.TemporaryDirectory(prefix="rv") as folder:
        home = Home(Path(folder) / "h")
        async with provider() as asked, asyncio.timeout(_SECONDS):
            prepare(home, asked)
            async with living(home, HangPlace.COPY) as manager:
                await heard(manager, b"READY=1")
                async with client_of(home) as client:
                    while BACKUP not in hung(home):  # noqa: ASYNC110  # another process is asked: no event
                        await asyncio.sleep(0.05)
                    assert any("in making a backup" in problem for problem in (await client.status()).problems)
                    drain(manager)
                    for _ in range(100):  # Five seconds: more than the patience with parts that wait for the backup.
                        await heard(manager, b"WATCHDOG=1")
                    await client.say("The pear tree bears fruit.")
                    assert hung(home) == [BACKUP]


async def _keep_company(home: Home, place: HangPlace) -> None:
    """Talk, with idle time in which it can think."""
    async with client_of(home) as client:
        for turn in itertools.count():
            await client.say(f"Turn {turn} about the pear tree.")
            if place is HangPlace.BETWEEN_TURNS and turn == 1:
                client.send(protocol.NewConversation(client.number()))
            if place is HangPlace.SLEEP and turn == 1:
                client.send(protocol.Consolidate(client.number(), 1))
            await asyncio.sleep(0.7)


@contextlib.asynccontextmanager
async def living(home: Home, place: HangPlace) -> AsyncIterator[socket.socket]:
    """Run a daemon that hangs at `place`, with its notify socket. In a transaction it hangs once it is awake."""
    times = 25 if place is HangPlace.TRANSACTION else 1
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager, (home.logs / "daemon.out").open("ab") as output:
        manager.bind(str(home.path / "n"))
        manager.setblocking(False)
        environment = {
            **os.environ,
            "REVERIES_HOME": str(home.path),
            "PYTHONPATH": str(ROOT),
            "NOTIFY_SOCKET": str(home.path / "n"),
            "REVERIES_FAILPOINT": f"{place.value}:{times}",
        }
        patience = _WITH_ALL_BUT_ONE_SECONDS if place is HangPlace.COPY else _PATIENCE_SECONDS
        process = _start(LIVE.replace("{patience}", str(patience)), environment, output)
        try:
            yield manager
        finally:
            process.kill()
            process.wait(timeout=300)


def _start(program: str, environment: dict[str, str], output: BinaryIO) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", textwrap.dedent(program)]
    return subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)


async def heard(manager: socket.socket, state: bytes) -> None:
    """Wait for that message."""
    while await asyncio.get_running_loop().sock_recv(manager, 100) != state:
        pass


def drain(manager: socket.socket) -> None:
    """Take the messages so far."""
    with contextlib.suppress(BlockingIOError):
        while manager.recv(100):
            pass


def hung(home: Home) -> list[str]:
    """Return the parts that hang by its log."""
    log = home.logs / "daemon.log"
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return [json.loads(line)["part"] for line in lines if '"part.hung"' in line]
