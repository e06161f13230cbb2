"""What the program sends, against the written rules of every provider."""

from collections.abc import Mapping
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from reveries.config import ReasoningEffort
from reveries.llm.base import ChatMessage, Prompt, Role
from reveries.llm.hosted_request import CallForm, request_arguments
from reveries.llm.provider_rules import EFFORTS, WireRules, find_rules, rules_table, wire_rules
from reveries.llm.reasoning import plan_reasoning
from reveries.llm.schema_dialect import write_dialect
from tests.fakes.request_refusals import flat_body, refusal_of, schema_refusals
from tests.llm.sent_schemas import PROJECT_ANSWERS, answer_types_asked_for, sent_schemas
from tests.rows import check_rows

MODELS = (
    "gpt-4.1", "gpt-5-mini", "gpt-5.1", "gpt-5.5", "gpt-6-sol", "o3", "ft:gpt-4o-mini:me::1", "openai/gpt-oss-120b",
    "claude-sonnet-4-5", "claude-opus-4.7", "claude-opus-5", "claude-opus-5-5", "claude-haiku-4-5", "gemini-2.5-flash",
    "gemini-3-pro", "mistral-small-latest", "magistral-medium-latest", "mistral-large-latest", "deepseek-v4-flash",
    "deepseek-r1", "grok-4.3", "grok-4.5", "grok-4-fast-non-reasoning", "qwen/qwen3-32b", "zai-glm-4.7", "kimi-k2.5",
    "a-model-of-next-year",
)  # fmt: skip
DIALECT_MODELS = ("gpt-4.1", "gpt-5-mini", "ft:gpt-4o-mini:me::1", "openai/gpt-oss-20b", "claude-opus-5")
"""The schema's dialect differs only between these."""
PROVIDERS = tuple(rules_table().provider)
LOCAL = ("llama_cpp",)
SCHEMAS = sent_schemas()


def _body(schema: Mapping[str, object] | None, rules: WireRules, effort: ReasoningEffort = "auto") -> dict[str, object]:
    messages = (ChatMessage("system", "Be plain."), ChatMessage("user", "What is it?"), ChatMessage("assistant", "It"))
    prompt = Prompt(Role.WORK, messages, 200, 0.3, stop=("\n\n",), schema=schema)
    return flat_body(request_arguments(prompt, CallForm(rules, effort)))


def _models_of(provider: str) -> list[str]:
    is_maker = provider == "anthropic"
    return [model for model in MODELS if not is_maker or model.startswith(("claude", "a-model"))]


@check_rows("provider", PROVIDERS)
def test_no_schema_that_is_sent_is_refused_by_any_provider(provider: str) -> None:
    refused = {
        (model, name): why
        for model in set(DIALECT_MODELS) & set(_models_of(provider))
        for name, schema in SCHEMAS.items()
        if (why := refusal_of(_body(schema, wire_rules(provider, model)), wire_rules(provider, model)))
    }
    assert refused == {}


@check_rows("provider", PROVIDERS)
def test_most_schemas_go_as_schemas_where_there_are_any(provider: str) -> None:
    """A rule that expresses nothing would be refused nothing."""
    rules = wire_rules(provider, "a-model")
    told = [name for name, schema in SCHEMAS.items() if write_dialect(schema, rules) is None]
    assert len(told) <= 4, told
    assert "Plan" not in told
    assert "deep sleep" not in told


def test_the_schemas_that_are_checked_are_those_of_the_program() -> None:
    assert answer_types_asked_for() - {"type_", "kind", "choice_type(tuple(named))"} == {
        type_.__name__ for type_ in PROJECT_ANSWERS
    }


@check_rows("provider", [name for name in PROVIDERS if name not in LOCAL])
def test_no_level_of_reasoning_is_refused(provider: str) -> None:
    refused = {
        (model, effort): why
        for model in _models_of(provider)
        for effort in get_args(ReasoningEffort)
        if (why := refusal_of(_body(None, wire_rules(provider, model), effort), wire_rules(provider, model)))
    }
    assert refused == {}


def test_the_form_that_was_sent_before_there_were_dialects_is_refused() -> None:
    """The pretended providers notice what the real ones do."""
    plan = SCHEMAS["WorkPlan"]
    refusing = [name for name in PROVIDERS if list(schema_refusals(plan, wire_rules(name, "a-model")))]
    assert {"openai", "azure", "anthropic", "google", "groq", "cerebras", "openrouter", "compatible"} <= set(refusing)


def test_what_a_dialect_cannot_say_is_told_in_words() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 9, "description": "A word."}}}
    written = write_dialect(schema, find_rules("anthropic/claude-sonnet-4-5"))
    assert written == {
        "type": "object",
        "properties": {"a": {"type": "string", "description": "A word: at most 9 characters"}},
        "required": ["a"],
        "additionalProperties": False,
    }


def test_choices_are_kept_except_where_the_schema_would_be_too_long() -> None:
    shown = [write_dialect(SCHEMAS["deep sleep"], wire_rules(name, "m")) for name in ("anthropic", "cerebras")]
    assert "pear tree" in str(shown[0])
    assert "pear tree" not in str(shown[1])
    assert "'none', 'A', 'B', 'C'" in str(shown[1])


@check_rows(
    ("name", "base_url", "strict", "limits"),
    [
        ("openai/gpt-4.1", "", True, True),
        ("openai/gpt-4.1", "https://me.openai.azure.com/openai/v1", True, False),
        ("openai/llama-3.3-70b", "https://api.groq.com/openai/v1", False, False),
        ("openai/openai/gpt-oss-20b", "https://api.groq.com/openai/v1", True, False),
        ("openai/gemini-3-pro", "https://generativelanguage.googleapis.com/v1beta/openai/", True, True),
        ("openai/whatever", "http://127.0.0.1:8080/v1", True, False),
        ("openai/whatever", "https://api.groq.com.example/v1", True, False),
        ("cerebras/gpt-oss-120b", "https://proxy.example/v1", True, False),
        ("ollama/llama3.2", "", True, True),
    ],
)
def test_the_address_decides_whose_rules_apply(name: str, base_url: str, strict: bool, limits: bool) -> None:
    rules = find_rules(name, base_url)
    assert (rules.is_strict, "maxItems" in rules.keywords) == (strict, limits)


@check_rows(
    ("name", "setting", "asked", "allowance"),
    [
        ("openai/gpt-4.1", "auto", None, 0),
        ("openai/gpt-4.1", "none", None, 0),
        ("openai/gpt-5-mini", "auto", "low", 2048),
        ("openai/gpt-5-mini", "none", "minimal", 1024),
        ("openai/gpt-5.1", "auto", None, 0),
        ("openai/gpt-5.1", "minimal", "low", 2048),
        ("openai/o3", "none", "low", 2048),
        ("anthropic/claude-sonnet-4-5", "auto", None, 0),
        ("anthropic/claude-sonnet-4-5", "high", "high", 16384),
        ("anthropic/claude-opus-5", "none", "none", 0),
        ("openrouter/deepseek/deepseek-r1", "none", "none", 0),
        ("cerebras/gpt-oss-120b", "auto", "low", 2048),
        ("cerebras/zai-glm-4.7", "low", None, 8192),
    ],
)
def test_a_level_becomes_the_next_that_the_model_has_and_its_tokens_are_allowed(
    name: str, setting: ReasoningEffort, asked: str | None, allowance: int
) -> None:
    planned = plan_reasoning(setting, find_rules(name))
    assert (planned.asked, planned.allowance_tokens) == (asked, allowance)


def test_a_model_that_reasoned_although_nothing_says_so_gets_room_for_it() -> None:
    planned = plan_reasoning("auto", find_rules("openai/new", "http://127.0.0.1:1/v1"), has_reasoned=True)
    assert (planned.asked, planned.allowance_tokens) == (None, 8192)


def test_every_provider_says_where_its_rules_stand_or_that_they_are_a_guess() -> None:
    table = rules_table()
    assert all(rules.sources or rules.guess for rules in table.provider.values())
    assert {effort for model in table.model for effort in model.efforts} <= set(EFFORTS)


_LEAF = st.sampled_from(
    [{"type": "string", "maxLength": 3000, "title": "T"}, {"enum": ["a", "b"]}, {"type": "integer", "minimum": 0},
     {"type": ["number", "null"]}, {"const": "x"}, {"type": "boolean", "default": True}, {}, {"type": "object"}]
)  # fmt: skip
_NODE = st.recursive(
    _LEAF,
    lambda inner: st.one_of(
        st.builds(lambda item: {"type": "array", "items": item, "maxItems": 4, "uniqueItems": True}, inner),
        st.builds(lambda one, two: {"oneOf": [one, two], "discriminator": {"mapping": {"a": "#/x"}}}, inner, inner),
        st.builds(
            lambda fields: {"type": "object", "properties": fields},
            st.dictionaries(st.sampled_from(["type", "enum", "items", "required", "é"]), inner, min_size=1),
        ),
    ),
)


@given(schema=_NODE, provider=st.sampled_from(PROVIDERS), model=st.sampled_from(MODELS))
def test_whatever_can_be_written_is_accepted(schema: dict[str, object], provider: str, model: str) -> None:
    rules = wire_rules(provider, model)
    written = write_dialect({"type": "object", "properties": {"answer": schema}}, rules)
    if written is not None:
        assert list(schema_refusals(written, rules)) == []
