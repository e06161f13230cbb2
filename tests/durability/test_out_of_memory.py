"""A machine that has no more memory (E8): the model's process goes first, and what was acknowledged is there after."""

import asyncio
import contextlib
import itertools
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from reveries import protocol
from reveries.config import Home
from tests.durability.checks import violations
from tests.durability.ledger import Acknowledged
from tests.durability.memory_room import MemoryRoom, memory_room
from tests.durability.mind import Company, client_of, prepare, start, until_it_listens
from tests.e2e.living import Client, Living
from tests.fakes.provider import provider

MORE = 1.2
"""So many times what the daemon has at rest there is for it and for what it starts."""
HARDLY_MORE = 1.02
"""Too little for a past that a test has the time to bring in. With 1.2 it is one of years."""
_BATCH_LINES = 100


@pytest.mark.system
@pytest.mark.requirement("E8", "A1")
async def test_a_past_larger_than_the_memory_costs_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """The kernel ends the daemon in the middle of it; where there is more room it wakes with all of it."""
    with tempfile.TemporaryDirectory(prefix="rv") as folder, memory_room() as room:
        home, ledger = Home(Path(folder) / "h"), Acknowledged(tmp_path / "ledger.jsonl")
        company = Company(home, ledger, "memory")
        async with provider() as asked:
            prepare(home, asked)
            async with awake(home, room):
                async with client_of(home) as client:
                    for turn in range(10):
                        await company.say(client, f"memory.{turn}: about the pear tree.")
                    await warmed_up(home)
                    room.limit(int(room.held * HARDLY_MORE))
                    with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                        for part in itertools.count():
                            await import_lines(client, ledger, 10 * part, 10)
                assert room.ended == 1
            assert ledger.imported
            assert violations(home.database_default, ledger) == []
            async with awake(home, room), client_of(home) as client:
                await company.say(client, "memory.last: are you there?")
        assert company.failures == []
        ledger.close()


@pytest.mark.system
@pytest.mark.requirement("E8")
async def test_where_the_model_finds_no_memory_its_process_ends_and_no_other() -> None:
    """It is started where there is too little for it: the question has no answer, and the next one has, where there is
    enough. The daemon, which has more, lives on."""
    with tempfile.TemporaryDirectory(prefix="rv") as folder, memory_room() as room:
        home = Home(Path(folder) / "h")
        home.create()
        settings = Living(home).settings.replace("{thinks}", "false").replace("reply_tokens = 48", "reply_tokens = 16")
        # What it keeps of so long a context is more than a fifth of the daemon.
        home.config.write_text(settings.replace("context_tokens = 2048", "context_tokens = 8192"))
        home.config.chmod(0o600)
        async with awake(home, room) as daemon, client_of(home) as client:
            await client.search("the pear tree")  # Now the embedder is there, which is the daemon's own.
            await warmed_up(home)
            for model in daemon.children():
                model.kill()
                model.wait(10)
            room.limit(int(daemon.memory_info().rss * MORE))
            refused = await client.say("Are you there?")
            assert (refused.reason, refused.text, room.ended > 0) == ("failed", "", True)
            room.limit(None)
            async with asyncio.timeout(300):
                # It is not asked for some seconds after it failed.
                while (await client.say("And now?")).reason not in ("stop", "length"):  # noqa: ASYNC110
                    await asyncio.sleep(0.5)
            assert (await client.status()).pid == daemon.pid


async def import_lines(client: Client, ledger: Acknowledged, first: int, batches: int) -> None:
    """So many batches of a past that goes on, and the sleep on them; each that is told to be stored goes into the
    ledger."""
    for batch in range(first, first + batches):
        texts = [
            f"{batch}.{line}: we spoke of thing {batch * line}, and of {line} others, at length."
            for line in range(_BATCH_LINES)
        ]
        ledger.said.update(texts)
        turns = [
            protocol.ImportedTurn(1.5e9 + 60.0 * (batch * _BATCH_LINES + line), "Bo" if line % 2 else "Ana", text)
            for line, text in enumerate(texts)
        ]
        client.send(protocol.Import(client.number(), "past", turns, is_last=batch == first + batches - 1))
        if (await client.next_of(protocol.Imported)).stored == len(texts):
            ledger.lines(texts)


async def warmed_up(home: Home) -> None:
    """What a wake does in the background is over."""
    async with asyncio.timeout(300):
        while '"recall.loops"' not in (home.logs / "daemon.log").read_text():  # noqa: ASYNC110  # another process
            await asyncio.sleep(0.1)


@contextlib.asynccontextmanager
async def awake(home: Home, room: MemoryRoom) -> AsyncIterator[psutil.Process]:
    """A daemon in that room, which has no limit yet; it is gone at the end."""
    room.limit(None)
    home.socket.unlink(missing_ok=True)
    process = start([sys.executable, "-m", "reveries.daemon"], home)
    room.take(process.pid)
    try:
        await until_it_listens(home, lambda: process.poll() is not None)
        yield psutil.Process(process.pid)
    finally:
        process.kill()
        process.wait(timeout=300)
