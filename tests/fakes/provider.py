"""A pretended provider on loopback that speaks OpenAI's wire format and the documented Ollama API.

It keeps its own bill, by its own tokenizer, and a log of every request with its time; it never believes the caller. It
refuses what such a server refuses by the written rules (request_refusals). Any `Fault` (tests/fakes/provider_faults.py)
can be injected, for so many calls or until it is healed. Healthy, it says the text that belongs to the model that was
asked, and where a JSON schema was sent, an object of that schema.
"""

import asyncio
import contextlib
import json
import re
import socket
import struct
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from reveries.llm.provider_rules import WireRules, find_rules, wire_rules
from tests.fakes import provider_wire
from tests.fakes.provider_wire import OllamaWire, OpenAiWire, Wire
from tests.fakes.request_refusals import refusal_of, schema_refusals

PIECE_PAUSE_SECONDS = 0.001
DIMENSIONS = 64
TOKENS_PER_MESSAGE = 4
_TOKEN = re.compile(r"\w+|[^\w\s]")
_PIECE = re.compile(r"\s*\S+|\s+\Z")
_CLOSING_TURNS = 4
_DEFAULT_TEXT = "Yes, I remember the garden. You told me about it in May."


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, as it came in. `at` is the time of the provider's clock."""

    at: float
    path: str
    body: Mapping[str, object]
    headers: Mapping[str, str]

    @property
    def model(self) -> str:
        return str(self.body.get("model", ""))

    @property
    def is_ollama(self) -> bool:
        return self.path.startswith("/api/")

    @property
    def is_generation(self) -> bool:
        return self.path in ("/v1/chat/completions", "/api/chat")

    @property
    def schema(self) -> Mapping[str, object] | None:
        """The JSON schema that the answer was asked to follow."""
        if isinstance(form := self.body.get("format"), dict):
            return form
        if isinstance(form := self.body.get("response_format"), dict):
            wrapped = form.get("json_schema", {})
            found = wrapped.get("schema") if isinstance(wrapped, dict) else None
            return found if isinstance(found, dict) else None
        return None

    @property
    def most_tokens(self) -> int:
        options = self.body.get("options")
        found = options.get("num_predict") if isinstance(options, dict) else self._most_completion_tokens
        return int(str(found)) if found is not None else 10_000

    @property
    def _most_completion_tokens(self) -> object:
        return self.body.get("max_completion_tokens", self.body.get("max_tokens"))

    @property
    def prompt_tokens(self) -> int:
        messages = self.body.get("messages")
        texts = [str(message.get("content", "")) for message in messages] if isinstance(messages, list) else []
        given = self.body.get("input")
        texts += [given] if isinstance(given, str) else [str(text) for text in given] if isinstance(given, list) else []
        return sum(tokens_in(text) + TOKENS_PER_MESSAGE for text in texts)


@dataclass(slots=True)
class Billed:
    """What the provider asks money for: every token read and every token made, whether or not it arrived."""

    model: str
    prompt_tokens: int
    completion_tokens: int = 0


class Fault(Protocol):
    """Something that goes wrong. See tests/fakes/provider_faults.py."""

    @property
    def name(self) -> str: ...

    @property
    def play(self) -> Callable[["Exchange"], Awaitable[None]]:
        """Answers one exchange as badly as it does."""
        ...

    @property
    def strike(self) -> Callable[["Provider"], Awaitable[None]]:
        """What happens to the provider as a whole when the fault begins; `heal` undoes it."""
        ...


@dataclass
class Exchange:
    """One request and the connection to answer it on."""

    asked: Asked
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    wire: Wire
    pieces: Sequence[str]
    bill: Billed
    is_chunked: bool = False
    hidden_tokens: int = 0
    """Of reasoning, before the answer."""

    @property
    def usage(self) -> dict[str, object]:
        counts: dict[str, object] = {"prompt": self.bill.prompt_tokens, "completion": self.bill.completion_tokens}
        return counts | ({"reasoning": self.hidden_tokens} if self.hidden_tokens else {})

    async def begin(
        self, status: int = 200, headers: Mapping[str, str] | None = None, *, kind: str = "", framed: bool = True
    ) -> None:
        """The head of the answer. `framed`: in chunks, so that a missing end can be seen; else until it is closed."""
        self.is_chunked = framed
        framing = {"Transfer-Encoding": "chunked"} if framed else {}
        lines = {"Content-Type": kind or self.wire.content_type, "Connection": "close", **framing, **(headers or {})}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        self.writer.write(f"HTTP/1.1 {status} Something\r\n{head}\r\n".encode("latin-1"))
        await self.writer.drain()

    async def send(self, data: bytes) -> None:
        self.writer.write(b"%x\r\n%s\r\n" % (len(data), data) if self.is_chunked else data)
        await self.writer.drain()

    async def say(self, text: str) -> None:
        """One piece of the reply; it is billed when it is made."""
        self.bill.completion_tokens += 1
        await self.send(self.wire.piece(text))

    async def finish(self) -> None:
        if self.is_chunked:
            self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()

    async def body(self, status: int, data: bytes, headers: Mapping[str, str] | None = None, kind: str = "") -> None:
        """A whole answer with its length."""
        length = {"Content-Length": str(len(data)), **(headers or {})}
        await self.begin(status, length, kind=kind or "application/json", framed=False)
        await self.send(data)

    async def whole(self) -> None:
        """What it would say if nothing was wrong, `most_tokens` at most."""
        await self.begin()
        self.hidden_tokens = min(self.hidden_tokens, self.asked.most_tokens)
        self.bill.completion_tokens += self.hidden_tokens
        shown = self.pieces[: self.asked.most_tokens - self.hidden_tokens]
        for text in shown:
            await self.say(text)
            await asyncio.sleep(PIECE_PAUSE_SECONDS)
            if self.reader.at_eof():
                return
        reason = "stop" if len(shown) == len(self.pieces) else "length"
        await self.send(self.wire.end(reason, self.usage))
        await self.finish()

    async def until_left(self) -> None:
        """Say nothing more until the caller hangs up."""
        while await self.reader.read(65536):
            pass

    def reset(self) -> None:
        """End the connection with RST instead of FIN."""
        raw = self.writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


@dataclass
class Provider:
    """Made by `provider()`. `texts`: what each model says; `answers`: what each says where a schema was sent."""

    now: Callable[[], float]
    port: int = 0
    texts: dict[str, str] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)
    rules: Callable[[str], WireRules] = lambda model: find_rules(f"openai/{model}", "http://127.0.0.1")
    """By the model: what it accepts below `/v1`."""
    reasoning: dict[str, int] = field(default_factory=dict)
    """How many tokens a model uses before it answers; they are billed, and not shown."""
    models: list[str] = field(default_factory=lambda: ["small:latest", "nomic-embed-text:latest"])
    requests: list[Asked] = field(default_factory=list)
    bill: list[Billed] = field(default_factory=list)
    connections: int = 0
    fault: Fault | None = None
    _calls_left: int | None = None
    _server: asyncio.Server | None = None
    _kept: socket.socket | None = None
    """The port while nobody listens at it: another program would be given it else, and `heal` would not get it back."""
    _occupied: list[socket.socket] = field(default_factory=list)
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)
    _opened: list[asyncio.WriteTransport] = field(default_factory=list)
    """Every connection that was served."""

    @property
    def url(self) -> str:
        """For Ollama; OpenAI's format stands below `/v1`."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def generations(self) -> list[Asked]:
        return [asked for asked in self.requests if asked.is_generation]

    @property
    def billed_tokens(self) -> int:
        return sum(entry.prompt_tokens + entry.completion_tokens for entry in self.bill)

    async def inject(self, fault: Fault, calls: int | None = None) -> None:
        """From now on, for so many calls or until `heal`."""
        await self.heal()
        self.fault, self._calls_left = fault, calls
        await fault.strike(self)

    async def heal(self) -> None:
        """Whatever was wrong is over."""
        self.fault, self._calls_left = None, None
        for held in self._occupied:
            held.close()
        self._occupied.clear()
        if self._server is None:
            await self.listen()

    async def listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, sock=self._take_port(), limit=2**22)
        self.port = self._server.sockets[0].getsockname()[1]

    def _take_port(self) -> socket.socket:
        """Ours, or any that is free: a socket that is bound to it and refuses whoever comes."""
        kept, self._kept = self._kept, None
        if kept is None:
            kept = socket.socket()
            kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            kept.bind(("127.0.0.1", self.port))
        return kept

    async def stop_listening(self) -> None:
        """Refuse every connection from now on, and end those that are open."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
            self._kept = self._take_port()
        for writer in list(self._writers):
            writer.transport.abort()
        await asyncio.sleep(0)

    async def swallow_connections(self) -> None:
        """Be there, and never accept: what a network does that loses every packet."""
        await self.stop_listening()
        listener = self._take_port()
        listener.listen(0)
        self._occupied.append(listener)
        for _ in range(4):  # the queue of a listener that accepts nothing is full after one or two
            filler = socket.socket()
            filler.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                filler.connect(("127.0.0.1", self.port))
            self._occupied.append(filler)

    async def close(self) -> None:
        await self.stop_listening()
        # A connection that was accepted just now is served only after a turn of the loop, and one whose answer nobody
        # reads is never flushed: both would be left open.
        for _ in range(_CLOSING_TURNS):
            for transport in self._opened:
                transport.abort()
            await asyncio.sleep(0)
        for held in (self._kept, *self._occupied):
            if held is not None:
                held.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._opened.append(writer.transport)
        self._writers.add(writer)
        try:
            asked = await _read_request(reader, self.now())
            if asked is not None:
                self.requests.append(asked)
                await self._answer(asked, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, TimeoutError):
            pass  # the caller left: that is its right
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _answer(self, asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        wire: Wire = OllamaWire() if asked.is_ollama else OpenAiWire()
        billed = Billed(asked.model, asked.prompt_tokens)
        exchange = Exchange(asked, reader, writer, wire, self._pieces(asked), billed)
        exchange.hidden_tokens = self.reasoning.get(asked.model, 0)
        fault = self._fault_of_this_call(asked)
        if fault is not None:
            if asked.is_generation or asked.path.endswith(("/embeddings", "/embed")):
                self.bill.append(billed)
            await fault.play(exchange)
        elif asked.is_generation and (why := self._refusal(asked)):
            await exchange.body(400, wire.refusal(why))
        elif asked.is_generation:
            self.bill.append(billed)
            await self._generate(exchange)
        else:
            await self._answer_question(exchange)

    def _refusal(self, asked: Asked) -> str | None:
        if not asked.is_ollama:
            return refusal_of(asked.body, self.rules(asked.model))
        return next(schema_refusals(asked.schema, wire_rules("llama_cpp", "")), None) if asked.schema else None

    async def _generate(self, exchange: Exchange) -> None:
        if exchange.asked.body.get("stream", exchange.asked.is_ollama):
            await exchange.whole()
            return
        shown = exchange.pieces[: exchange.asked.most_tokens]
        exchange.bill.completion_tokens = len(shown)
        reason = "stop" if len(shown) == len(exchange.pieces) else "length"
        await exchange.body(200, provider_wire.openai_whole("".join(shown), reason, exchange.usage))

    async def _answer_question(self, exchange: Exchange) -> None:
        asked = exchange.asked
        match asked.path:
            case "/v1/models":
                await exchange.body(200, provider_wire.openai_models(self.models))
            case "/api/tags":
                await exchange.body(200, provider_wire.ollama_tags(self.models))
            case "/api/version":
                await exchange.body(200, b'{"version": "0.12.9"}')
            case "/api/show":
                await exchange.body(200, provider_wire.ollama_show(asked.model))
            case "/api/pull":
                await exchange.begin()
                for line in provider_wire.ollama_pull():
                    await exchange.send(line)
                await exchange.finish()
            case "/v1/embeddings" | "/api/embed":
                self.bill.append(exchange.bill)
                await exchange.body(200, embedded(asked))
            case _:
                await exchange.body(404, exchange.wire.refusal(f"path {asked.path} not found"))

    def _fault_of_this_call(self, asked: Asked) -> Fault | None:
        if self.fault is None or asked.path in ("/api/version", "/api/tags", "/v1/models"):
            return None
        if self._calls_left is not None:
            if self._calls_left == 0:
                self.fault = None
                return None
            self._calls_left -= 1
        return self.fault

    def _pieces(self, asked: Asked) -> list[str]:
        if asked.schema is not None:
            text = self.answers.get(asked.model) or json.dumps(instance_of(asked.schema))
        else:
            text = self.texts.get(asked.model, _DEFAULT_TEXT)
        return _PIECE.findall(text)


@contextlib.asynccontextmanager
async def provider(now: Callable[[], float] | None = None) -> AsyncIterator[Provider]:
    """A healthy provider that is there until the block is left. `now`: its clock, for the log (default: the loop's)."""
    made = Provider(now or asyncio.get_running_loop().time)
    await made.listen()
    try:
        yield made
    finally:
        await made.close()


def tokens_in(text: str) -> int:
    """By the provider's own tokenizer: words and marks."""
    return len(_TOKEN.findall(text))


def instance_of(schema: Mapping[str, object]) -> object:
    """A value that follows `schema`, as far as this program's schemas go. The same each time."""
    if isinstance(choices := schema.get("enum"), list):
        return choices[0]
    match schema.get("type"):
        case "object":
            properties = schema.get("properties")
            assert isinstance(properties, dict)
            return {name: instance_of(inner) for name, inner in properties.items()}
        case "array":
            inner = schema.get("items")
            most = schema.get("maxItems", 1)
            return [instance_of(inner)] if isinstance(inner, dict) and most else []
        case "number":
            return 0.5
        case "integer":
            return 1
        case "boolean":
            return True
        case _:
            return "They told me about the garden."[: int(str(schema.get("maxLength", 100)))]


def vectors_of(texts: Sequence[str], dimensions: int = DIMENSIONS) -> list[list[float]]:
    """The same text has the same vector; texts that share words are near each other."""
    return [_vector(text, dimensions) for text in texts]


def embedded(asked: Asked) -> bytes:
    """The answer to a request for embeddings, in the format it came in."""
    given = asked.body.get("input", "")
    texts = [given] if isinstance(given, str) else [str(text) for text in given] if isinstance(given, list) else []
    rows = vectors_of(texts, int(str(asked.body.get("dimensions") or DIMENSIONS)))
    write = provider_wire.ollama_embed if asked.is_ollama else provider_wire.openai_embeddings
    return write(asked.model, rows, asked.prompt_tokens)


def _vector(text: str, dimensions: int) -> list[float]:
    row = [0.0] * dimensions
    for word in _TOKEN.findall(text.lower()) or [""]:
        for place, sign in _direction(word, dimensions):
            row[place] += sign
    length = sum(value * value for value in row) ** 0.5 or 1.0
    return [value / length for value in row]


def _direction(word: str, dimensions: int) -> Iterator[tuple[int, float]]:
    for salt in range(8):
        code = zlib.crc32(f"{salt}{word}".encode("utf-8", "replace"))
        yield code % dimensions, 1.0 if code & 0x1000 else -1.0


async def _read_request(reader: asyncio.StreamReader, at: float) -> Asked | None:
    """None when the other side does not speak HTTP (a TLS greeting, say)."""
    head = await reader.read(1)
    if not head.isalpha():
        return None
    head += await reader.readuntil(b"\r\n\r\n")
    first, *rest = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest) if name}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    if headers.get("transfer-encoding") == "chunked":
        body = await _read_chunks(reader)
    return Asked(at, first.split(" ")[1], json.loads(body) if body else {}, headers)


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int((await reader.readline()).strip() or b"0", 16):
        body += await reader.readexactly(size)
        await reader.readline()
    await reader.readline()
    return body
