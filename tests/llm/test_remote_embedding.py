import asyncio
from collections.abc import AsyncIterator

import httpx
import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.config import load_settings
from reveries.errors import ModelFault, ModelMissingError, ModelUnavailableError
from reveries.llm.base import Embedder
from reveries.llm.hosted_embedding import EmbeddingRefusedError, HostedEmbedder, HostedEmbedderOptions
from reveries.llm.ollama_client import OllamaEmbedder
from reveries.llm.remote_embedding import (
    BATCH_CHARS,
    BATCH_TEXTS,
    MAX_CHARS,
    embedding_batches,
    prepare_text,
    unit_rows,
)
from tests.fakes.scripted import HashingEmbedder
from tests.llm.embedding_contract import EmbedderContract
from tests.llm.embedding_fakes import EmbedServer, FakeEmbeddingWire, embed_server

LIMITS = load_settings(None).llm.limits


def hosted(wire: FakeEmbeddingWire, base_url: str = "") -> HostedEmbedder:
    options = HostedEmbedderOptions("openai/text-embedding-3-small", "sk-secret-of-mine", base_url, LIMITS)
    return HostedEmbedder(options, wire)


@pytest.fixture
async def server() -> AsyncIterator[EmbedServer]:
    async with embed_server() as running:
        yield running


@pytest.fixture
async def ollama(server: EmbedServer) -> AsyncIterator[OllamaEmbedder]:
    embedder = OllamaEmbedder("nomic-embed-text", server.url, LIMITS)
    yield embedder
    await embedder.aclose()


class TestOllamaEmbedder(EmbedderContract):
    """Over the documented API; no real Ollama was at hand."""

    @pytest.fixture
    def embedder(self, ollama: OllamaEmbedder) -> Embedder:
        return ollama


class TestHostedEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return hosted(FakeEmbeddingWire())


class TestHashingEmbedder(EmbedderContract):
    """The test twin."""

    @pytest.fixture
    def embedder(self) -> Embedder:
        return HashingEmbedder()


@pytest.mark.requirement("R-48", "V-10")
async def test_ollama_is_asked_in_batches_at_its_embed_address(ollama: OllamaEmbedder, server: EmbedServer) -> None:
    assert ollama.dimensions == 0
    await ollama.embed([f"text {n}" for n in range(BATCH_TEXTS + 1)])
    assert [path for path, _ in server.requests] == ["/api/embed", "/api/embed"]
    assert [len(list(body["input"])) for _, body in server.requests] == [BATCH_TEXTS, 1]  # type: ignore[call-overload]
    assert server.requests[0][1]["model"] == "nomic-embed-text"
    assert ollama.dimensions == 32


@pytest.mark.parametrize(
    ("status", "fault"), [(429, ModelFault.RATE_LIMITED), (500, ModelFault.OVERLOADED), (400, ModelFault.BAD_REQUEST)]
)
async def test_a_refusal_of_ollama_has_its_kind(
    ollama: OllamaEmbedder, server: EmbedServer, status: int, fault: ModelFault
) -> None:
    server.status, server.raw = status, b'{"error": "no\x1b[31m"}'
    with pytest.raises(ModelUnavailableError) as caught:
        await ollama.embed(["x"])
    assert caught.value.fault is fault
    assert "\x1b" not in str(caught.value)


async def test_a_model_that_ollama_lacks_is_named_with_how_to_fetch_it(
    ollama: OllamaEmbedder, server: EmbedServer
) -> None:
    server.status, server.raw = 404, b'{"error": "not found"}'
    with pytest.raises(ModelMissingError) as caught:
        await ollama.embed(["x"])
    assert "ollama pull nomic-embed-text" in caught.value.advice


async def test_nobody_there_is_unreachable() -> None:
    async with embed_server() as gone:
        url = gone.url
    embedder = OllamaEmbedder("m", url, LIMITS)
    with pytest.raises(ModelUnavailableError, match="No Ollama answers") as caught:
        await embedder.embed(["x"])
    assert caught.value.fault is ModelFault.UNREACHABLE
    await embedder.aclose()


@pytest.mark.requirement("D4")
async def test_a_silent_service_is_given_up(server: EmbedServer) -> None:
    server.is_silent = True
    embedder = OllamaEmbedder("m", server.url, msgspec.structs.replace(LIMITS, total_seconds=0.05))
    async with asyncio.timeout(300):
        with pytest.raises(ModelUnavailableError) as caught:
            await embedder.embed(["x"])
    assert caught.value.fault is ModelFault.TIMED_OUT
    await embedder.aclose()


GARBAGE = [
    b"<html>",
    b"\xff\xfe",
    b"[1, 2]",
    b'{"embeddings": []}',
    b'{"embeddings": [[]]}',
    b'{"embeddings": [[1.0], [2.0]]}',
    b'{"embeddings": [["a"]]}',
    b'{"embeddings": [[0.0, 0.0]]}',
    b'{"embeddings": [[NaN, 1.0]]}',
    b'{"embeddings": [[1e999, 1.0]]}',
    b'{"embeddings": [[' + b"1," * 9000 + b"1]]}",
    b'{"embeddings": [[1.0, 2.0',
]


@pytest.mark.requirement("D2", "D4")
@pytest.mark.parametrize("body", GARBAGE)
async def test_what_is_no_vector_is_refused(ollama: OllamaEmbedder, server: EmbedServer, body: bytes) -> None:
    server.raw = body
    with pytest.raises(ModelUnavailableError) as caught:
        await ollama.embed(["x"])
    assert caught.value.fault is ModelFault.BROKEN
    server.raw = None
    assert len(await ollama.embed(["x"])) == 1


@pytest.mark.requirement("D4")
async def test_a_body_without_end_is_cut(ollama: OllamaEmbedder, server: EmbedServer) -> None:
    server.raw = b'{"embeddings": [[' + b"1.0," * 5_000_000
    with pytest.raises(ModelUnavailableError):
        await ollama.embed(["x"])


async def test_rows_of_another_length_than_before_are_refused(ollama: OllamaEmbedder, server: EmbedServer) -> None:
    await ollama.embed(["x"])
    server.raw = b'{"embeddings": [[1.0, 2.0]]}'
    with pytest.raises(ModelUnavailableError, match="rows of 2 numbers after rows of 32"):
        await ollama.embed(["x"])


async def test_hosted_rows_are_put_in_order() -> None:
    wire = FakeEmbeddingWire()
    embedder = hosted(wire, "http://localhost:9/v1")
    answer = await embedder.embed_batch(["one thing", "another"])
    direct = await HashingEmbedder(32).embed(["one thing", "another"])
    assert np.allclose(answer.vectors, direct, atol=1e-5)
    assert answer.prompt_tokens == 6
    [call] = wire.calls
    assert (call["model"], call["api_base"]) == ("text-embedding-3-small", "http://localhost:9/v1")


@pytest.mark.requirement("G1", "D3", "F2")
@pytest.mark.parametrize("status", [429, 500, 503, 307])
async def test_a_host_is_asked_once_whatever_it_answers(server: EmbedServer, status: int) -> None:
    server.status, server.raw = status, b"{}"
    options = HostedEmbedderOptions("openai/text-embedding-3-small", "sk-secret-of-mine", f"{server.url}/v1", LIMITS)
    with pytest.raises(ModelUnavailableError):
        await HostedEmbedder(options).embed(["private"])
    [(path, asked)] = server.requests
    assert path == "/v1/embeddings"
    assert asked["input"] == ["private"]


async def test_usage_that_nobody_told_is_unknown() -> None:
    assert (await hosted(FakeEmbeddingWire(gives_usage=False)).embed_batch(["x"])).prompt_tokens is None


def _refusal(status: int) -> EmbeddingRefusedError:
    headers = {"retry-after": "17"}
    return EmbeddingRefusedError(
        httpx.Response(status, headers=headers, text="bad key sk-secret-of-mine in \x1b[31mred")
    )


@pytest.mark.requirement("F6")
@pytest.mark.parametrize(
    ("status", "fault"),
    [
        (401, ModelFault.KEY_REFUSED),
        (429, ModelFault.RATE_LIMITED),
        (503, ModelFault.OVERLOADED),
    ],
)
async def test_an_error_of_a_host_has_its_kind_and_never_the_key(status: int, fault: ModelFault) -> None:
    wire = FakeEmbeddingWire(error=_refusal(status))
    with pytest.raises(ModelUnavailableError) as caught:
        await hosted(wire).embed(["x"])
    assert caught.value.fault is fault
    assert caught.value.retry_after_seconds == 17.0
    assert "sk-secret" not in str(caught.value)
    assert "\x1b" not in str(caught.value)


async def test_a_model_that_the_host_lacks_is_missing() -> None:
    with pytest.raises(ModelMissingError, match="text-embedding-3-small"):
        await hosted(FakeEmbeddingWire(error=_refusal(404))).embed(["x"])


async def test_an_answer_of_a_host_without_rows_is_refused() -> None:
    with pytest.raises(ModelUnavailableError, match="0 rows for 1 texts"):
        await hosted(FakeEmbeddingWire(rows=[])).embed(["x"])


@given(st.lists(st.text(max_size=6000), max_size=200))
def test_batches_keep_every_text_in_order_within_their_limits(texts: list[str]) -> None:
    cut = list(embedding_batches(texts))
    assert [text for batch in cut for text in batch] == texts
    for batch in cut:
        assert 0 < len(batch) <= BATCH_TEXTS
        assert sum(min(MAX_CHARS, len(text)) for text in batch) <= max(BATCH_CHARS, MAX_CHARS)


@given(st.text())
def test_what_is_sent_can_be_read_and_is_never_blank(text: str) -> None:
    sent = prepare_text(text)
    assert sent.strip()
    assert len(sent.encode("utf-8")) <= 4 * MAX_CHARS


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: x != 0), min_size=1, max_size=50))
def test_any_finite_row_becomes_one_of_unit_length(row: list[float]) -> None:
    assert np.isclose(np.linalg.norm(unit_rows([row], 1, "m")), 1.0, atol=1e-5)
