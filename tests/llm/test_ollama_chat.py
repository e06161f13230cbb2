import importlib
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from reveries.config import OllamaSettings, load_settings
from reveries.errors import ModelMissingError, ModelUnavailableError
from reveries.llm.base import ChatMessage, Prompt, Role
from reveries.llm.ollama_chat import OllamaEntry, OllamaModel, find_ollama_models, list_ollama
from reveries.llm.ollama_client import find_ollama_address
from tests.llm.contract import ChatModelContract, a_prompt, play
from tests.llm.servers import ModelServer, model_server
from tests.rows import check_rows

LIMITS = load_settings(None).llm.limits


@dataclass
class _Running:
    model: OllamaModel
    server: ModelServer

    def say_forever(self) -> None:
        self.server.is_endless = True

    async def has_stopped(self) -> None:
        await self.server.hung_up.wait()


@pytest.fixture
async def running() -> AsyncIterator[_Running]:
    async with model_server() as server:
        model = OllamaModel("small:latest", server.url, LIMITS)
        yield _Running(model, server)
        await model.aclose()


class TestOllamaModel(ChatModelContract):
    """R-48 over the documented Ollama API; no real Ollama was at hand."""


@pytest.mark.requirement("R-48")
async def test_the_request_is_what_ollama_documents(running: _Running) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    prompt = Prompt(Role.CONVERSATION, (ChatMessage("user", "hi <|im_end|>"),), 7, 0.5, stop=("END",), schema=schema)
    await play(running.model, prompt)
    body = running.server.body
    assert running.server.requests[-1][0] == "/api/chat"
    assert body["stream"] is True
    assert body["format"] == schema | {"required": ["a"], "additionalProperties": False}
    options = body["options"]
    assert isinstance(options, dict)
    assert (options["num_predict"], options["temperature"], options["stop"]) == (7, 0.5, ["END"])
    assert "<|im_end|>" not in str(body["messages"])


@pytest.mark.requirement("F2", "F6")
async def test_a_key_of_the_environment_goes_to_no_ollama(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its library sends one that it finds there to whatever listens, in the clear."""
    monkeypatch.setenv("OLLAMA_API_KEY", "sk-of-somebody-else")
    async with model_server() as server:
        model = OllamaModel("small:latest", server.url, LIMITS)
        await play(model, a_prompt())
        await model.aclose()
        await list_ollama(server.url, 5.0)
        assert len(server.heads) == 2
        assert not [head for head in server.heads if "authorization" in head.lower() or "sk-of" in head]


async def test_usage_that_is_not_told_is_unknown(running: _Running) -> None:
    running.server.gives_usage = False
    _, end = await play(running.model, a_prompt())
    assert end.usage is None


@pytest.mark.requirement("D2")
async def test_an_answer_that_is_cut_off_is_no_answer(running: _Running) -> None:
    running.server.gives_end = False
    with pytest.raises(ModelUnavailableError, match="broke off"):
        await play(running.model, a_prompt())


async def test_an_unknown_model_says_how_to_fetch_it(running: _Running) -> None:
    running.server.status = 404
    with pytest.raises(ModelMissingError) as caught:
        await play(running.model, a_prompt())
    assert "ollama pull small:latest" in caught.value.advice


@pytest.mark.parametrize(
    "body", [b"<html>", b'{"error": "out of memory"}\n', b"\xff\xfe\n", b"[1, 2]\n", b'{"a":' * 5000 + b"\n"]
)
async def test_garbage_is_a_plain_error(running: _Running, body: bytes) -> None:
    running.server.raw = body
    with pytest.raises(ModelUnavailableError):
        await play(running.model, a_prompt())


async def test_nobody_there_is_a_plain_error() -> None:
    async with model_server() as server:
        url = server.url
    model = OllamaModel("small", url, LIMITS)
    with pytest.raises(ModelUnavailableError, match="No Ollama answers"):
        await play(model, a_prompt())
    await model.aclose()
    assert await find_ollama_models(url) is None


async def test_what_ollama_has_is_found(running: _Running) -> None:
    assert await find_ollama_models(running.server.url) == ("small:latest",)


async def test_without_a_name_the_first_model_is_used(running: _Running) -> None:
    model = OllamaModel("", running.server.url, LIMITS)
    await play(model, a_prompt())
    await model.aclose()
    assert running.server.body["model"] == "small:latest"


@pytest.mark.requirement("RA-41")
async def test_without_a_name_nothing_that_runs_elsewhere_and_no_embedder_is_used(running: _Running) -> None:
    model = OllamaModel("", running.server.url, LIMITS)
    running.server.models = ["gpt-oss:120b-cloud", "nomic-embed-text:latest"]
    with pytest.raises(ModelMissingError, match="no chat model of its own"):
        await play(model, a_prompt())
    running.server.models.append("small:latest")
    await play(model, a_prompt())
    await model.aclose()
    assert running.server.body["model"] == "small:latest"


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"1",
        b"null",
        b'"x"',
        b'{"models": 3}',
        b'{"models": [{"model": 3}]}',
        b"<html>",
        b"[" * 5000,
        b'{"models":[{"model":"\xff"}]}',
    ],
)
async def test_something_else_at_its_address_is_no_ollama(running: _Running, body: bytes) -> None:
    running.server.raw = body
    assert await list_ollama(running.server.url) is None


async def test_an_ollama_that_accepts_and_says_nothing_is_not_answering() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert await find_ollama_models(f"http://127.0.0.1:{port}", timeout_seconds=0.05) is None


async def test_the_settings_say_whether_it_thinks_and_how_long_it_is_kept(running: _Running) -> None:
    settings = OllamaSettings(thinking=True, keep_alive_minutes=1.5, context_tokens=2048)
    model = OllamaModel("small", running.server.url, LIMITS, settings)
    await play(model, a_prompt())
    await model.aclose()
    body = running.server.body
    assert (body["think"], body["keep_alive"]) == (True, "90s")
    assert isinstance(options := body["options"], dict)
    assert options["num_ctx"] == model.context_tokens == 2048


async def test_a_model_that_cannot_think_is_asked_without_the_switch(running: _Running) -> None:
    running.server.refuses_thinking = True
    for _ in range(2):
        text, _ = await play(running.model, a_prompt())
        assert text == "Hello there, friend."
    assert ["think" in body for _, body in running.server.requests] == [True, False, False]


async def test_the_listing_has_sizes(running: _Running) -> None:
    assert await list_ollama(running.server.url) == (OllamaEntry("small:latest", 0),)


@check_rows(
    "url",
    [
        "",
        "localhost",
        "1.2.3.4",
        ":56789",
        "1.2.3.4:80",
        "http://1.2.3.4",
        "https://1.2.3.4",
        "https://1.2.3.4:56789",
        "example.com:56789/path",
        "http://example.com/path/",
        "https://example.com:56789/path",
        "[::1]",
        "http://[::1]:56789/",
        "http://h:1/?a=b",
        "http://h:1/#f",
        "http://user:pw@h:1",
        "http:///x",
    ],
)
def test_an_address_is_read_as_ollamas_client_reads_it(url: str) -> None:
    read = importlib.import_module("ollama._client").__dict__["_parse_host"]
    assert find_ollama_address(url) == read(url)


async def test_an_address_that_is_none_has_no_models(running: _Running) -> None:
    assert await list_ollama("http://127.0.0.1:99999") is None
    assert await list_ollama("http://a:b") is None
    assert await list_ollama(f"{running.server.url}/".removeprefix("http://")) == (OllamaEntry("small:latest", 0),)


async def test_a_password_in_the_address_goes_to_no_ollama(running: _Running) -> None:
    await list_ollama(running.server.url.replace("http://", "http://somebody:secret@"))
    assert [head for head in running.server.heads if "/api/tags" in head]
    assert not [head for head in running.server.heads if "authorization" in head.lower()]


async def test_one_odd_row_does_not_hide_the_others(running: _Running) -> None:
    running.server.raw = b'{"models": [{"model": null}, {"model": "a", "size": "5"}, {"model": "b", "size": 5.0}]}'
    assert await list_ollama(running.server.url) == (OllamaEntry("a", 0), OllamaEntry("b", 5))


@pytest.mark.requirement("F2")
async def test_a_model_that_runs_abroad_or_cannot_talk_is_not_taken_unasked() -> None:
    async with model_server() as server:
        server.models = ["gpt-oss:120b-cloud", "nomic-embed-text:latest"]
        model = OllamaModel("", server.url, LIMITS)
        with pytest.raises(ModelMissingError):
            await play(model, a_prompt())
        await model.aclose()
    assert [path for path, _ in server.requests] == ["/api/tags"]


@pytest.mark.requirement("F2", "RA-41")
async def test_a_model_of_ollamas_cloud_under_a_name_of_the_owners_is_not_taken_unasked(running: _Running) -> None:
    """`ollama cp gpt-oss:120b-cloud mine`"""
    running.server.models = ["mine:latest", "gpt-oss:120b-cloud", "small:latest"]
    running.server.handed_on = {"mine:latest"}
    assert await find_ollama_models(running.server.url) == ("small:latest",)
    assert await list_ollama(running.server.url) == (
        OllamaEntry("mine:latest", 0, is_remote=True),
        OllamaEntry("gpt-oss:120b-cloud", 0, is_remote=True),
        OllamaEntry("small:latest", 0),
    )
    model = OllamaModel("", running.server.url, LIMITS)
    await play(model, a_prompt())
    await model.aclose()
    assert running.server.body["model"] == "small:latest"


@pytest.mark.requirement("D1")
@pytest.mark.parametrize("body", [b"[]", b"7", b"null", b'{"models": 7}', b'{"models": [7]}', b"<html>", b"\xff"])
async def test_a_server_that_is_no_ollama_is_none(body: bytes) -> None:
    async with model_server() as server:
        server.raw = body
        assert await find_ollama_models(server.url) is None
