"""Ollama's own pulling, over the documented API; no real Ollama was at hand."""

import asyncio
import json
from collections.abc import Sequence

import pytest

from reveries.config import Home
from reveries.errors import DiskFullError, ModelUnavailableError, NotFoundError, ReveriesError
from reveries.llm.ollama_pull import pull_with_ollama
from tests.client.command_line import reveries
from tests.llm.servers import model_server

LAYER = {"status": "pulling aaa", "digest": "sha256:aaa", "total": 100}
GOOD = [
    {"status": "pulling manifest"},
    {**LAYER, "completed": 30},
    {**LAYER, "completed": 100},
    {"status": "pulling bbb", "digest": "sha256:bbb", "total": 50, "completed": 50},
    {"status": "verifying sha256 digest"},
    {"status": "success"},
]


def lines(parts: Sequence[object]) -> bytes:
    return b"".join(json.dumps(part).encode() + b"\n" for part in parts)


async def test_it_tells_how_much_of_all_layers_is_there() -> None:
    told: list[tuple[str, int, int]] = []
    async with model_server() as server:
        server.raw = lines(GOOD)
        await pull_with_ollama("llama3.2", server.url, lambda *now: told.append(now))
        path, body = server.requests[-1]
    assert (path, body["model"], body["stream"]) == ("/api/pull", "llama3.2", True)
    assert told[0] == ("pulling manifest", 0, 0)
    assert told[-1] == ("success", 150, 150)


@pytest.mark.parametrize(
    ("said", "error", "words"),
    [
        ("pull model manifest: file does not exist", NotFoundError, "no model called x"),
        ("write /root/.ollama/blob: no space left on device", DiskFullError, "The disk is full"),
        ('Get "https://registry": dial tcp: lookup registry: no such host', ModelUnavailableError, "its library"),
        ("something else", ReveriesError, "something else"),
    ],
)
async def test_what_ollama_complains_of_is_told_in_plain_words(
    said: str, error: type[ReveriesError], words: str
) -> None:
    async with model_server() as server:
        server.raw = lines([{"status": "pulling manifest"}, {"error": said}])
        with pytest.raises(error, match=words) as caught:
            await pull_with_ollama("x", server.url, lambda *_: None)
    assert caught.value.advice


async def test_a_pull_that_ends_early_or_in_garbage_is_no_success() -> None:
    async with model_server() as server:
        for raw in (lines(GOOD[:3]), b"<html>\n", b""):
            server.raw = raw
            with pytest.raises(ModelUnavailableError, match=r"broke off|stopped before"):
                await pull_with_ollama("x", server.url, lambda *_: None)


async def test_no_ollama_is_said_with_its_address() -> None:
    with pytest.raises(ModelUnavailableError, match=r"No Ollama answers at http://127.0.0.1:9\."):
        await pull_with_ollama("x", "http://127.0.0.1:9", lambda *_: None)


async def test_the_command_takes_ollamas_names(home: Home) -> None:
    home.create()
    async with model_server() as server:
        server.raw = lines(GOOD)
        home.config.write_text(f'[llm]\nollama_url = "{server.url}"\n')
        ran = await asyncio.to_thread(reveries, home, "models", "pull", "ollama/llama3.2")
    assert (ran.code, ran.out, ran.err) == (0, "ollama/llama3.2 is on this machine, from Ollama.\n", "")
    home.config.write_text('[llm]\nollama_url = "http://127.0.0.1:9"\n')
    ran = await asyncio.to_thread(reveries, home, "models", "pull", "ollama/llama3.2")
    assert ran.code == 69
    assert ran.err.startswith("reveries: No Ollama answers at http://127.0.0.1:9. Start it")
