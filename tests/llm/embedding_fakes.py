"""Embedding services: one on loopback in Ollama's format, an unreachable host, and one that fails on demand."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace

from reveries.errors import ReveriesError
from reveries.llm.base import Vectors
from tests.fakes.scripted import HashingEmbedder


async def rows_for(texts: Sequence[str], scale: float = 3.0) -> list[list[float]]:
    """Rows as a service gives them: not of unit length."""
    return [[scale * float(number) for number in row] for row in await HashingEmbedder(32).embed(texts)]


class FailingEmbedder(HashingEmbedder):
    """Embeds until `error` is set; every call waits for `gate`."""

    def __init__(self, dimensions: int = 64, error: ReveriesError | None = None) -> None:
        super().__init__(dimensions)
        self.error = error
        self.gate = asyncio.Event()
        self.gate.set()

    async def embed(self, texts: Sequence[str]) -> Vectors:
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        return await super().embed(texts)


@dataclass
class EmbedServer:
    """Ollama's documented `/api/embed`. Set its answer; `requests` has the requests it received."""

    url: str = ""
    status: int = 200
    raw: bytes | None = None
    is_silent: bool = False
    requests: list[tuple[str, dict[str, object]]] = field(default_factory=list)
    writers: list[asyncio.StreamWriter] = field(default_factory=list)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            lines = head.split("\r\n")
            length = next((int(one.split(":")[1]) for one in lines if one.lower().startswith("content-length:")), 0)
            body = json.loads(await reader.readexactly(length))
            self.requests.append((lines[0].split()[1], body))
            if self.is_silent:
                await reader.read()
                return
            said = self.raw if self.raw is not None else await self._rows(body)
            kind = "Content-Type: application/json\r\nConnection: close"
            writer.write(f"HTTP/1.1 {self.status} X\r\n{kind}\r\nContent-Length: {len(said)}\r\n\r\n".encode() + said)
            await writer.drain()
        writer.close()

    async def _rows(self, body: dict[str, object]) -> bytes:
        texts = body["input"]
        assert isinstance(texts, list)
        answer = {"model": body["model"], "embeddings": await rows_for(texts), "prompt_eval_count": 7 * len(texts)}
        return json.dumps(answer).encode()


@contextlib.asynccontextmanager
async def embed_server() -> AsyncIterator[EmbedServer]:
    """A server that is there until the block is left."""
    told = EmbedServer()
    server = await asyncio.start_server(told.answer, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    told.url = f"http://{host}:{port}"
    try:
        yield told
    finally:
        server.close()
        for writer in told.writers:
            writer.close()
            with contextlib.suppress(ConnectionError, TimeoutError):
                async with asyncio.timeout(1):
                    await writer.wait_closed()


@dataclass
class FakeEmbeddingWire:
    """A host's embeddings: rows in any order, counted or not, or an error."""

    error: Exception | None = None
    rows: list[object] | None = None
    gives_usage: bool = True
    calls: list[dict[str, object]] = field(default_factory=list)

    async def aembedding(self, **options: object) -> object:
        self.calls.append(options)
        await asyncio.sleep(0)
        if self.error is not None:
            raise self.error
        texts = options["texts"]
        assert isinstance(texts, list)
        rows = self.rows if self.rows is not None else await rows_for(texts)
        data = [{"index": place, "embedding": row} for place, row in enumerate(rows)]
        usage = SimpleNamespace(prompt_tokens=3 * len(texts)) if self.gives_usage else None
        return SimpleNamespace(data=data[::-1], usage=usage)
