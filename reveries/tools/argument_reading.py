"""Reading the arguments of a tool as programs write them. Pure.

A program's model writes "3" or 3.0 for a whole number, null for what it leaves out, and a list or an object as a string
of JSON. All of these say what is meant; anything else is refused with the place where it stands.
"""

import json
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

_Arguments = TypeVar("_Arguments")


def read_arguments(given: Mapping[str, object], kind: type[_Arguments]) -> _Arguments:
    """Return `given` as a struct. Raises msgspec.ValidationError."""
    return msgspec.convert(_fit_value(dict(given), msgspec.inspect.type_info(kind)), kind, strict=False)


def _fit_value(value: object, kind: msgspec.inspect.Type) -> object:
    match kind:
        case msgspec.inspect.UnionType():
            return _fit_union(value, kind)
        case msgspec.inspect.StructType():
            value = _read_json(value, dict)
            return _fit_struct(value, kind) if isinstance(value, dict) else value
        case msgspec.inspect.ListType():
            value = _read_json(value, list)
            return [_fit_value(item, kind.item_type) for item in value] if isinstance(value, list) else value
    return value


def _fit_struct(values: dict[str, Any], kind: msgspec.inspect.StructType) -> dict[str, Any]:
    """Return `values` without null for fields that may be left out and cannot be null."""
    fields = {field.encode_name: field for field in kind.fields}
    fitted = {}
    for name, value in values.items():
        field = fields.get(name)
        if field is not None and value is None and not field.required and not _takes_null(field.type):
            continue
        fitted[name] = _fit_value(value, field.type) if field is not None else value
    return fitted


def _fit_union(value: object, kind: msgspec.inspect.UnionType) -> object:
    """Return `value` as the one structured member of the union wants it; text stays text where text may stand."""
    if any(isinstance(member, msgspec.inspect.StrType) for member in kind.types) and isinstance(value, str):
        return value
    structured = (msgspec.inspect.StructType, msgspec.inspect.ListType)
    members = [member for member in kind.types if isinstance(member, structured)]
    return _fit_value(value, members[0]) if len(members) == 1 else value


def _takes_null(kind: msgspec.inspect.Type) -> bool:
    members = kind.types if isinstance(kind, msgspec.inspect.UnionType) else (kind,)
    return any(isinstance(member, msgspec.inspect.NoneType | msgspec.inspect.AnyType) for member in members)


def _read_json(value: object, kind: type[dict[str, Any]] | type[list[Any]]) -> object:
    """Return the list or object that the string `value` writes, else `value`."""
    if not isinstance(value, str):
        return value
    try:
        read = json.loads(value)
    except ValueError:
        return value
    return read if isinstance(read, kind) else value
