"""A8: what a wake finds that the disk did is told by the first mind that comes as far as telling, and by that alone."""

import asyncio
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from reveries.config import Home
from reveries.db.failpoints import Step
from reveries.db.integrity.suspected_damage import read_pending_notice
from reveries.errors import ProtocolError
from tests.durability.mind import Zygote, client_of, prepare
from tests.fakes.provider import provider

_GONE = (OSError, ProtocolError, asyncio.IncompleteReadError)
_WORDS = b"the old piano in Lisbon"
_FOUND = "The disk changed the memory"


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    started = Zygote.start()
    yield started
    started.close()


@pytest.mark.requirement("A8")
async def test_what_a_wake_found_that_was_killed_is_told_by_the_mind_that_wakes_after_it(zygote: Zygote) -> None:
    # Not tmp_path: a socket's path may have about a hundred bytes.
    with tempfile.TemporaryDirectory(prefix="rvs") as folder:
        home = Home(Path(folder) / "h")
        async with provider() as asked:
            prepare(home, asked)
            assert not _those_of(await _problems(home, zygote, f"I found {_WORDS.decode()}."))
            _change_a_letter(home.database_default)
            killed = zygote.wake(home, f"{Step.WOKEN.value}:1")
            assert await asyncio.to_thread(zygote.reap, killed) == -signal.SIGKILL
            assert _FOUND in read_pending_notice(home.database_default)
            assert _those_of(await _problems(home, zygote))
            assert not _those_of(await _problems(home, zygote))


def _those_of(problems: list[str]) -> list[str]:
    return [one for one in problems if _FOUND in one]


async def _problems(home: Home, zygote: Zygote, says: str = "") -> list[str]:
    """What a mind says of itself that wakes, hears that, and is told to sleep."""
    process = zygote.wake(home)
    async with asyncio.timeout(300):
        while True:
            try:
                async with client_of(home) as client:
                    if says:
                        await client.say(says)
                    found = (await client.status()).problems
                    os.kill(process, signal.SIGTERM)
                    await client.reader.read()
                    break
            except _GONE:
                await asyncio.sleep(0.01)
        assert await asyncio.to_thread(zygote.reap, process) == 0
    return found


def _change_a_letter(file: Path) -> None:
    """As a disk does it: no time of the file changes."""
    times, raw = file.stat(), bytearray(file.read_bytes())
    raw[raw.index(_WORDS)] ^= 1
    with file.open("r+b") as opened:
        opened.write(raw)
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
