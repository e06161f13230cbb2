"""A real mind for tests: the real process, the real socket, the small real model, in a home of its own."""

import asyncio
import contextlib
import itertools
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import BinaryIO, TypeVar

from reveries import protocol
from reveries.config import Home
from reveries.protocol import Frame, Message, decode_frame, encode, read_body

_SETTINGS = """
[llm]
provider = "embedded"
[llm.embedded]
model = "smollm2-135m"
niceness = 0
context_tokens = 2048
[llm.limits]
reply_tokens = 48
[monologue]
enabled = {thinks}
target_tokens_per_second = 50.0
max_tokens_per_cycle = 60
# The small model repeats itself: two tests of a day have it on, the others want whole replies.
[circuit_breaker]
enabled = false
"""

FrameType = TypeVar("FrameType", bound=Frame)


@dataclass
class Living:
    """A daemon that runs. `wake` and `kill` may be called again and again on the same home."""

    home: Home
    thinks: bool = False
    settings: str = _SETTINGS
    """The home's config.toml; `{thinks}` in it becomes what `thinks` says."""
    environment: dict[str, str] = field(default_factory=dict)
    """Laid over this process's own."""
    umask: int = 0o077
    """Of the process as it starts."""
    process: subprocess.Popen[bytes] | None = None

    async def wake(self, seconds: float = 300) -> None:
        """Start it and wait until it answers, for so long at most."""
        self.home.create()
        self.home.config.write_text(self.settings.replace("{thinks}", str(self.thinks).lower()))
        self.home.config.chmod(0o600)
        with (self.home.logs / "daemon.out").open("ab") as output:
            os.fchmod(output.fileno(), 0o600)
            self.process = self._start(output)
        async with asyncio.timeout(seconds):
            while True:
                with contextlib.suppress(OSError):
                    _, writer = await asyncio.open_unix_connection(str(self.home.socket))
                    writer.close()
                    return
                if self.process.poll() is not None:
                    raise AssertionError((self.home.logs / "daemon.out").read_text())
                await asyncio.sleep(0.05)

    def _start(self, output: BinaryIO) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, "-m", "reveries.daemon"],
            env={**os.environ, "REVERIES_HOME": str(self.home.path), **self.environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            umask=self.umask,
        )

    def kill(self) -> None:
        """As the power would."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(timeout=300)

    async def end(self, number: int = signal.SIGTERM, seconds: float = 300) -> int:
        """Send a signal; the exit code. Fails when it takes longer than `seconds`."""
        assert self.process is not None
        self.process.send_signal(number)
        return await asyncio.to_thread(self.process.wait, seconds)

    @contextlib.asynccontextmanager
    async def client(self) -> AsyncIterator["Client"]:
        """A connection that has been greeted."""
        reader, writer = await asyncio.open_unix_connection(str(self.home.socket))
        client = Client(reader, writer)
        try:
            client.send(protocol.Hello(protocol.PROTOCOL_VERSION, "test"))
            client.welcome = await client.next_of(protocol.Welcome)
            yield client
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


@dataclass
class Client:
    """One connection: frames out, frames in. Keeps everything that it was told."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    welcome: protocol.Welcome | None = None
    seen: list[Frame] = field(default_factory=list)
    _numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def send(self, message: Message) -> None:
        self.writer.write(encode(message))

    def number(self) -> int:
        return next(self._numbers)

    async def next(self, seconds: float = 300) -> Frame:
        async with asyncio.timeout(seconds):
            frame = decode_frame(await read_body(self.reader))
        self.seen.append(frame)
        return frame

    async def next_of(self, kind: type[FrameType], seconds: float = 300) -> FrameType:
        """The next frame of `kind`; others are kept in `seen`. A `Failed` fails the test."""
        async with asyncio.timeout(seconds):
            while True:
                frame = await self.next(seconds)
                if isinstance(frame, kind):
                    return frame
                if isinstance(frame, protocol.Failed):
                    raise AssertionError(f"{frame.code}: {frame.message} {frame.advice}")

    async def say(self, words: str) -> protocol.Replied:
        """One whole turn. A guard against a hang: beside three other models a reply has taken a minute."""
        self.send(protocol.Say(self.number(), words))
        return await self.next_of(protocol.Replied, seconds=150)

    async def status(self) -> protocol.Status:
        self.send(protocol.AskStatus(self.number()))
        return await self.next_of(protocol.Status)

    async def until(self, holds: Callable[[], Awaitable[bool]], seconds: float = 300) -> None:
        """Ask again and again until it holds. Another process is asked: there is no event to wait for."""
        async with asyncio.timeout(seconds):
            while not await holds():  # noqa: ASYNC110
                await asyncio.sleep(0.1)

    async def search(self, query: str) -> protocol.Found:
        self.send(protocol.Search(self.number(), query))
        return await self.next_of(protocol.Found)
