"""What a failed connection means for the bill, on real loopback sockets."""

import asyncio
import contextlib
import importlib.util
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import pytest

from reveries.config import load_settings
from reveries.errors import ModelFault, ModelUnavailableError
from reveries.llm.faults import NOT_BILLED
from reveries.llm.hosted import HostedModel, HostedOptions
from reveries.llm.hosted_embedding import HostedEmbedder, HostedEmbedderOptions
from reveries.llm.ollama_chat import OllamaModel, list_ollama
from reveries.llm.ollama_client import OllamaEmbedder
from reveries.llm.ollama_pull import pull_with_ollama
from reveries.llm.wire_faults import fault_of_wire
from tests.llm.contract import a_prompt, play
from tests.rows import check_rows

LIMITS = load_settings(None).llm.limits
HAS_LITELLM = importlib.util.find_spec("litellm") is not None
pytestmark = pytest.mark.filterwarnings("ignore")  # litellm's and its libraries' own


@dataclass
class Line:
    """A server that answers every request with `said`, or resets the connection (None)."""

    said: bytes | None
    url: str = ""
    requests: int = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            lengths = [line.split(":")[1] for line in head.split("\r\n") if line.startswith("content-length:")]
            await reader.readexactly(int(lengths[0]) if lengths else 0)
            self.requests += 1
            if self.said is None:
                raw = writer.get_extra_info("socket")
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                writer.transport.abort()
                return
            writer.write(self.said)
            await writer.drain()
        writer.close()


@contextlib.asynccontextmanager
async def line(said: bytes | None) -> AsyncIterator[Line]:
    there = Line(said)
    server = await asyncio.start_server(there.answer, "127.0.0.1", 0)
    there.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield there
    finally:
        server.close()


def refusal(status: int) -> bytes:
    body = b'{"error": {"message": "litellm.Nope: {\\"sk-x\\": [1]}"}}'
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {len(body)}"
    return f"{head}\r\n\r\n".encode() + body


Ask = Callable[[str], Awaitable[object]]


async def ollama_chat(url: str) -> None:
    model = OllamaModel("m", url, LIMITS)
    try:
        await play(model, a_prompt())
    finally:
        await model.aclose()


async def ollama_embed(url: str) -> None:
    embedder = OllamaEmbedder("m", url, LIMITS)
    try:
        await embedder.embed(["x"])
    finally:
        await embedder.aclose()


async def openai_chat(url: str) -> None:
    await play(HostedModel(HostedOptions("openai/m", "sk-x", f"{url}/v1", LIMITS)), a_prompt())


async def anthropic_chat(url: str) -> None:
    await play(HostedModel(HostedOptions("anthropic/m", "sk-x", url, LIMITS)), a_prompt())


async def openrouter_chat(url: str) -> None:
    await play(HostedModel(HostedOptions("openrouter/m/m", "sk-x", f"{url}/v1", LIMITS)), a_prompt())


async def openai_embed(url: str) -> None:
    await HostedEmbedder(HostedEmbedderOptions("openai/m", "sk-x", f"{url}/v1", LIMITS)).embed(["x"])


async def openrouter_embed(url: str) -> None:
    await HostedEmbedder(HostedEmbedderOptions("openrouter/m/m", "sk-x", f"{url}/v1", LIMITS)).embed(["x"])


HOSTED: list[Ask] = [openai_chat, anthropic_chat, openrouter_chat, openai_embed, openrouter_embed]
ASKS: list[Ask] = [ollama_chat, ollama_embed, *(HOSTED if HAS_LITELLM else [])]


@pytest.mark.requirement("G1", "D3")
@pytest.mark.parametrize("ask", ASKS)
async def test_a_reset_after_the_question_was_sent_is_billed_and_asked_once(ask: Ask) -> None:
    async with line(None) as there:
        with pytest.raises(ModelUnavailableError) as caught:
            await ask(there.url)
    assert caught.value.fault is ModelFault.BROKEN
    assert caught.value.fault not in NOT_BILLED
    assert there.requests == 1


@pytest.mark.requirement("G1", "D3")
@check_rows("ask", ASKS)
@check_rows(
    ("status", "fault"), [(500, ModelFault.OVERLOADED), (429, ModelFault.RATE_LIMITED), (503, ModelFault.OVERLOADED)]
)
async def test_one_call_is_one_request(ask: Ask, status: int, fault: ModelFault) -> None:
    async with line(refusal(status)) as there:
        with pytest.raises(ModelUnavailableError) as caught:
            await ask(there.url)
    assert (caught.value.fault, there.requests) == (fault, 1)
    assert "litellm" not in str(caught.value)
    assert "{" not in str(caught.value)


@pytest.mark.parametrize("ask", ASKS)
async def test_nobody_there_is_unreachable_and_owes_nothing(ask: Ask) -> None:
    async with line(None) as gone:
        url = gone.url
    with pytest.raises(ModelUnavailableError) as caught:
        await ask(url)
    assert caught.value.fault is ModelFault.UNREACHABLE


async def list_models(url: str) -> None:
    assert await list_ollama(url) is None


async def pull_model(url: str) -> None:
    await pull_with_ollama("m", url, lambda *_: None)


@pytest.mark.requirement("D4")
@check_rows("ask", [*ASKS, list_models, pull_model])
async def test_no_redirect_is_followed(ask: Ask) -> None:
    async with line(refusal(200)) as elsewhere:
        moved = f"HTTP/1.1 307 X\r\nLocation: {elsewhere.url}/\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        async with line(moved.encode()) as there:
            with contextlib.suppress(Exception):
                await ask(there.url)
    assert (there.requests, elsewhere.requests) == (1, 0)


@pytest.mark.requirement("D4")
@check_rows("ask", [*ASKS, pull_model])
async def test_a_packed_body_is_not_unpacked(ask: Ask) -> None:
    packed = b"HTTP/1.1 200 X\r\nContent-Encoding: gzip\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc"
    async with line(packed) as there:
        with pytest.raises(ModelUnavailableError):
            await ask(there.url)
    assert there.requests == 1


def test_what_has_nothing_to_do_with_a_connection_says_nothing_of_it() -> None:
    assert fault_of_wire(ValueError("no")) is None
    assert fault_of_wire(ConnectionResetError()) is ModelFault.BROKEN
    assert fault_of_wire(ConnectionRefusedError()) is ModelFault.UNREACHABLE
