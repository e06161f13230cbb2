"""Answers of any kind with one text in every field that holds a text: for tests of all pages at once."""

import importlib
import pkgutil
from typing import Any

import msgspec
from msgspec import inspect

import reveries.client.features
from reveries.client.answers import PAGES
from tests.fakes.daemon import NOW


def answers_with_a_page() -> list[type[msgspec.Struct]]:
    """Return every type of answer that has a page; the features that register them are loaded."""
    for feature in pkgutil.iter_modules(reveries.client.features.__path__):
        importlib.import_module(f"{reveries.client.features.__name__}.{feature.name}")
    return list(PAGES)


def fill_answer(answer: type[msgspec.Struct], text: str) -> msgspec.Struct:
    """Build an answer with `text` wherever a text can be, and one item in each list."""
    info = inspect.type_info(answer)
    assert isinstance(info, inspect.StructType)
    return answer(**{field.name: _fill(field.type, text) for field in info.fields})


def _fill(kind: inspect.Type, text: str) -> Any:
    match kind:
        case inspect.StrType():
            return text
        case inspect.BoolType():
            return True
        case inspect.IntType() | inspect.FloatType():
            return 1 if isinstance(kind, inspect.IntType) else NOW
        case inspect.LiteralType(values=values):
            return values[0]
        case inspect.EnumType(cls=names):
            return next(iter(names))
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            return [_fill(item, text)]
        case inspect.DictType(key_type=key, value_type=value):
            return {_fill(key, text): _fill(value, text)}
        case inspect.UnionType(types=types):
            return _fill(next(one for one in types if not isinstance(one, inspect.NoneType)), text)
        case inspect.StructType(cls=answer):
            return fill_answer(answer, text)
    raise TypeError(f"No value for {kind}.")
