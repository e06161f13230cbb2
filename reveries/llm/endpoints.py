"""The address and key of each hosted provider. Pure: the environment and the owner's key are arguments.

litellm fills missing keys and addresses from the environment, so every call passes both.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from reveries.config import LlmSettings
from reveries.llm.choose import HOSTED_PROVIDERS

OWN_ADDRESSES: Mapping[str, str] = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "cerebras": "https://api.cerebras.ai/v1",
    "openrouter": "https://openrouter.ai/api/v1",
}

NO_KEY = "none"
"""Sent to a custom address without a key: an empty one would be replaced by the environment's."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A provider's address and key. `base_url` empty: its own address. `api_key` empty: there is none."""

    base_url: str
    api_key: str = field(repr=False)


def wire_address(name: str, endpoint: Endpoint) -> dict[str, object]:
    """Return the address and key arguments for litellm for the model `name` ("provider/name")."""
    provider = name.partition("/")[0]
    return {"api_base": endpoint.base_url or OWN_ADDRESSES[provider], "api_key": endpoint.api_key or NO_KEY}


def endpoint_of(
    provider: str, settings: LlmSettings, find_key: Callable[[LlmSettings], str], environ: Mapping[str, str]
) -> Endpoint:
    """Return the endpoint of the hosted `provider`. `find_key` returns the configured key, and may raise ConfigError.

    `llm.base_url` and the configured key belong to one provider (`keyed_provider`). Any other is called at its own
    address with the key in its own variable, and that key is sent nowhere else.
    """
    own_key = environ.get(f"{provider.upper()}_API_KEY", "")
    if provider != keyed_provider(settings):
        return Endpoint("", own_key)
    key = find_key(settings)
    return Endpoint(settings.base_url, key or ("" if settings.base_url else own_key))


def keyed_provider(settings: LlmSettings) -> str | None:
    """Return the provider of the configured key and `base_url`: `llm.provider`'s, or, where that is not hosted, the
    only hosted one named in the settings. None when there are none or several."""
    if settings.provider in HOSTED_PROVIDERS:
        return settings.provider
    names = (
        settings.conversation_model,
        settings.monologue_model,
        settings.consolidation_model,
        settings.work_model,
        *settings.conversation_fallbacks,
        *settings.monologue_fallbacks,
        *settings.consolidation_fallbacks,
        *settings.work_fallbacks,
        settings.embedding_model,
    )
    hosted = {name.partition("/")[0] for name in names} & set(HOSTED_PROVIDERS)
    return hosted.pop() if len(hosted) == 1 else None


def uses_base_url(provider: str, settings: LlmSettings) -> bool:
    """Whether `provider` is called at `llm.base_url`, whose reported usage is not trusted."""
    return bool(settings.base_url) and provider == keyed_provider(settings)
