"""Rows become values by the names of their fields."""

from dataclasses import dataclass
from enum import StrEnum

import msgspec
import pytest

from reveries.db.typed_rows import read_row


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True, slots=True)
class Boat:
    name: str
    colour: Colour
    crew: tuple[str, ...]
    ports: frozenset[str]
    is_afloat: bool
    launched_at: float | None
    length: float = 4.0


ROW = {
    "name": "null", "colour": "red", "crew": '["Ana", "Bo"]', "ports": '["Lisbon"]', "is_afloat": 1,
    "launched_at": None, "length": 7, "checksum": b"of another reader",
}  # fmt: skip


def test_a_row_becomes_a_value_by_the_names_of_its_fields() -> None:
    boat = read_row(Boat, ROW)
    assert boat == Boat("null", Colour.RED, ("Ana", "Bo"), frozenset({"Lisbon"}), True, None, 7.0)
    assert boat.is_afloat is True
    assert isinstance(boat.colour, Colour)


def test_a_given_value_stands_in_place_of_the_column() -> None:
    assert read_row(Boat, ROW | {"crew": "no JSON"}, crew=("Cleo",)).crew == ("Cleo",)


def test_a_row_that_does_not_fit_its_type_is_refused() -> None:
    for damaged in ({"colour": "plaid"}, {"length": "seven"}, {"name": None}, {"crew": "[1]"}):
        with pytest.raises(msgspec.ValidationError):
            read_row(Boat, ROW | damaged)


def test_a_missing_column_is_an_error_even_where_the_field_has_a_default() -> None:
    row = {name: value for name, value in ROW.items() if name != "length"}
    with pytest.raises(KeyError):
        read_row(Boat, row)
