import asyncio
import importlib.util
import json
import os
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from reveries.config import load_settings
from reveries.errors import ModelMissingError, ModelUnavailableError, StorageError
from reveries.llm.base import ChatMessage, Prompt, Role, Usage
from reveries.llm.hosted import HostedModel, HostedOptions, LiteLlm, load_litellm
from reveries.llm.provider_rules import WireRules, wire_rules
from reveries.llm.structured import ask_structured
from tests.fakes.provider import provider
from tests.llm.contract import ChatModelContract, a_prompt, play
from tests.llm.hosted_alone import KEY, NAMES
from tests.llm.servers import ModelServer, model_server

LIMITS = load_settings(None).llm.limits
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
PLANTED = {
    "ANTHROPIC_AUTH_TOKEN": "quokka-auth",
    "JSON_LOGS": "true",
    "LITELLM_ANTHROPIC_BETA_HEADERS_URL": "http://127.0.0.1:9/quokka",
    "LITELLM_LOG": "DEBUG",
    "LITELLM_USER_AGENT": "quokka-agent",
    "OPENAI_CUSTOM_HEADERS": "X-Quokka: quokka",
    "OPENAI_LOG": "debug",
    "OPENAI_ORGANIZATION": "quokka-organization",
    "OPENAI_ORG_ID": "quokka-org",
    "OPENAI_PROJECT_ID": "quokka-project",
    "OPENAI_API_KEY": "quokka-key",
    "OR_API_KEY": "quokka-or",
    "OR_APP_NAME": "quokka-app",
    "OR_SITE_URL": "https://quokka.invalid",
}
"""What an environment may have for other programs that ask the same providers."""


@dataclass
class FakeLiteLlm:
    """What we use of litellm: one call, and chunks with the attributes that its chunks have."""

    pieces: list[str] = field(default_factory=lambda: ["Good", " evening", " to", " you"])
    is_endless: bool = False
    ends: bool = True
    error: Exception | None = None
    suppress_debug_info: bool = False
    calls: list[dict[str, object]] = field(default_factory=list)
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)

    async def acompletion(self, **options: object) -> object:
        self.calls.append(options)
        if self.error is not None:
            raise self.error
        return self._chunks(int(str(options.get("max_completion_tokens", options.get("max_tokens")))))

    async def _chunks(self, limit: int) -> AsyncGenerator[object, None]:
        said = 0
        is_whole = False
        try:
            while self.is_endless or said < min(limit, len(self.pieces)):
                await asyncio.sleep(0)
                yield _chunk(self.pieces[said % len(self.pieces)], None)
                said += 1
            if self.ends:
                yield _chunk(None, "length" if said < len(self.pieces) else "stop")
                usage = SimpleNamespace(
                    prompt_tokens=9, completion_tokens=said, prompt_tokens_details=SimpleNamespace(cached_tokens=4)
                )
                yield SimpleNamespace(choices=[], usage=usage)
            is_whole = True
        finally:
            if not is_whole:
                self.hung_up.set()


def _chunk(text: str | None, reason: str | None) -> object:
    return SimpleNamespace(choices=[SimpleNamespace(delta=SimpleNamespace(content=text), finish_reason=reason)])


@dataclass
class _Running:
    model: HostedModel
    litellm: FakeLiteLlm

    def say_forever(self) -> None:
        self.litellm.is_endless = True

    async def has_stopped(self) -> None:
        await self.litellm.hung_up.wait()


def _model(litellm: FakeLiteLlm, base_url: str = "", name: str = "openai/gpt-4.1-mini") -> HostedModel:
    async def load() -> LiteLlm:
        return litellm

    return HostedModel(HostedOptions(name, "sk-secret-of-mine", base_url, LIMITS), load)


class TestHostedModel(ChatModelContract):
    @pytest.fixture
    def running(self) -> _Running:
        litellm = FakeLiteLlm()
        return _Running(_model(litellm), litellm)


@pytest.mark.requirement("R-45")
async def test_retries_are_off_and_usage_is_asked_for() -> None:
    litellm = FakeLiteLlm()
    prompt = Prompt(Role.MONOLOGUE, (ChatMessage("user", "hi <|im_end|>"),), 7, stop=("x",), schema=SCHEMA)
    _, end = await play(_model(litellm, "http://localhost:9/v1"), prompt)
    [call] = litellm.calls
    assert (call["num_retries"], call["max_retries"], call["stream"]) == (0, 0, True)
    assert call["stream_options"] == {"include_usage": True}
    assert call["api_base"] == "http://localhost:9/v1"
    assert call["stop"] == ["x"]
    assert "json_schema" in str(call["response_format"])
    assert "<|im_end|>" not in str(call["messages"])
    assert end.usage == Usage(9, 4, 4)


@pytest.mark.parametrize("name", ["openai/o3", "openai/o4-mini", "openrouter/openai/o1"])
async def test_a_model_that_refuses_stops_is_asked_without_them(name: str) -> None:
    litellm = FakeLiteLlm()
    await play(_model(litellm, name=name), Prompt(Role.CONVERSATION, (ChatMessage("user", "hi"),), 7, stop=("x",)))
    [call] = litellm.calls
    assert "stop" not in call


async def test_an_answer_without_its_end_mark_is_no_answer() -> None:
    with pytest.raises(ModelUnavailableError, match="broke off"):
        await play(_model(FakeLiteLlm(ends=False)), a_prompt())


async def test_the_import_of_the_library_is_no_silence_of_the_provider() -> None:
    """On a busy machine it takes longer than a provider may say nothing."""
    impatient = msgspec.structs.replace(LIMITS, first_token_seconds=0.05)

    async def load_slowly() -> LiteLlm:
        await asyncio.sleep(0.15)
        return FakeLiteLlm()

    text, _ = await play(HostedModel(HostedOptions("openai/m", "sk-x", "", impatient), load_slowly), a_prompt())
    assert text


async def test_an_import_that_does_not_end_fails_the_call() -> None:
    hurried = msgspec.structs.replace(LIMITS, total_seconds=0.05)

    async def load_for_ever() -> LiteLlm:
        await asyncio.Event().wait()
        return FakeLiteLlm()

    with pytest.raises(ModelUnavailableError, match="litellm was not loaded"):
        await play(HostedModel(HostedOptions("openai/m", "sk-x", "", hurried), load_for_ever), a_prompt())


class _WireError(Exception):
    def __init__(self, status_code: int | None, text: str) -> None:
        super().__init__(text)
        self.status_code = status_code


async def test_where_a_provider_cannot_be_reached_the_owner_is_told_what_to_look_at_and_what_needs_no_network() -> None:
    error = _WireError(500, "Connection error.")
    error.__cause__ = ConnectionRefusedError()
    with pytest.raises(ModelUnavailableError, match="cannot be reached") as caught:
        await play(_model(FakeLiteLlm(error=error)), a_prompt())
    assert "online" in caught.value.advice
    assert "reveries config set llm.provider embedded" in caught.value.advice


@pytest.mark.requirement("F6")
@pytest.mark.parametrize(
    ("status", "kind", "says"),
    [
        (401, ModelUnavailableError, "refused the key"),
        (404, ModelMissingError, "no model"),
        (429, ModelUnavailableError, "too many calls"),
        (500, ModelUnavailableError, "cannot answer now"),
        (None, ModelUnavailableError, "broke off"),
    ],
)
async def test_an_error_is_one_sentence_without_the_key(
    status: int | None, kind: type[ModelUnavailableError], says: str
) -> None:
    litellm = FakeLiteLlm(error=_WireError(status, "bad key sk-secret-of-mine\nin \x1b[31mred"))
    with pytest.raises(kind, match=says) as caught:
        await play(_model(litellm), a_prompt())
    assert "sk-secret-of-mine" not in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_the_environment_is_changed_on_the_loop_where_nobody_copies_it_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_LOG", "debug")
    may_go_on = threading.Event()
    with ThreadPoolExecutor(max_workers=1) as one:
        asyncio.get_running_loop().set_default_executor(one)
        one.submit(may_go_on.wait)
        async with asyncio.TaskGroup() as tasks:
            loading = tasks.create_task(load_litellm(), name="loading")
            await asyncio.sleep(0)
            is_heard = "OPENAI_LOG" in os.environ
            loading.cancel()
            may_go_on.set()
    assert not is_heard


if importlib.util.find_spec("litellm") is None:

    async def test_without_the_extra_the_error_says_how_to_get_it() -> None:
        with pytest.raises(ModelUnavailableError, match="extra") as caught:
            await load_litellm()
        assert "hosted" in caught.value.advice

else:

    @dataclass
    class _RunningOverTheWire:
        model: HostedModel
        server: ModelServer

        def say_forever(self) -> None:
            self.server.is_endless = True

        async def has_stopped(self) -> None:
            await self.server.hung_up.wait()

    @pytest.mark.filterwarnings("ignore")
    class TestRealLiteLlmOverTheOpenAiFormat(ChatModelContract):
        @pytest.fixture
        async def running(self) -> AsyncIterator[_RunningOverTheWire]:
            async with model_server() as server:
                options = HostedOptions("openai/any-model", "sk-x", f"{server.url}/v1", LIMITS)
                yield _RunningOverTheWire(HostedModel(options), server)

        @pytest.mark.requirement("D2")
        async def test_an_end_mark_that_litellm_made_up_is_none(self, running: _RunningOverTheWire) -> None:
            running.server.gives_end = False
            with pytest.raises(ModelUnavailableError, match="broke off"):
                await play(running.model, a_prompt())

        @pytest.mark.requirement("G1")
        async def test_usage_that_litellm_made_up_is_unknown(self, running: _RunningOverTheWire) -> None:
            running.server.gives_usage = False
            _, end = await play(running.model, a_prompt())
            assert end.usage is None

    def _wire_model(url: str, name: str = "openai/any", **options: object) -> HostedModel:
        return HostedModel(HostedOptions(name, "sk-x", f"{url}/v1", LIMITS, **options))  # type: ignore[arg-type]

    def _refuse_schemas(_: str) -> WireRules:
        """A server that promises JSON and takes no schema."""
        return wire_rules("deepseek", "any")

    @pytest.mark.filterwarnings("ignore")
    async def test_a_refused_schema_is_told_in_words_once_and_from_then_on() -> None:
        async with provider() as server:
            server.rules, server.texts["any"] = _refuse_schemas, 'Of course: {"a": "pears"}'
            model = _wire_model(server.url)
            question = Prompt(Role.WORK, (ChatMessage("user", "Which fruit?"),), 60, schema=SCHEMA)
            first = await ask_structured(model, question, dict[str, str])
            second = await ask_structured(model, question, dict[str, str])
            forms = [asked.body.get("response_format", {}).get("type") for asked in server.generations]  # type: ignore[attr-defined]
        assert first == second == {"a": "pears"}
        assert forms == ["json_schema", None, None]
        assert '"additionalProperties"' in str(server.generations[-1].body["messages"])

    @pytest.mark.filterwarnings("ignore")
    async def test_hidden_reasoning_does_not_cut_the_answer_and_is_counted() -> None:
        async with provider() as server:
            server.reasoning["gpt-oss-120b"] = 900
            model = _wire_model(server.url, "cerebras/gpt-oss-120b")
            server.rules = lambda name: wire_rules("cerebras", name)
            answer, end = await play(model, Prompt(Role.WORK, (ChatMessage("user", "hi"),), 40, schema=SCHEMA))
            [asked] = server.generations
        assert json.loads(answer).keys() == {"a"}
        assert (asked.body["max_tokens"], asked.body["reasoning_effort"]) == (40 + 2048, "low")
        assert end.usage is not None
        assert end.usage.reasoning_tokens == 900
        assert end.usage.completion_tokens > 900

    @pytest.mark.filterwarnings("ignore")
    async def test_a_model_that_only_reasons_says_so_and_gets_room_the_next_time() -> None:
        async with provider() as server:
            server.reasoning["any"] = 500
            model = _wire_model(server.url)
            text, end = await play(model, a_prompt())
            assert (text, end.has_reasoned) == ("", True)
            text, _ = await play(model, a_prompt())
        assert text

    @pytest.mark.filterwarnings("ignore")
    async def test_a_model_that_answered_once_without_reasoning_keeps_the_room_for_it() -> None:
        async with provider() as server:
            model = _wire_model(server.url)
            answers = []
            for tokens in (500, 0, 500):
                server.reasoning["any"] = tokens
                answers.append((await play(model, a_prompt()))[0])
        assert answers[0] == ""
        assert all(answers[1:]), "the second answer says nothing of the third"

    @pytest.fixture(scope="module")
    def alone(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, "subprocess.CompletedProcess[str]"]:
        """Run calls with an environment full of settings for these libraries; return the log's folder too."""
        folder = tmp_path_factory.mktemp("log")
        done = subprocess.run(
            [sys.executable, "-m", "tests.llm.hosted_alone", str(folder)],
            cwd=Path(__file__).parents[2], env=os.environ | PLANTED, capture_output=True, text=True, timeout=300,
            check=True,
        )  # fmt: skip
        return folder, done

    @pytest.mark.requirement("F2")
    def test_nothing_of_the_environment_goes_with_a_call(
        alone: tuple[Path, "subprocess.CompletedProcess[str]"],
    ) -> None:
        heads: list[str] = json.loads(alone[1].stdout.splitlines()[-1])
        assert len(heads) == 2 * len(NAMES)
        assert all(KEY in head for head in heads)
        assert [head for head in heads if "quokka" in head.lower()] == []

    @pytest.mark.requirement("F10", "H2")
    def test_what_was_said_stands_neither_in_the_log_at_debug_nor_on_standard_error(
        alone: tuple[Path, "subprocess.CompletedProcess[str]"],
    ) -> None:
        folder, done = alone
        log = (folder / "daemon.log").read_text(encoding="utf-8")
        assert log.count("library.logged") >= 5
        assert '"kind": "UserWarning"' in log
        assert "quibblewort" not in log.lower()
        assert "quibblewort" not in (done.stderr + done.stdout).lower()


class _FullNotes:
    """RefusalNotes that cannot be stored."""

    def has(self, model: str) -> bool:
        return False

    async def note(self, model: str) -> None:
        raise StorageError("The memory file is locked.")


@dataclass
class _RefusesSchemas(FakeLiteLlm):
    opened: Any = None

    async def acompletion(self, **options: object) -> object:
        if "response_format" in options:
            raise _BadRequestError("no such form")
        chunks = await super().acompletion(**options)
        self.opened = chunks
        return chunks


class _BadRequestError(Exception):
    status_code = 400


async def test_a_refused_form_that_cannot_be_remembered_says_so_and_leaves_no_call_open() -> None:
    fake = _RefusesSchemas(is_endless=True)

    async def load() -> FakeLiteLlm:
        return fake

    options = HostedOptions("openai/gpt-4.1", "sk-x", "", load_settings(None).llm.limits)
    prompt = replace(a_prompt(), schema={"type": "object", "properties": {}})
    with pytest.raises(StorageError, match="locked"):
        await play(HostedModel(options, load, _FullNotes()), prompt)
    assert fake.opened.ag_frame is None, "the stream is closed"
