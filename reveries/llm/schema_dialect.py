"""Writes a JSON schema in the dialect of a provider. Pure.

What a dialect cannot say is told to the model in the description; the answer is checked by its type in any case.
"""

from collections.abc import Mapping
from typing import Final, cast

import msgspec

from reveries.llm.provider_rules import WireRules

_WORDS: Final[Mapping[str, str]] = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minimum": "not less than {}",
    "maximum": "not more than {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "pattern": "matches {}",
    "format": "a {}",
}
"""The limits, as a description says them."""
_REPEATED: Final = ("maxLength", "maxItems")
_TYPE_NAMES: Final[Mapping[type, str]] = {str: "string", bool: "boolean", int: "integer", float: "number"}
_NESTING: Final = ("object", "array")
_BRANCHES: Final = ("anyOf", "oneOf", "allOf")
_TYPED: Final = ("type", *_BRANCHES)
_LONGEST_CHOICES: Final = (2000, 500, 150)
"""Characters. To get within a limit of size, long enumerations go first: they are sentences, and checked afterwards."""


def write_dialect(schema: Mapping[str, object], rules: WireRules) -> dict[str, object] | None:
    """Return `schema` as the provider takes it; None if its dialect cannot express it.

    Objects are closed and all their properties required. References must be inlined already.
    """
    written = _write(schema, rules)
    for longest in _LONGEST_CHOICES:
        if is_within(written, rules):
            break
        written = _without_choices(written, longest)
    return written if is_within(written, rules) and _is_closed(written, is_root=True) else None


def is_within(schema: Mapping[str, object], rules: WireRules) -> bool:
    """Whether `schema` is within the provider's limits of size."""
    limits = rules.provider
    nodes = list(_nodes(schema, 1))
    unions = [cast("list[object]", node["anyOf"]) for node, _ in nodes if "anyOf" in node]
    enums = [cast("list[object]", node["enum"]) for node, _ in nodes if "enum" in node]
    names = [name for node, _ in nodes for name in cast("Mapping[str, object]", node.get("properties", {}))]
    texts = [*names, *(str(value) for enum in enums for value in enum)]
    sizes = (
        (max(depth for _, depth in nodes), limits.deepest),
        (len(names), limits.most_properties),
        (sum(map(len, enums)), limits.most_enum_values),
        (sum(map(len, texts)), limits.most_name_chars),
        (max(map(len, unions), default=0), limits.most_any_of),
        (len(unions), limits.most_unions),
        (len(msgspec.json.encode(schema).decode()), limits.most_chars),
    )
    return all(not most or size <= most for size, most in sizes)


def _write(node: Mapping[str, object], rules: WireRules) -> dict[str, object]:
    node = {key: value for key, value in node.items() if key not in ("title", "default", "discriminator", "examples")}
    if "oneOf" in node and "oneOf" not in rules.keywords:
        node["anyOf"] = node.pop("oneOf")
    if "const" in node and "const" not in rules.keywords:
        node["enum"] = [node.pop("const")]
    written: dict[str, object] = {}
    limits: list[str] = []
    for key, value in node.items():
        if key in rules.keywords and not _is_too_large(key, value, rules):
            written[key] = _write_value(key, value, rules)
        elif key in _WORDS:
            limits.append(_WORDS[key].format(value))
    if limits:
        about = str(written.get("description", "")).rstrip(".")
        written["description"] = f"{about}: {', '.join(limits)}" if about else ", ".join(limits)
    if "properties" in written:
        written["required"] = list(cast("Mapping[str, object]", written["properties"]))
        written["additionalProperties"] = False
    return _with_type(written)


def _write_value(key: str, value: object, rules: WireRules) -> object:
    if key == "properties" and isinstance(value, Mapping):
        return {name: _write(inner, rules) for name, inner in value.items()}
    if key in _BRANCHES and isinstance(value, list):
        return [_write(inner, rules) for inner in value]
    if key == "items" and isinstance(value, Mapping):
        return _write(value, rules)
    return value


def _with_type(node: dict[str, object]) -> dict[str, object]:
    """Return `node` with one name as its type: enumerations get theirs, a list of types becomes an anyOf."""
    kinds = node.get("type")
    if isinstance(kinds, list):
        about = {"description": node.pop("description")} if "description" in node else {}
        rest = {key: value for key, value in node.items() if key != "type"}
        return {"anyOf": [{"type": kind} if kind == "null" else {"type": kind, **rest} for kind in kinds]} | about
    choices = node.get("enum")
    if kinds is None and isinstance(choices, list) and len({type(choice) for choice in choices}) == 1:
        name = _TYPE_NAMES.get(type(choices[0]))
        return {"type": name, **node} if name else node
    return node


def _is_too_large(key: str, value: object, rules: WireRules) -> bool:
    most = rules.provider.most_repetitions
    return bool(most) and key in _REPEATED and isinstance(value, int) and value > most


def _is_closed(node: Mapping[str, object], *, is_root: bool = False) -> bool:
    """Whether every part has a type, every object its properties, every list its items; at the root an object."""
    if is_root and node.get("type") != "object":
        return False
    if not any(key in node for key in _TYPED):
        return False
    if node.get("type") == "object" and "properties" not in node:
        return False
    if node.get("type") == "array" and "items" not in node:
        return False
    return all(_is_closed(inner) for inner in _children(node))


def _without_choices(node: Mapping[str, object], longest: int) -> dict[str, object]:
    """Return `node` without the enumerations of more than `longest` characters."""
    is_long = len("".join(map(str, cast("list[object]", node.get("enum", []))))) > longest
    return {
        key: _without_choices_in(key, value, longest) for key, value in node.items() if not (key == "enum" and is_long)
    }


def _without_choices_in(key: str, value: object, longest: int) -> object:
    if key == "properties" and isinstance(value, Mapping):
        return {name: _without_choices(inner, longest) for name, inner in value.items()}
    if isinstance(value, Mapping):
        return _without_choices(value, longest)
    if key in _BRANCHES and isinstance(value, list):
        return [_without_choices(inner, longest) for inner in value]
    return value


def _children(node: Mapping[str, object]) -> list[Mapping[str, object]]:
    properties = cast("Mapping[str, Mapping[str, object]]", node.get("properties", {}))
    branches = [branch for key in _BRANCHES for branch in cast("list[Mapping[str, object]]", node.get(key, []))]
    items = node.get("items")
    return [*properties.values(), *branches, *([items] if isinstance(items, Mapping) else [])]


def _nodes(node: Mapping[str, object], depth: int) -> list[tuple[Mapping[str, object], int]]:
    """Return every part with its level of nesting: the objects and lists around it, and itself if it is one."""
    inside = [nested for child in _children(node) for nested in _nodes(child, depth + (child.get("type") in _NESTING))]
    return [(node, depth), *inside]
