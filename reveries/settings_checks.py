"""Checks of settings that their types cannot make. `source` names the file."""

from typing import Final
from urllib.parse import urlsplit

from reveries.errors import ConfigError

LOCAL_EMBEDDERS: Final = ("all-minilm-l6-v2",)
EMBEDDING_PROVIDERS: Final = ("ollama", "openai", "anthropic", "cerebras", "openrouter")


def refuse_no_address(url: str, source: str) -> None:
    """Raise ConfigError if `url` is given and is no address of a server."""
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        is_address = False
    if url and not is_address:
        raise ConfigError(
            f"The setting llm.base_url in {source} is no address.",
            advice='It begins with http:// or https:// and names a server: "http://localhost:1234/v1".',
        )


def refuse_empty_hours(spans: tuple[str, ...], source: str) -> None:
    """Raise ConfigError if a span of quiet hours ends when it begins."""
    for span in spans:
        begins, _, ends = span.partition("-")
        if begins == ends:
            raise ConfigError(
                f"The setting monologue.quiet_hours in {source} has an empty span: {span}.",
                advice='For the whole day: reveries config set monologue.enabled false. Otherwise: ["22:30-07:00"]',
            )


def refuse_no_embedder(name: str, source: str) -> None:
    """Raise ConfigError if `name` is no embedder that there is."""
    provider, _, model = name.partition("/")
    if name not in LOCAL_EMBEDDERS and not (provider in EMBEDDING_PROVIDERS and model):
        raise ConfigError(
            f"The setting llm.embedding_model in {source} does not name a known embedder: {name}.",
            advice=f"Local: {', '.join(LOCAL_EMBEDDERS)}. Or PROVIDER/NAME with {', '.join(EMBEDDING_PROVIDERS)}.",
        )
