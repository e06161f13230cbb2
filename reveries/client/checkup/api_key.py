"""Checks the API keys of the chosen providers."""

from collections.abc import Iterator
from pathlib import Path

from reveries.api_keys import find_key_source
from reveries.client.checkup.place import Place
from reveries.config import LlmSettings, Settings
from reveries.protocol import Fault, Finding

_HOSTED = ("openai", "anthropic", "cerebras", "openrouter")

MISSING = Fault("key-missing", "wrong", "A hosted provider is chosen but has no readable key.", "Set llm.api_key_file.")


def check(place: Place) -> Iterator[Finding]:
    """Yield what keeps a key from being used."""
    if isinstance(place.settings, Settings):
        yield from check_keys(place.settings.llm)


def check_keys(llm: LlmSettings) -> Iterator[Finding]:
    """Yield what keeps the key of a chosen provider from being used."""
    if llm.api_key_file:
        yield from _check_key_file(Path(llm.api_key_file).expanduser())
        return
    for provider in hosted_providers(llm):
        if not find_key_source(llm, provider):
            sentence = f"{provider} is chosen, but there is no API key for it."
            advice = (
                f"Name a file with it: reveries config set llm.api_key_file FILE. Or set {provider.upper()}_API_KEY."
            )
            yield MISSING.found(sentence, advice, "llm.api_key_file")


def _check_key_file(file: Path) -> Iterator[Finding]:
    try:
        why = "" if file.read_text(encoding="utf-8").strip() else "it is empty"
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
    if why:
        yield MISSING.found(f"The key file {file} cannot be read: {why}.", where=file)


def hosted_providers(llm: LlmSettings) -> list[str]:
    """List the hosted providers that the settings name for any role."""
    named = [
        llm.provider,
        llm.embedding_model,
        *llm.conversation_fallbacks,
        *llm.monologue_fallbacks,
        *llm.consolidation_fallbacks,
        *llm.work_fallbacks,
    ]
    if llm.provider != "openrouter":
        named += [llm.conversation_model, llm.monologue_model, llm.consolidation_model, llm.work_model]
    return [provider for provider in _HOSTED if any(name.partition("/")[0] == provider for name in named)]
