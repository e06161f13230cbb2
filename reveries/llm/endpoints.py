"""Where each hosted provider is asked, and with which key. Pure: the environment and the owner's key are arguments.

litellm would fill what it is not given from the environment, keys and addresses alike: it is given both at every call.
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
"""Sent to an address of the owner's that was given no key: an empty one would be replaced by the environment's."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A provider's address and key. `base_url` empty: its own address. `api_key` empty: there is none."""

    base_url: str
    api_key: str = field(repr=False)


def wire_address(name: str, endpoint: Endpoint) -> dict[str, object]:
    """What a call of the model `name` ("provider/name") gives litellm, so that it looks nowhere else."""
    provider = name.partition("/")[0]
    return {"api_base": endpoint.base_url or OWN_ADDRESSES[provider], "api_key": endpoint.api_key or NO_KEY}


def endpoint_of(
    provider: str, settings: LlmSettings, find_key: Callable[[LlmSettings], str], environ: Mapping[str, str]
) -> Endpoint:
    """The endpoint of the hosted `provider`. `find_key` gives the configured key, and may raise ConfigError.

    `llm.base_url` and the configured key are one provider's (`keyed_provider`). Any other one is asked at its own
    address with the key of its own variable, and that key goes to no address but its own.
    """
    own_key = environ.get(f"{provider.upper()}_API_KEY", "")
    if provider != keyed_provider(settings):
        return Endpoint("", own_key)
    key = find_key(settings)
    return Endpoint(settings.base_url, key or ("" if settings.base_url else own_key))


def keyed_provider(settings: LlmSettings) -> str | None:
    """Whose the configured key and `base_url` are: `llm.provider`'s, or, where that is not hosted, the only one's that
    is named anywhere. None when none or several are."""
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
    """Whether `provider` is asked at `llm.base_url`, where nobody vouches for what it says it used."""
    return bool(settings.base_url) and provider == keyed_provider(settings)
