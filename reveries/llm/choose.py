"""Which provider and model each role uses, and why. Pure: which models are available is an argument."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from reveries.config import LlmSettings
from reveries.errors import ConfigError
from reveries.llm.base import Role

HOSTED_PROVIDERS = ("openai", "anthropic", "cerebras", "openrouter")
PROVIDERS = ("embedded", "ollama", *HOSTED_PROVIDERS)
_NOT_CHAT = ("embed", "minilm", "bge-", "rerank")


@dataclass(frozen=True, slots=True)
class Preset:
    """The models of a hosted provider when the settings name none."""

    conversation: str
    background: str
    """For monologue and consolidation: much text, so a cheap one (R-45)."""


PRESETS: Mapping[str, Preset] = {
    "cerebras": Preset("kimi-k2.5", "gpt-oss-120b"),
    "openai": Preset("gpt-4.1", "gpt-4.1-mini"),
    "anthropic": Preset("claude-sonnet-4-5", "claude-haiku-4-5"),
    "openrouter": Preset("moonshotai/kimi-k2.5", "openai/gpt-oss-120b"),
}


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A role's model. `reason` is for the owner."""

    provider: str
    model: str
    reason: str

    @property
    def name(self) -> str:
        return f"{self.provider}/{self.model}"

    @property
    def is_hosted(self) -> bool:
        """Whether the role's prompts leave the owner's machines."""
        return self.provider in HOSTED_PROVIDERS


def choose_models(settings: LlmSettings, ollama_models: Sequence[str] | None) -> dict[Role, ModelChoice]:
    """Choose the model of every role. `ollama_models`: the local models of Ollama, None when it does not answer.

    A hosted provider is used only where the settings name it: as `provider`, or before a role's model
    ("openai/gpt-4.1", RA-41). An Ollama model's name is empty where none is named and Ollama has none.
    """
    provider, reason = _choose_provider(settings, ollama_models)
    named = {
        Role.CONVERSATION: settings.conversation_model,
        Role.MONOLOGUE: settings.monologue_model,
        Role.CONSOLIDATION: settings.consolidation_model,
        Role.WORK: settings.work_model,
    }
    return {
        role: _choose_model(role, model, provider, reason, settings, ollama_models) for role, model in named.items()
    }


def choose_fallbacks(settings: LlmSettings, ollama_models: Sequence[str] | None) -> dict[Role, tuple[ModelChoice, ...]]:
    """Return each role's fallbacks in order. A provider alone stands for its default model."""
    named = {
        Role.CONVERSATION: settings.conversation_fallbacks,
        Role.MONOLOGUE: settings.monologue_fallbacks,
        Role.CONSOLIDATION: settings.consolidation_fallbacks,
        Role.WORK: settings.work_fallbacks,
    }
    return {
        role: tuple(_choose_fallback(role, name, settings, ollama_models) for name in names)
        for role, names in named.items()
    }


def _choose_fallback(role: Role, named: str, settings: LlmSettings, ollama_models: Sequence[str] | None) -> ModelChoice:
    provider, _, model = named.partition("/")
    reason = f"llm.{role}_fallbacks names it"
    if provider not in PROVIDERS:
        raise ConfigError(
            f"llm.{role}_fallbacks names {named}, which begins with no provider.",
            advice=f"Write it like ollama/llama3.2, or a provider alone: {', '.join(PROVIDERS)}.",
        )
    return ModelChoice(provider, model or _default_model(role, provider, settings, ollama_models), reason)


def _choose_provider(settings: LlmSettings, ollama_models: Sequence[str] | None) -> tuple[str, str]:
    if settings.provider != "auto":
        return settings.provider, f"llm.provider is {settings.provider}"
    if local_chat_models(ollama_models):
        return "ollama", "Ollama answers, and nothing else was chosen"
    silent = "Ollama has no local chat model" if ollama_models is not None else "no Ollama answers"
    return "embedded", f"{silent}, and nothing else was chosen"


def _choose_model(
    role: Role, named: str, provider: str, reason: str, settings: LlmSettings, ollama_models: Sequence[str] | None
) -> ModelChoice:
    prefix, slash, rest = named.partition("/")
    # OpenRouter's own names begin with a vendor ("openai/gpt-oss-120b"): there a prefix is no provider.
    if slash and prefix in PROVIDERS and provider != "openrouter":
        return ModelChoice(prefix, rest, f"llm.{role}_model names it")
    if named:
        return ModelChoice(provider, named.removeprefix("openrouter/"), f"llm.{role}_model names it, {reason}")
    return ModelChoice(provider, _default_model(role, provider, settings, ollama_models), reason)


def is_remote_ollama_model(name: str, handed_on: Collection[str] = ()) -> bool:
    """Whether Ollama forwards requests to its model `name`: by its name, or because it is in `handed_on`."""
    return name.endswith("cloud") or name in handed_on or f"{name}:latest" in handed_on


def local_chat_models(ollama_models: Sequence[str] | None) -> list[str]:
    """Return the chat models that run where Ollama runs. Its "-cloud" models do not, so they must be named."""
    return [
        name
        for name in ollama_models or ()
        if not is_remote_ollama_model(name) and not any(kind in name for kind in _NOT_CHAT)
    ]


def _default_model(role: Role, provider: str, settings: LlmSettings, ollama_models: Sequence[str] | None) -> str:
    if provider == "embedded":
        return settings.embedded.model
    if provider == "ollama":
        return next(iter(local_chat_models(ollama_models)), "")
    preset = PRESETS[provider]
    return preset.conversation if role in (Role.CONVERSATION, Role.WORK) else preset.background
