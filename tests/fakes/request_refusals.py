"""Refuses a request as its provider would, by the written rules (reveries/llm/provider_rules.toml).

An own reading of the rules: none of the code that makes the requests is used here.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from reveries.llm.provider_rules import AnswerForm, EffortForm, WireRules

Schema = Mapping[str, object]
_BRANCHES = ("anyOf", "oneOf", "allOf")
_SAMPLING = ("temperature", "top_p")


def refusal_of(body: Mapping[str, object], rules: WireRules) -> str | None:
    """Why the provider answers 400; None: it does not."""
    return next((why for check in (_of_parameters, _of_messages, _of_form) for why in check(body, rules)), None)


def _of_parameters(body: Mapping[str, object], rules: WireRules) -> Iterator[str]:
    wanted = rules.provider.reasoning_tokens_parameter if rules.is_known_to_reason else "max_tokens"
    for name in ("max_tokens", "max_completion_tokens"):
        if name in body and name != wanted:
            yield f"Unsupported parameter: '{name}' is not supported with this model. Use '{wanted}' instead."
    for name in _SAMPLING:
        if name in body and not rules.model.temperature:
            yield f"Unsupported value: '{name}' does not support {body[name]} with this model."
    if "stop" in body and not rules.model.stop:
        yield "Unsupported parameter: 'stop' is not supported with this model."
    yield from _of_effort(body, rules)


def _of_effort(body: Mapping[str, object], rules: WireRules) -> Iterator[str]:
    form = rules.provider.effort_form
    thinking = body.get("thinking")
    if "reasoning_effort" in body and form not in (EffortForm.REASONING_EFFORT, EffortForm.DEEPSEEK):
        yield "Unknown parameter: 'reasoning_effort'."
    if "reasoning" in body and form is not EffortForm.OPENROUTER:
        yield "Unknown parameter: 'reasoning'."
    if thinking is not None and form not in (EffortForm.ANTHROPIC, EffortForm.DEEPSEEK):
        yield "Unknown parameter: 'thinking'."
    effort = body.get("reasoning_effort")
    if effort is not None and rules.is_known_to_reason and rules.provider.hosts and effort not in rules.efforts:
        yield f"Unsupported value: '{effort}' is not supported with this model. Supported values are: {rules.efforts}."
    if isinstance(thinking, Mapping) and form is EffortForm.ANTHROPIC:
        yield from _of_budget(body, thinking, rules)


def _of_budget(body: Mapping[str, object], thinking: Mapping[str, object], rules: WireRules) -> Iterator[str]:
    if thinking["type"] == "enabled" and not rules.model.is_budgeted:
        yield "thinking.type: 'enabled' is not supported with this model; use 'adaptive'."
    if thinking["type"] == "disabled" and "none" not in rules.efforts:
        yield "thinking.type: 'disabled' is not supported with this model."
    if thinking["type"] != "disabled" and "temperature" in body:
        yield "`temperature` may only be set to 1 when thinking is enabled."
    budget, most = thinking.get("budget_tokens"), body["max_tokens"]
    if isinstance(budget, int) and isinstance(most, int) and not 1024 <= budget < most:
        yield "`max_tokens` must be greater than `thinking.budget_tokens`, which must be at least 1024."


def _of_messages(body: Mapping[str, object], rules: WireRules) -> Iterator[str]:
    messages = cast("Sequence[Mapping[str, object]]", body["messages"])
    if rules.provider.ends_with_user and messages[-1]["role"] == "assistant":
        yield "This model does not support assistant message prefill. The conversation must end with a user message."
    form = body.get("response_format")
    if isinstance(form, Mapping) and form["type"] == "json_object" and "json" not in str(messages).lower():
        yield "Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'."


def _of_form(body: Mapping[str, object], rules: WireRules) -> Iterator[str]:
    form = body.get("response_format")
    if not isinstance(form, Mapping):
        return
    if form["type"] != rules.provider.form and not (
        form["type"] == "json_object" and rules.provider.form is AnswerForm.JSON_SCHEMA
    ):
        yield "This response_format type is unavailable now"
        return
    wrapped = form.get("json_schema")
    if isinstance(wrapped, Mapping):
        if wrapped.get("strict") and not rules.is_strict:
            yield "This model does not support `strict` in response_format."
        yield from schema_refusals(cast("Schema", wrapped["schema"]), rules)


def schema_refusals(schema: Schema, rules: WireRules) -> Iterator[str]:
    """Everything in `schema` that the provider does not take."""
    if schema.get("type") != "object":
        yield "schema must be a JSON Schema of 'type: \"object\"' at its root"
    for node, path, depth in _walk(schema, "", 0):
        yield from (f"In context={path}, {why}" for why in _of_node(node, depth, rules))
    yield from _of_size(schema, rules)


def _of_node(node: Schema, depth: int, rules: WireRules) -> Iterator[str]:
    limits = rules.provider
    yield from (f"'{key}' is not permitted" for key in node if key not in rules.keywords)
    yield from _of_type(node)
    if limits.deepest and depth > limits.deepest:
        yield f"the schema is nested deeper than {limits.deepest} levels"
    repeated = [value for key in ("maxLength", "maxItems") if isinstance(value := node.get(key), int)]
    if limits.most_repetitions and any(value > limits.most_repetitions for value in repeated):
        yield "number of repetitions exceeds sane defaults"


def _of_type(node: Schema) -> Iterator[str]:
    kind = node.get("type")
    if isinstance(kind, list):
        yield "the shorthand 'type': [...] is not supported"
    if kind is None and not any(key in node for key in _BRANCHES):
        yield "schema must have a 'type' key"
    if kind == "array" and not isinstance(node.get("items"), Mapping):
        yield "array schema missing items"
    if kind == "object":
        yield from _of_object(node)


def _of_object(node: Schema) -> Iterator[str]:
    properties = cast("Schema", node.get("properties", {}))
    if node.get("additionalProperties") is not False:
        yield "'additionalProperties' is required to be supplied and to be false"
    if set(cast("list[str]", node.get("required", []))) != set(properties):
        yield "'required' is required to be supplied and to be an array including every key in properties"
    if not properties:
        yield "an object without properties cannot be generated"


def _of_size(schema: Schema, rules: WireRules) -> Iterator[str]:
    limits = rules.provider
    nodes = [node for node, _, _ in _walk(schema, "", 0)]
    names = [name for node in nodes for name in cast("Schema", node.get("properties", {}))]
    values = [str(value) for node in nodes for value in cast("list[object]", node.get("enum", []))]
    unions = [cast("list[object]", node[key]) for node in nodes for key in ("anyOf", "oneOf") if key in node]
    if 0 < limits.most_properties < len(names):
        yield "too many properties"
    if 0 < limits.most_enum_values < len(values):
        yield f"Expected at most {limits.most_enum_values} enum values in total within a single schema"
    if 0 < limits.most_name_chars < len("".join([*names, *values])):
        yield "the names and values are too long"
    if 0 < limits.most_unions < len(unions):
        yield "Schemas contains too many parameters with union types"
    if limits.most_any_of and any(len(union) > limits.most_any_of for union in unions):
        yield f"at most {limits.most_any_of} alternatives in anyOf"
    if 0 < limits.most_chars < len(json.dumps(schema, ensure_ascii=False, separators=(",", ":"))):
        yield f"the schema is longer than {limits.most_chars} characters"


def _walk(node: Schema, path: str, around: int) -> Iterator[tuple[Schema, str, int]]:
    """Every part, where it stands, and its level of nesting: objects and lists count, `around` are outside of it."""
    depth = around + (node.get("type") in ("object", "array"))
    yield node, path or "()", depth
    for name, inner in cast("Mapping[str, Schema]", node.get("properties", {})).items():
        yield from _walk(inner, f"{path}.{name}", depth)
    if isinstance(items := node.get("items"), Mapping):
        yield from _walk(items, f"{path}[]", depth)
    for key in _BRANCHES:
        for place, inner in enumerate(cast("list[Schema]", node.get(key, []))):
            yield from _walk(inner, f"{path}.{key}[{place}]", depth)


def flat_body(arguments: Mapping[str, object]) -> dict[str, object]:
    """The arguments of a call as a flat request: what stands in `extra_body` is part of it."""
    extra = arguments.get("extra_body", {})
    return {**{key: value for key, value in arguments.items() if key != "extra_body"}, **cast("Schema", extra)}
