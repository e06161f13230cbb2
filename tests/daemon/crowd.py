"""Malicious or idle clients: garbage on the wire, and clients that never read."""

import asyncio
import contextlib
import itertools
import random
import socket
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np

from reveries import protocol
from reveries.errors import ProtocolError
from reveries.protocol import PROTOCOL_VERSION, decode_frame, decode_request, encode, read_body

_HELLO = encode(protocol.Hello(PROTOCOL_VERSION, "test"))
_GOOD = (
    encode(protocol.AskMemory(1)),
    encode(protocol.Search(2, "the pear tree")),
    encode(protocol.Observe(3)),
    encode(protocol.Cancel(4, 3)),
    encode(protocol.NudgeThinking(5, "the boat")),
)
_CHANGING = (
    encode(protocol.Say(6, "I sold the boat.")),
    encode(protocol.EditSelf(7, "owner_facts", "She likes boats.")),
    encode(protocol.RevertSelf(8, 1)),
    encode(protocol.Forget(9, matching="the pear tree", erase=True)),
)
"""Requests that would change something if they could be decoded."""
_LENGTHS = (0, 2**32 - 1, 4 * 2**20 + 1, 3)
_FRAMES_A_CONNECTION = 500
"""Most are never read, because the first invalid frame ends its connection."""


def garbage(chance: random.Random) -> bytes:
    """Return one invalid or misleading frame."""
    match chance.randrange(9):
        case 0:
            return chance.randbytes(chance.randint(1, 300))
        case 1:
            return chance.choice(_LENGTHS).to_bytes(4, "big") + chance.randbytes(40)
        case 2:
            body = chance.randbytes(chance.randint(1, 300))
            return len(body).to_bytes(4, "big") + body
        case 3:
            flipped = bytearray(chance.choice(_GOOD))
            flipped[chance.randrange(len(flipped))] ^= 1 << chance.randrange(8)
            return bytes(flipped)
        case 4:
            whole = chance.choice(_GOOD)
            return whole[: chance.randrange(len(whole))]
        case 5:
            body = msgspec.msgpack.encode({"t": "say", "request_id": "one", "text": [1, 2, 3]})
            return len(body).to_bytes(4, "big") + body
        case 6:
            body = msgspec.msgpack.encode({"t": "search", "request_id": 2, "query": "pear"})
            body = body.replace(b"pear", b"\xff\xc0\x80p")
            return len(body).to_bytes(4, "big") + body
        case 7:
            return _unreadable(chance, chance.choice(_CHANGING))
        case _:
            body = b"\x91" * 5000 + b"\xc0"  # as deep as a mine
            return len(body).to_bytes(4, "big") + body


def _unreadable(chance: random.Random, whole: bytes) -> bytes:
    """Return `whole` at the same length, with enough flipped bits to be no valid request."""
    turned = bytearray(whole)
    while True:
        turned[chance.randrange(4, len(turned))] ^= 1 << chance.randrange(8)
        try:
            decode_request(bytes(turned[4:]))
        except ProtocolError:
            return bytes(turned)


@dataclass
class Crowd:
    """The malicious clients of one socket."""

    socket: Path
    frames: int = 0
    connections: int = 0

    async def press(self, frames: int, workers: int = 8, seed: int = 7) -> None:
        """Send garbage frames over several connections at a time."""
        async with asyncio.TaskGroup() as tasks:
            slow = [tasks.create_task(one(), name="slow") for one in (self._never_greets, self._in_single_bytes)]
            async with asyncio.TaskGroup() as bad:
                for number in range(workers):
                    chance = random.Random(seed + number)
                    bad.create_task(self._worker(frames // workers, chance), name=f"bad-{number}")
            for task in slow:
                task.cancel()

    async def _never_greets(self) -> None:
        """Send greetings byte by byte, without the last byte, repeatedly."""
        while True:
            with contextlib.suppress(OSError):
                reader, writer = await asyncio.open_unix_connection(str(self.socket))
                try:
                    for byte in _HELLO[:-1]:
                        writer.write(bytes([byte]))
                        await asyncio.sleep(0.02)
                    await reader.read()
                finally:
                    writer.transport.abort()

    async def _in_single_bytes(self) -> None:
        """Send a valid request byte by byte; it must be answered."""
        reader, writer = await asyncio.open_unix_connection(str(self.socket))
        try:
            for message in itertools.chain([_HELLO], itertools.repeat(_GOOD[0])):
                for byte in message:
                    writer.write(bytes([byte]))
                    await asyncio.sleep(0.01)
                await read_body(reader)
        finally:
            writer.transport.abort()

    async def _worker(self, frames: int, chance: random.Random) -> None:
        sent = 0
        pool = [b"".join(garbage(chance) for _ in range(_FRAMES_A_CONNECTION)) for _ in range(20)]
        while sent < frames:
            with contextlib.suppress(OSError):
                reader, writer = await asyncio.open_unix_connection(str(self.socket))
                try:
                    if chance.random() < 0.7:
                        writer.write(_HELLO)
                    writer.write(chance.choice(pool))
                    if chance.random() < 0.2:
                        writer.transport.abort()
                    elif chance.random() < 0.3:
                        writer.write_eof()
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(0.5):
                            while await reader.read(65536):
                                pass
                finally:
                    writer.transport.abort()
            sent += _FRAMES_A_CONNECTION
            self.frames += _FRAMES_A_CONNECTION
            self.connections += 1


@dataclass
class Flood:
    """A process of malicious clients, which runs until it is told to end."""

    process: asyncio.subprocess.Process
    is_pressing: asyncio.Event = field(default_factory=asyncio.Event)
    has_pressed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when it has sent the requested frames; it goes on after that."""
    connections: int = 0

    async def listen(self) -> None:
        """Read its progress until it ends."""
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            self.is_pressing.set()
            self.connections = int(line)
            if self.connections:
                self.has_pressed.set()

    def end(self) -> None:
        """Tell it to end."""
        assert self.process.stdin is not None
        self.process.stdin.close()


@contextlib.asynccontextmanager
async def flood(path: Path, frames: int) -> AsyncIterator[Flood]:
    """Run it in its own process, so that it does not slow the measurement. It goes on after `frames`."""
    program = f"""
import asyncio, pathlib, sys, threading
from tests.daemon.crowd import Crowd
crowd, ended = Crowd(pathlib.Path({str(path)!r})), threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
print(0, flush=True)
asyncio.run(crowd.press({frames}))
print(crowd.connections, flush=True)
while not ended.is_set():
    asyncio.run(crowd.press(8 * 500))
print(crowd.connections, flush=True)
"""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        program,
        cwd=Path(__file__).parents[2],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield Flood(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _abort(writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


@contextlib.asynccontextmanager
async def never_reading(path: Path, count: int) -> AsyncIterator[None]:
    """Clients that attach and read nothing."""
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(count):
            _, writer = await asyncio.open_unix_connection(str(path), limit=1)
            # Keep the writer: when it is collected, it closes the connection.
            stack.callback(_abort, writer)
            writer.transport.pause_reading()  # type: ignore[attr-defined]  # what a stream's transport can do
            writer.write(_HELLO + encode(protocol.Attach(1)) + encode(protocol.Observe(2)))
        yield


@contextlib.asynccontextmanager
async def dripping(path: Path) -> AsyncIterator[None]:
    """A client that attaches and reads ten bytes a second."""
    loop = asyncio.get_running_loop()

    async def drip(one: socket.socket) -> None:
        while await loop.sock_recv(one, 10):  # noqa: ASYNC110  # so slowly does it read
            await asyncio.sleep(1.0)

    with socket.socket(socket.AF_UNIX) as one:
        one.setblocking(False)
        await loop.sock_connect(one, str(path))
        await loop.sock_sendall(one, _HELLO + encode(protocol.Attach(1)) + encode(protocol.Observe(2)))
        async with asyncio.TaskGroup() as tasks:
            reading = tasks.create_task(drip(one), name="drip")
            yield
            reading.cancel()


@dataclass
class GoodClient:
    """A client that sends requests and records how long the answers take."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    seconds: list[float] = field(default_factory=list)

    async def ask(self, pause_seconds: float = 0.01) -> None:
        """Send one request and read its answer."""
        began = time.perf_counter()
        self.writer.write(encode(protocol.AskMemory(1)))
        async with asyncio.timeout(300):
            while getattr(decode_frame(await read_body(self.reader)), "request_id", 0) != 1:
                pass
        self.seconds.append(time.perf_counter() - began)
        await asyncio.sleep(pause_seconds)

    @property
    def p99_seconds(self) -> float:
        return float(np.percentile(self.seconds, 99))


@contextlib.asynccontextmanager
async def good_client(path: Path) -> AsyncIterator[GoodClient]:
    """Open a connection that has been greeted."""
    reader, writer = await asyncio.open_unix_connection(str(path))
    try:
        writer.write(_HELLO)
        await read_body(reader)
        yield GoodClient(reader, writer)
    finally:
        writer.transport.abort()
