"""Which key goes to which address, whatever the environment contains."""

import asyncio
import importlib.util
import json
import os
import subprocess
import sys

import msgspec
import pytest

from reveries.config import LlmSettings, load_settings
from reveries.errors import ModelFault, ModelUnavailableError
from reveries.llm.choose import HOSTED_PROVIDERS
from reveries.llm.endpoints import NO_KEY, OWN_ADDRESSES, Endpoint, endpoint_of, keyed_provider, wire_address
from reveries.llm.hosted import HostedModel, HostedOptions
from reveries.llm.hosted_embedding import HostedEmbedder, HostedEmbedderOptions
from tests.llm.contract import a_prompt, play
from tests.llm.servers import model_server

MINE = "http://127.0.0.1:9/v1"
ENVIRON = {f"{provider.upper()}_API_KEY": f"sk-{provider}" for provider in HOSTED_PROVIDERS}


def _settings(**llm: object) -> LlmSettings:
    return msgspec.structs.replace(load_settings(None).llm, **llm)


def _endpoint(provider: str, settings: LlmSettings, key: str = "sk-configured") -> Endpoint:
    return endpoint_of(provider, settings, lambda _: key, ENVIRON)


@pytest.mark.requirement("F2")
def test_key_and_address_are_the_chosen_provider_s_alone() -> None:
    settings = _settings(provider="openai", base_url=MINE)
    assert _endpoint("openai", settings) == Endpoint(MINE, "sk-configured")
    assert _endpoint("anthropic", settings) == Endpoint("", "sk-anthropic")


@pytest.mark.requirement("F2")
def test_a_providers_own_key_goes_to_its_own_address_only() -> None:
    assert _endpoint("openai", _settings(provider="openai"), "") == Endpoint("", "sk-openai")
    nobodys = _endpoint("openai", _settings(provider="openai", base_url=MINE), "")
    assert nobodys == Endpoint(MINE, "")
    assert wire_address("openai/x", nobodys) == {"api_base": MINE, "api_key": NO_KEY}


@pytest.mark.parametrize("provider", ["auto", "ollama", "embedded"])
def test_the_only_hosted_provider_that_is_named_has_the_key(provider: str) -> None:
    assert keyed_provider(_settings(provider=provider)) is None
    assert keyed_provider(_settings(provider=provider, monologue_model="cerebras/x")) == "cerebras"
    assert keyed_provider(_settings(provider=provider, embedding_model="openai/x")) == "openai"
    two = _settings(provider=provider, conversation_fallbacks=("openai", "anthropic/x"))
    assert keyed_provider(two) is None
    assert _endpoint("openai", two) == Endpoint("", "sk-openai")


@pytest.mark.requirement("F2")
def test_every_provider_has_its_own_address() -> None:
    assert set(OWN_ADDRESSES) == set(HOSTED_PROVIDERS)
    for provider in HOSTED_PROVIDERS:
        assert wire_address(f"{provider}/x", Endpoint("", "k"))["api_base"] == OWN_ADDRESSES[provider]


async def test_without_a_key_nothing_is_sent_to_a_provider() -> None:
    limits = load_settings(None).llm.limits
    with pytest.raises(ModelUnavailableError, match="no key") as caught:
        await play(HostedModel(HostedOptions("openai/x", "", "", limits)), a_prompt())
    assert caught.value.fault is ModelFault.KEY_REFUSED
    with pytest.raises(ModelUnavailableError, match="no key"):
        await HostedEmbedder(HostedEmbedderOptions("openai/x", "", "", limits)).embed(["x"])


_CHILD = """
import asyncio, contextlib, json, sys
from reveries.config import load_settings
from reveries.llm.hosted import HostedModel, HostedOptions, load_litellm
from reveries.llm.hosted_embedding import HostedEmbedder, HostedEmbedderOptions
from tests.llm.contract import a_prompt, play
limits = load_settings(None).llm.limits
seen = []

def hook(event, arguments):
    if event == "socket.getaddrinfo":
        seen.append(arguments[0] if isinstance(arguments[0], str) else arguments[0].decode())
        raise OSError("no network here")

async def main(base_url):
    await load_litellm()
    sys.addaudithook(hook)
    for name in ("openai/x", "anthropic/x", "cerebras/x", "openrouter/x/x"):
        with contextlib.suppress(Exception):
            await play(HostedModel(HostedOptions(name, "" if base_url else "sk-mine", base_url, limits)), a_prompt())
    for name in ("openai/x", "openrouter/x/x"):
        with contextlib.suppress(Exception):
            options = HostedEmbedderOptions(name, "" if base_url else "sk-mine", base_url, limits)
            await HostedEmbedder(options).embed(["x"])
    print(json.dumps(sorted(set(seen))))

asyncio.run(main(sys.argv[1]))
"""


async def _in_child(base_url: str, **environment: str) -> list[str]:
    """The hosts that a process with this environment wanted to reach."""
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-W", "ignore", "-c", _CHILD, base_url],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return list(json.loads(done.stdout.splitlines()[-1]))


if importlib.util.find_spec("litellm") is not None:

    @pytest.mark.system
    @pytest.mark.requirement("F2")
    async def test_the_environment_moves_no_address_and_lends_no_key() -> None:
        names = ("OPENAI_BASE_URL", "OPENAI_API_BASE", "ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL")
        moved = dict.fromkeys((*names, "CEREBRAS_API_BASE", "OPENROUTER_API_BASE"), "http://elsewhere.invalid/v1")
        hosts = await _in_child("", **moved)
        assert hosts == ["api.anthropic.com", "api.cerebras.ai", "api.openai.com", "openrouter.ai"]
        async with model_server() as server:
            assert await _in_child(f"{server.url}/v1", **moved, **ENVIRON) in ([], ["127.0.0.1"])
            assert len(server.requests) >= 4
            assert not any("sk-" in header for header in server.heads)
