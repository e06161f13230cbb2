"""Look at decoded JSON of unknown shape. Pure."""

from typing import Any


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
