"""Tools offered by an MCP server: pinned by hash, with an arguments type built from their schema. Pure.

Schemas are untrusted: a part that has no equivalent type accepts any value, and references outside it are not followed.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec

from reveries.safe_text import one_line

MOST_DESCRIPTION_CHARS: Final = 600
_PIN_CHARS: Final = 32
_MOST_FIELDS: Final = 60
_MOST_CHOICES: Final = 60
_MOST_DEPTH: Final = 4
_TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,127}")
_TAKEN: Final = "tool"
"""A step names its tool in this field, so an argument with this name is called `tool_`."""
_TYPES: Final[Mapping[str, type[Any]]] = {
    "string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict,
    "null": type(None),
}  # fmt: skip


class OfferedTool(msgspec.Struct, frozen=True):
    """One tool as its server describes it."""

    name: str
    description: str
    schema: dict[str, Any]

    @property
    def pin(self) -> str:
        """A hash of its name, description and schema: a changed tool has another pin."""
        encoded = msgspec.json.encode([self.name, self.description, self.schema], order="deterministic")
        return hashlib.sha256(encoded).hexdigest()[:_PIN_CHARS]

    @property
    def short_description(self) -> str:
        """Its description on one line."""
        return one_line(self.description, MOST_DESCRIPTION_CHARS)


@dataclass(frozen=True, slots=True)
class PinnedTool:
    """A tool of a server as it was granted: `files.read_file`, with its pin at that time."""

    tool: str
    pin: str

    @property
    def grant_name(self) -> str:
        """Its name in a grant."""
        return f"{self.tool}#{self.pin}"


def read_pin(name: str) -> PinnedTool | None:
    """The server tool that a grant names; None if it names something else."""
    tool, mark, pin = name.partition("#")
    return PinnedTool(tool, pin) if mark and "." in tool else None


def read_offer(greeting: Mapping[str, Any]) -> list[OfferedTool]:
    """The callable tools of a server; of equal names the first."""
    tools: dict[str, OfferedTool] = {}
    for listed in greeting.get("tools", []):
        offered = msgspec.convert(listed, OfferedTool)
        if _TOOL_NAME.fullmatch(offered.name) and arguments_type(offered) is not None:
            tools.setdefault(offered.name, offered)
    return list(tools.values())


def arguments_type(offered: OfferedTool) -> type[msgspec.Struct] | None:
    """A struct type of its arguments; None if its schema cannot be expressed as one."""
    try:
        return _struct(f"{offered.name}_arguments", offered.schema, offered.schema, 0)
    except (TypeError, ValueError, RecursionError):
        return None


def wire_arguments(offered: OfferedTool, given: Mapping[str, object]) -> dict[str, object]:
    """The arguments under the server's own names. An optional one that is null was left out: a model that must fill in
    every field says so."""
    is_renamed = _TAKEN in offered.schema.get("properties", {})
    named = {_TAKEN if is_renamed and name == f"{_TAKEN}_" else name: value for name, value in given.items()}
    return _without_nulls(named, offered.schema, offered.schema, 0)


def _without_nulls(given: Mapping[str, object], schema: Any, root: Mapping[str, Any], depth: int) -> dict[str, object]:
    if isinstance(schema, Mapping) and "$ref" in schema:
        schema = _referred(str(schema["$ref"]), root)
    kinds = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(kinds, Mapping) or depth > _MOST_DEPTH:
        return dict(given)
    required = schema.get("required", [])
    return {
        name: _without_nulls(value, kinds.get(name, {}), root, depth + 1) if isinstance(value, Mapping) else value
        for name, value in given.items()
        if value is not None or name in required or name not in kinds
    }


def _struct(name: str, schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> type[msgspec.Struct]:
    """Raises TypeError or ValueError for anything but the schema of an object."""
    properties = schema.get("properties", {})
    required = schema.get("required", [])
    if not isinstance(properties, Mapping) or not isinstance(required, Sequence) or len(properties) > _MOST_FIELDS:
        raise TypeError(name)
    fields: list[Any] = []
    names: dict[str, str] = {}
    for number, (key, subschema) in enumerate(properties.items()):
        type_ = _type_of(f"{name}_{number}", subschema, root, depth)
        field = f"field_{number}"
        names[field] = f"{_TAKEN}_" if key == _TAKEN and not depth else key
        fields.append((field, type_) if key in required else (field, type_ | None | msgspec.UnsetType, msgspec.UNSET))
    return msgspec.defstruct(name, fields, frozen=True, kw_only=True, rename=names, forbid_unknown_fields=True)


def _type_of(name: str, schema: Any, root: Mapping[str, Any], depth: int) -> Any:
    if not isinstance(schema, Mapping) or depth > _MOST_DEPTH:
        return Any
    if "$ref" in schema:
        return _type_of(name, _referred(str(schema["$ref"]), root), root, depth + 1)
    if choices := _choices(schema):
        return Literal[choices]
    kind = schema.get("type")
    if isinstance(kind, list):
        types = tuple(dict.fromkeys(_TYPES.get(str(type_name), object) for type_name in kind))
        is_union = object not in types and not {int, float} <= set(types)
        return _union(types) if is_union and types else Any
    if kind == "object" and schema.get("properties"):
        return _struct(name, schema, root, depth + 1)
    if kind == "array" and "items" in schema:
        return list[_type_of(f"{name}_item", schema["items"], root, depth + 1)]  # type: ignore[misc]  # made at run time
    return _TYPES.get(str(kind), Any)


def _choices(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The strings of an enumeration; empty if it is none, or has other values."""
    choices = schema.get("enum", [schema["const"]] if "const" in schema else [])
    is_words = (
        isinstance(choices, list)
        and 0 < len(choices) <= _MOST_CHOICES
        and all(isinstance(choice, str) for choice in choices)
    )
    return tuple(dict.fromkeys(choices)) if is_words else ()


def _union(kinds: tuple[type[Any], ...]) -> Any:
    union: Any = kinds[0]
    for kind in kinds[1:]:
        union = union | kind
    return union


def _referred(reference: str, root: Mapping[str, Any]) -> Any:
    """Resolve a reference within the schema; no address is looked up."""
    node: Any = root
    if not reference.startswith("#/"):
        return None
    for part in reference[2:].split("/"):
        node = node.get(part) if isinstance(node, Mapping) else None
    return node
