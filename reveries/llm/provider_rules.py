"""What each provider accepts, from `provider_rules.toml`: its dialect of schemas, its parameters, which models reason.

Pure except for reading the table once.
"""

import datetime as dt
import re
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Final, Literal
from urllib.parse import urlsplit

import msgspec

Effort = Literal["none", "minimal", "low", "medium", "high"]
EFFORTS: Final[tuple[Effort, ...]] = ("none", "minimal", "low", "medium", "high")

CORE_KEYWORDS: Final = frozenset(
    {"type", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "description"}
)
"""Every dialect has them."""

_LOCAL: Final = {"ollama": "llama_cpp", "embedded": "llama_cpp"}
_ANY_SERVER: Final = "compatible"


class AnswerForm(StrEnum):
    """How a provider is told the form of a structured answer."""

    JSON_SCHEMA = "json_schema"
    JSON_OBJECT = "json_object"
    """It promises JSON; the prompt says which."""
    TEXT = "text"
    """Only the prompt says it."""


class EffortForm(StrEnum):
    """The request's field for the effort of reasoning."""

    UNKNOWN = ""
    REASONING_EFFORT = "reasoning_effort"
    OPENROUTER = "openrouter"
    ANTHROPIC = "anthropic"
    DEEPSEEK = "deepseek"


class ProviderRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rules of one provider. A limit of 0 is none that is known."""

    hosts: tuple[str, ...] = ()
    form: AnswerForm = AnswerForm.JSON_SCHEMA
    keywords: frozenset[str] = frozenset()
    """Accepted in a schema besides CORE_KEYWORDS."""
    plain_models: str = ""
    """A pattern: these models accept none of `keywords`."""
    strict_models: str = ""
    """A pattern: only these models accept `strict`; empty: all."""
    all_required: bool = False
    """Every property must be required. We require all of them everywhere."""
    deepest: int = 0
    most_properties: int = 0
    most_enum_values: int = 0
    most_name_chars: int = 0
    """All names of properties and values of enumerations together."""
    most_any_of: int = 0
    """The alternatives of one anyOf."""
    most_unions: int = 0
    most_chars: int = 0
    """The schema as JSON."""
    most_repetitions: int = 0
    """The largest maxLength and maxItems."""
    reasoning_tokens_parameter: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """The limit of the answer, for a model that reasons."""
    effort_form: EffortForm = EffortForm.UNKNOWN
    efforts: tuple[Effort, ...] = ()
    """The levels for every model that reasons; empty: those of the model."""
    image_rule: str = "any"
    """How pictures are counted (`image_tokens.ImageRule`)."""
    ends_with_user: bool = False
    """A prompt may not end with a message of the assistant."""
    sources: tuple[str, ...] = ()
    guess: str = ""
    """The part that no source says."""


class ModelRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the models with such names reason."""

    names: str = ""
    providers: tuple[str, ...] = ()
    """Only there; empty: everywhere."""
    efforts: tuple[Effort, ...] = ()
    """The levels that may be asked for."""
    unasked: Effort = "none"
    """The level when nothing is asked for."""
    temperature: bool = True
    stop: bool = True
    is_budgeted: bool = False
    """Reasoning is a number of tokens, not a level (older Claude models)."""


class WireRules(msgspec.Struct, frozen=True):
    """What applies to one model of one provider."""

    provider: ProviderRules
    model: ModelRules
    keywords: frozenset[str]
    """Accepted in a schema."""
    is_strict: bool
    """Whether the schema is sent with `strict`."""
    efforts: tuple[Effort, ...]

    @property
    def is_known_to_reason(self) -> bool:
        return self.model.unasked != "none" or bool(self.model.efforts)


class RulesTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    read_on: dt.date
    seeing_models: str
    """A pattern: models with such names see pictures, as long as no test says otherwise."""
    provider: dict[str, ProviderRules]
    model: tuple[ModelRules, ...]


@cache
def rules_table() -> RulesTable:
    """Return the table that comes with the program."""
    source = resources.files("reveries.llm").joinpath("provider_rules.toml").read_bytes()
    return msgspec.toml.decode(source, type=RulesTable)


def find_rules(name: str, base_url: str = "") -> WireRules:
    """Return the rules for the model `name` ("provider/name"), called at `base_url`; empty: the provider's own address.

    At another address the host decides. An unknown one that speaks OpenAI's format gets what every server accepts.
    """
    providers = rules_table().provider
    prefix, _, model = name.partition("/")
    own = _LOCAL.get(prefix, prefix if prefix in providers else _ANY_SERVER)
    if not base_url:
        return wire_rules(own, model)
    return wire_rules(_provider_at(base_url, providers) or (_ANY_SERVER if own == "openai" else own), model)


def wire_rules(provider: str, model: str) -> WireRules:
    """Return the rules for `model` of a provider in the table."""
    table = rules_table()
    rules = table.provider[provider]
    bare = model.lower().rpartition("/")[2]
    model_rules = next((candidate for candidate in table.model if _fits(candidate, provider, bare)), ModelRules())
    is_plain = bool(rules.plain_models and re.search(rules.plain_models, model))
    return WireRules(
        provider=rules,
        model=model_rules,
        keywords=CORE_KEYWORDS if is_plain else CORE_KEYWORDS | rules.keywords,
        is_strict=not rules.strict_models or re.search(rules.strict_models, bare) is not None,
        efforts=(rules.efforts or model_rules.efforts) if model_rules.names else (),
    )


def _fits(model: ModelRules, provider: str, bare: str) -> bool:
    return (not model.providers or provider in model.providers) and re.search(model.names, bare) is not None


def _provider_at(base_url: str, providers: Mapping[str, ProviderRules]) -> str:
    host = urlsplit(base_url).hostname or ""
    for name, rules in providers.items():
        if any(host == known_host or host.endswith(f".{known_host}") for known_host in rules.hosts):
            return name
    return ""
