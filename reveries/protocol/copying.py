"""Fills a message from an object that has attributes of the same names."""

from enum import Enum
from typing import TypeVar

import msgspec

_M = TypeVar("_M", bound=msgspec.Struct)


def copy_fields(message: type[_M], source: object, /, **others: object) -> _M:
    """Return a `message` with `others`, and each other field from the attribute of `source` that has its name: an enum
    as its value, a tuple as a list, a set as a sorted list. A field that has neither keeps its default.

    Text for a terminal is made plain by the caller, in `others`. Raises TypeError if a field is missing.
    """
    copied = {name: _plain_value(getattr(source, name)) for name in message.__struct_fields__ if hasattr(source, name)}
    return message(**copied | others)


def _plain_value(value: object) -> object:
    match value:
        case Enum():
            return value.value
        case tuple():
            return list(value)
        case set() | frozenset():
            return sorted(value)
        case _:
            return value
