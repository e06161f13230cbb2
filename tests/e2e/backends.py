"""One conversation script, three backends: the model in the daemon's own child, an Ollama, an OpenAI-format server."""

import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from reveries import protocol
from reveries.llm.assets import find_weights
from reveries.llm.model_process import ModelProcess, start_model_process
from tests.e2e.living import Client, Living
from tests.fakes.ollama_server import ollama_server

BACKENDS = ("embedded", "ollama", "openai")

REPLY_TOKENS = 192
_COMMON = """
[llm.embedded]
model = "{model}"
niceness = 0
context_tokens = 2048
[llm.limits]
reply_tokens = {reply_tokens}
[monologue]
enabled = {thinks}
[circuit_breaker]
enabled = false
"""


@dataclass(frozen=True, slots=True)
class Heard:
    """What the script's client saw."""

    first: protocol.Replied
    second: protocol.Replied
    cancelled: protocol.Replied
    token_frames: int
    """Of the first two replies: more than two means that they were streamed."""
    cancel_seconds: float
    """From the client's Cancel to its end of the reply, the storing of what was said included."""
    usage: protocol.UsageToday


@contextlib.asynccontextmanager
async def backend(living: Living, name: str, model: str) -> AsyncIterator[None]:
    """`living` with its settings for the backend `name`, whose server runs until the block is left."""
    common = _COMMON.replace("{model}", model).replace("{reply_tokens}", str(REPLY_TOKENS))
    if name == "embedded":
        living.settings = '[llm]\nprovider = "embedded"\n' + common
        yield
        return
    async with llama_server(model) as process:
        if name == "ollama":
            async with ollama_server(process.client) as server:
                living.settings = f'[llm]\nprovider = "ollama"\nollama_url = "{server.url}"\n{common}'
                yield
            return
        url = str(process.client.base_url).rstrip("/")
        living.environment["REVERIES_API_KEY"] = process.client.headers["authorization"].removeprefix("Bearer ")
        chosen = 'conversation_model = "gpt-4.1-nano"\nmonologue_model = "gpt-4.1-nano"'
        living.settings = f'[llm]\nprovider = "openai"\nbase_url = "{url}/v1"\n{chosen}\n{common}'
        yield


@contextlib.asynccontextmanager
async def llama_server(model: str) -> AsyncIterator[ModelProcess]:
    """llama.cpp's own server with OpenAI's format, on a port of loopback behind a key."""
    nowhere = Path("/nonexistent/so-it-takes-a-port.sock")
    process = await start_model_process(
        find_weights(model),
        nowhere,
        context_tokens=2048,
        slots=2,
        threads=2,
        batch_tokens=16,
        niceness=0,
        wire_bytes=2**26,
    )
    try:
        yield process
    finally:
        await process.aclose()


async def converse(client: Client) -> Heard:
    """Two turns, and a third that is stopped while it speaks."""
    first = await client.say("My sister is called Anna. She lives in Bern.")
    second = await client.say("Tell me something about Bern.")
    tokens = sum(isinstance(frame, protocol.Token) for frame in client.seen)
    asked = client.number()
    client.send(protocol.Say(asked, "Write a very long story about a river, a mill and a cat."))
    await client.next_of(protocol.Token)
    client.send(protocol.Cancel(client.number(), asked))
    began = time.monotonic()
    cancelled = await client.next_of(protocol.Replied)
    cancel_seconds = time.monotonic() - began
    [usage] = [use for use in (await client.status()).usage if use.role == "conversation"]
    return Heard(first, second, cancelled, tokens, cancel_seconds, usage)
