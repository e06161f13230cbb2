import msgspec
import pytest

from reveries.config import LlmSettings, load_settings
from reveries.llm.base import Role
from reveries.llm.choose import choose_models

LLM = load_settings(None).llm


def _settings(**changes: object) -> LlmSettings:
    return msgspec.structs.replace(LLM, **changes)


def test_auto_is_the_embedded_model_where_no_ollama_answers() -> None:
    for found in (None, ()):
        chosen = choose_models(LLM, found)
        assert {choice.name for choice in chosen.values()} == {f"embedded/{LLM.embedded.model}"}
        assert not any(choice.is_hosted for choice in chosen.values())


@pytest.mark.requirement("R-48")
def test_auto_is_ollama_where_it_has_a_model_that_talks() -> None:
    chosen = choose_models(LLM, ["nomic-embed-text:latest", "gpt-oss:120b-cloud", "llama3.2:3b"])
    assert {choice.name for choice in chosen.values()} == {"ollama/llama3.2:3b"}


def test_auto_never_leaves_the_machine() -> None:
    chosen = choose_models(LLM, ["gpt-oss:120b-cloud"])
    assert {choice.provider for choice in chosen.values()} == {"embedded"}


@pytest.mark.requirement("R-45", "R-156")
def test_a_hosted_provider_brings_its_presets() -> None:
    chosen = choose_models(_settings(provider="cerebras"), None)
    assert chosen[Role.CONVERSATION].name == "cerebras/kimi-k2.5"
    assert chosen[Role.MONOLOGUE].name == chosen[Role.CONSOLIDATION].name == "cerebras/gpt-oss-120b"
    assert all(choice.is_hosted for choice in chosen.values())


@pytest.mark.requirement("R-156")
def test_a_prefix_before_a_model_overrides_the_provider_of_that_role() -> None:
    chosen = choose_models(_settings(conversation_model="anthropic/claude-sonnet-4-5"), None)
    assert chosen[Role.CONVERSATION].name == "anthropic/claude-sonnet-4-5"
    assert chosen[Role.MONOLOGUE].provider == "embedded"


def test_openrouters_own_names_keep_their_maker() -> None:
    chosen = choose_models(_settings(provider="openrouter", monologue_model="openai/gpt-oss-20b"), None)
    assert chosen[Role.MONOLOGUE].name == "openrouter/openai/gpt-oss-20b"


def test_a_path_is_a_model_of_ones_own() -> None:
    chosen = choose_models(_settings(provider="embedded", conversation_model="/models/mine.gguf"), None)
    assert chosen[Role.CONVERSATION].model == "/models/mine.gguf"
    assert chosen[Role.CONVERSATION].provider == "embedded"


def test_an_ollama_that_sleeps_is_still_the_one_that_was_chosen() -> None:
    assert choose_models(_settings(provider="ollama"), None)[Role.CONVERSATION].name == "ollama/"


@pytest.mark.parametrize("provider", ["auto", "embedded", "ollama", "openai", "anthropic", "cerebras", "openrouter"])
def test_every_choice_says_why(provider: str) -> None:
    assert all(choice.reason for choice in choose_models(_settings(provider=provider), ["x"]).values())
