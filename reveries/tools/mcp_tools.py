"""What an MCP server offers, as tools of ours: pinned by hash, with a type of arguments made of its schema. Pure.

A schema is a stranger's: what of it cannot be told as a type is any value, and no reference is followed out of it.
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
"""A step names its tool by this field: an argument of that name is called `tool_`."""
_TYPES: Final[Mapping[str, type[Any]]] = {
    "string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict,
    "null": type(None),
}  # fmt: skip


class OfferedTool(msgspec.Struct, frozen=True):
    """One tool as its server tells of it."""

    name: str
    description: str
    schema: dict[str, Any]

    @property
    def pin(self) -> str:
        """A hash of all that it says of itself: another one is another tool."""
        told = msgspec.json.encode([self.name, self.description, self.schema], order="deterministic")
        return hashlib.sha256(told).hexdigest()[:_PIN_CHARS]

    @property
    def told(self) -> str:
        """Its text on one line."""
        return one_line(self.description, MOST_DESCRIPTION_CHARS)


@dataclass(frozen=True, slots=True)
class PinnedTool:
    """A tool of a server as it was granted: `files.read_file`, and the hash of what it said of itself then."""

    tool: str
    pin: str

    @property
    def grant_name(self) -> str:
        """How it stands in a grant."""
        return f"{self.tool}#{self.pin}"


def read_pin(name: str) -> PinnedTool | None:
    """The tool of a server that a grant names; None where it names something else."""
    tool, mark, pin = name.partition("#")
    return PinnedTool(tool, pin) if mark and "." in tool else None


def read_offer(greeting: Mapping[str, Any]) -> list[OfferedTool]:
    """The tools of a server, those that can be called; the first of a name."""
    found: dict[str, OfferedTool] = {}
    for one in greeting.get("tools", []):
        offered = msgspec.convert(one, OfferedTool)
        if _TOOL_NAME.fullmatch(offered.name) and arguments_type(offered) is not None:
            found.setdefault(offered.name, offered)
    return list(found.values())


def arguments_type(offered: OfferedTool) -> type[msgspec.Struct] | None:
    """A struct of its arguments; None where its schema cannot be told as one."""
    try:
        return _struct(f"{offered.name}_arguments", offered.schema, offered.schema, 0)
    except (TypeError, ValueError, RecursionError):
        return None


def wire_arguments(offered: OfferedTool, given: Mapping[str, object]) -> dict[str, object]:
    """Arguments under the names that the server gave them."""
    is_renamed = _TAKEN in offered.schema.get("properties", {})
    return {_TAKEN if is_renamed and name == f"{_TAKEN}_" else name: value for name, value in given.items()}


def _struct(name: str, schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> type[msgspec.Struct]:
    """Raises TypeError, ValueError for what is no schema of an object."""
    properties = schema.get("properties", {})
    required = schema.get("required", [])
    if not isinstance(properties, Mapping) or not isinstance(required, Sequence) or len(properties) > _MOST_FIELDS:
        raise TypeError(name)
    fields: list[Any] = []
    names: dict[str, str] = {}
    for number, (key, one) in enumerate(properties.items()):
        type_ = _type_of(f"{name}_{number}", one, root, depth)
        field = f"field_{number}"
        names[field] = f"{_TAKEN}_" if key == _TAKEN and not depth else key
        fields.append((field, type_) if key in required else (field, type_ | msgspec.UnsetType, msgspec.UNSET))
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
        found = tuple(dict.fromkeys(_TYPES.get(str(one), object) for one in kind))
        is_union = object not in found and not {int, float} <= set(found)
        return _union(found) if is_union and found else Any
    if kind == "object" and schema.get("properties"):
        return _struct(name, schema, root, depth + 1)
    if kind == "array" and "items" in schema:
        return list[_type_of(f"{name}_item", schema["items"], root, depth + 1)]  # type: ignore[misc]  # made at run time
    return _TYPES.get(str(kind), Any)


def _choices(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The words of an enumeration; empty where it is none, or is one of something else."""
    found = schema.get("enum", [schema["const"]] if "const" in schema else [])
    is_words = (
        isinstance(found, list) and 0 < len(found) <= _MOST_CHOICES and all(isinstance(one, str) for one in found)
    )
    return tuple(dict.fromkeys(found)) if is_words else ()


def _union(kinds: tuple[type[Any], ...]) -> Any:
    union: Any = kinds[0]
    for one in kinds[1:]:
        union = union | one
    return union


def _referred(reference: str, root: Mapping[str, Any]) -> Any:
    """Within the schema alone: no address is looked up."""
    node: Any = root
    if not reference.startswith("#/"):
        return None
    for part in reference[2:].split("/"):
        node = node.get(part) if isinstance(node, Mapping) else None
    return node
