"""Decode JSON of unknown shape and look at it. Pure."""

import json
import re
from typing import Any, Final

import msgspec

_HALF_PAIR: Final = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


def decode_json(text: str) -> Any:
    """Decode JSON. Half of a character pair becomes "?": an export may cut a title within an emoji. Raises
    ValueError."""
    try:
        return msgspec.json.decode(text.encode("utf-8"))
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        if _HALF_PAIR.search(text) is None:
            raise ValueError(str(error).removeprefix("JSON is malformed: ")) from error
    try:
        whole = json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8", "replace")
        return msgspec.json.decode(whole)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(str(error)) from error


def as_dict(value: object) -> dict[str, Any]:
    """Return `value` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """Return `value` if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: object) -> str:
    """Return `value` if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def as_items(value: object) -> list[dict[str, Any]]:
    """Return the objects of a list, or the object itself as the only one."""
    return [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict)]


def follow_parents(nodes: dict[str, Any], leaf: str, parent_field: str) -> list[dict[str, Any]]:
    """Return the nodes from the root to `leaf`; a circle ends it."""
    path: dict[str, dict[str, Any]] = {}
    name: object = leaf
    while isinstance(name, str) and name not in path and isinstance(node := nodes.get(name), dict):
        path[name] = node
        name = node.get(parent_field)
    return list(path.values())[::-1]
