"""Reads a database row as a dataclass or struct whose fields are named like the columns."""

import json
from collections.abc import Callable, Hashable
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, cast, get_origin, get_type_hints

import msgspec

from reveries.db.reading import Row

_Value = TypeVar("_Value")


def read_row(type_: type[_Value], row: Row, **given: object) -> _Value:
    """Return a `type_` with the values of `row`, which may have more columns, and with `given` in place of columns.

    A tuple or frozenset is a JSON array in the file, and a bool a number. Raises msgspec.ValidationError for a row that
    does not fit its type, which only a damaged file has.
    """
    values = dict(given)
    for name, reader in _readers(cast("Hashable", type_)):
        if name not in given:
            values[name] = row[name] if reader is None else reader(row[name])
    return msgspec.convert(values, type_)


@cache
def _readers(type_: Any) -> list[tuple[str, Callable[[Any], object] | None]]:
    """Return how each field's column is read; None: as it is."""
    hints = get_type_hints(type_)
    named = fields(type_) if is_dataclass(type_) else msgspec.structs.fields(type_)
    return [(field.name, _reader_for(hints[field.name])) for field in named]


def _reader_for(hint: object) -> Callable[[Any], object] | None:
    if hint is bool:
        return bool
    return json.loads if get_origin(hint) in (tuple, frozenset) else None
