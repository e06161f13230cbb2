"""One server on loopback that speaks both wire formats: Ollama's lines of JSON and OpenAI's server-sent events."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

PIECE_PAUSE_SECONDS = 0.002


@dataclass
class ModelServer:
    """Set its answer, then call it; `requests` has the requests it received. Created by `model_server`."""

    url: str = ""
    pieces: list[str] = field(default_factory=lambda: ["Hello", " there", ", friend."])
    status: int = 200
    is_endless: bool = False
    """Say the pieces over and over until the caller hangs up."""
    gives_usage: bool = True
    gives_end: bool = True
    refuses_thinking: bool = False
    """Answer a request that says `think` as an Ollama answers for a model that cannot."""
    raw: bytes | None = None
    """Sent as the whole body in place of an answer."""
    models: list[str] = field(default_factory=lambda: ["small:latest"])
    handed_on: set[str] = field(default_factory=set)
    """Of `models`, those that run on somebody else's computer: an Ollama's list says so."""
    sizes: dict[str, str] = field(default_factory=dict)
    """How many parameters the list says that a model of `models` has, as "7.6B"."""
    requests: list[tuple[str, dict[str, object]]] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    """Of each request, the line and headers as they came."""
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a caller left an answer before its end."""
    writers: list[asyncio.StreamWriter] = field(default_factory=list)

    @property
    def body(self) -> dict[str, object]:
        """The last request's."""
        return self.requests[-1][1]

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        try:
            head, path, body = await _read_request(reader)
            self.heads.append(head)
            self.requests.append((path, body))
            if self.refuses_thinking and "think" in body:
                writer.write(_no_thinking())
                return
            is_ollama = path.startswith("/api/")
            kind = "application/x-ndjson" if is_ollama else "text/event-stream"
            writer.write(f"HTTP/1.1 {self.status} X\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n".encode())
            if self.raw is not None or self.status != 200:
                writer.write(self.raw or b'{"error": {"message": "no"}}')
            elif path == "/api/tags":
                writer.write(json.dumps({"models": [self._listed(name) for name in self.models]}).encode())
            elif path.endswith("/messages"):
                writer.write(_in_anthropics_words("".join(self.pieces)))
            else:
                await self._stream(reader, writer, is_ollama, int(str(_limit(body))))
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            self.hung_up.set()
        finally:
            writer.close()

    def _listed(self, name: str) -> dict[str, object]:
        elsewhere = {"remote_model": "gpt-oss:120b", "remote_host": "https://ollama.com:443"}
        told = {"details": {"parameter_size": self.sizes[name]}} if name in self.sizes else {}
        return {"model": name, **told, **(elsewhere if name in self.handed_on else {})}

    async def _stream(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_ollama: bool, limit: int
    ) -> None:
        said = 0
        while self.is_endless or said < len(self.pieces):
            if not self.is_endless and said >= limit:
                break
            writer.write(_piece(self.pieces[said % len(self.pieces)], is_ollama))
            await writer.drain()
            said += 1
            await asyncio.sleep(PIECE_PAUSE_SECONDS)
            if reader.at_eof():
                self.hung_up.set()
                return
        if self.gives_end:
            writer.write(_end(is_ollama, "length" if said < len(self.pieces) else "stop", said, self.gives_usage))


@contextlib.asynccontextmanager
async def model_server() -> AsyncIterator[ModelServer]:
    """A server that is there until the block is left."""
    told = ModelServer()
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


async def _read_request(reader: asyncio.StreamReader) -> tuple[str, str, dict[str, object]]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    lines = head.split("\r\n")
    length = next((int(line.split(":")[1]) for line in lines if line.lower().startswith("content-length:")), 0)
    body = await reader.readexactly(length)
    return head, lines[0].split()[1], json.loads(body) if body else {}


def _no_thinking() -> bytes:
    said = json.dumps({"error": '"small" does not support thinking'}).encode()
    head = f"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: {len(said)}\r\n"
    return head.encode() + b"Connection: close\r\n\r\n" + said


def _limit(body: dict[str, object]) -> object:
    options = body.get("options")
    found = options.get("num_predict") if isinstance(options, dict) else body.get("max_tokens")
    return found if found is not None else 10_000


def _piece(text: str, is_ollama: bool) -> bytes:
    if is_ollama:
        return json.dumps({"message": {"role": "assistant", "content": text}, "done": False}).encode() + b"\n"
    return _event({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]})


def _end(is_ollama: bool, reason: str, said: int, gives_usage: bool) -> bytes:
    if is_ollama:
        counts = {"prompt_eval_count": 11, "eval_count": said} if gives_usage else {}
        message = {"role": "assistant", "content": ""}
        return json.dumps({"message": message, "done": True, "done_reason": reason, **counts}).encode() + b"\n"
    end = _event({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    usage = {"prompt_tokens": 11, "completion_tokens": said, "total_tokens": 11 + said}
    counted = _event({"choices": [], "usage": usage}) if gives_usage else b""
    return end + counted + b"data: [DONE]\n\n"


def _in_anthropics_words(text: str) -> bytes:
    """A whole answer as Anthropic streams it."""
    message = {"id": "x", "type": "message", "role": "assistant", "model": "m", "content": []}
    events: list[dict[str, object]] = [
        {"type": "message_start", "message": {**message, "usage": {"input_tokens": 11, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}},
        {"type": "message_stop"},
    ]
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


def _event(chunk: dict[str, object]) -> bytes:
    whole = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", **chunk}
    return b"data: " + json.dumps(whole).encode() + b"\n\n"
