"""The facts of tables: rows of CSV and of Markdown, read by the names of their columns. Pure."""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import groupby
from typing import Final

from reveries.knowledge.facts.days import DateOrder, find_days
from reveries.knowledge.facts.lines import Line
from reveries.knowledge.facts.model import Day, Fact, FactKind, Quantity
from reveries.knowledge.facts.numbers import read_figures
from reveries.knowledge.facts.quantities import find_quantities
from reveries.knowledge.facts.vocabulary import VOCABULARY, alternation

_DATE_COLUMN: Final = re.compile(r"^(?:date|datum|fecha|data|dato|day|tag|when|wann|due|fällig)$", re.IGNORECASE)
_AMOUNT_COLUMN: Final = re.compile(
    r"\b(?:amount|sum|total|price|cost|costs|paid|betrag|preis|summe|kosten|importe|precio|coste|total|montant|prix|somme|importo|prezzo|costo"
    r"|bedrag|prijs|beløp|pris|sum|value|fee|deposit)\b",
    re.IGNORECASE,
)
_CURRENCY_COLUMN: Final = re.compile(r"^(?:currency|währung|moneda|devise|valuta|cur)$", re.IGNORECASE)
_CURRENCY: Final = re.compile(rf"(?<!\w){alternation(VOCABULARY.currencies)}(?!\w)", re.IGNORECASE)
_CURRENCY_NAME: Final = re.compile(rf"(?<![^\W\d_]){alternation(VOCABULARY.currencies)}(?![^\W\d_])", re.IGNORECASE)

_FEWEST_ROWS: Final = 3
"""A heading and two rows; in Markdown the line of dashes counts."""
_DASHES: Final = re.compile(r"^[\s|:-]+$")
_NO_CENTS: Final = re.compile(r"(?<=\d)[.,][-–—]+")
"""35,- and 35.–: a round sum, not one below zero."""
_MINUS: Final = "-−–"
_BELOW_ZERO: Final = re.compile(rf"\((?P<in>[{_MINUS}]?[\d.,'’]+)\)|[{_MINUS}][\d.,'’]+|[\d.,'’]+[{_MINUS}]")
"""-120,00 and 120,00- and, as accountants write it, (120.00)."""

_Row = tuple[Line, list[str]]


@dataclass(frozen=True, slots=True)
class _Columns:
    """What the columns of a table hold."""

    dates: frozenset[int]
    amounts: Mapping[int, str]
    """Column -> currency; empty if a column of its own, or the document, says it."""
    measures: Mapping[int, tuple[str, str]]
    """Column -> unit and dimension."""
    currency: int | None


@dataclass(frozen=True, slots=True)
class _TableReading:
    document: str
    order: DateOrder
    is_comma_decimal: bool | None
    main_currency: str

    def read(self, rows: Sequence[_Row]) -> Iterator[Fact]:
        columns = _read_header(rows[0][1])
        for line, cells in rows[1:]:
            offset = 0
            for place, cell in enumerate(cells):
                start = max(line.raw.find(cell, offset), 0)
                offset = start + len(cell)
                at = Fact(
                    FactKind.DATE, line.text, self.document, line.number, start, offset, written_on=line.written_on
                )
                yield from self._read_cell(at, cell.strip(), place, columns, self._currency_of(cells, columns))

    def _currency_of(self, cells: Sequence[str], columns: _Columns) -> str:
        named = cells[columns.currency] if columns.currency is not None and columns.currency < len(cells) else ""
        return VOCABULARY.currencies.get(named.strip().casefold(), self.main_currency)

    def _read_cell(self, at: Fact, cell: str, place: int, columns: _Columns, currency: str) -> Iterator[Fact]:
        sign, cell = _split_sign(cell)
        number = self._number(cell)
        if number is not None and place in columns.amounts:
            yield _with_quantity(at, Quantity(sign * number, columns.amounts[place] or currency, "money"))
        elif number is not None and place in columns.measures:
            yield _with_quantity(at, Quantity(sign * number, *columns.measures[place]))
        elif days := find_days(cell, at.written_on or date.min, self.order):
            yield from (replace(at, day=Day(mention.first, mention.last)) for mention in days)
        elif place not in columns.dates:
            mentions = find_quantities(cell, is_comma_decimal=self.is_comma_decimal)
            quantities = (mention.quantity for mention in mentions)
            yield from (_with_quantity(at, replace(value, number=sign * value.number)) for value in quantities)

    def _number(self, cell: str) -> float | None:
        """Return the number of a cell that holds nothing else."""
        if re.fullmatch(r"\+?[\d.,\s'’]+", cell) is None:
            return None
        return read_figures(cell.lstrip("+"), is_comma_decimal=self.is_comma_decimal)


def _split_sign(cell: str) -> tuple[float, str]:
    """Return -1.0 and the cell without its sign if it holds a sum below zero, else 1.0 and the cell."""
    bare = re.sub(r"\s", "", _CURRENCY_NAME.sub("", _NO_CENTS.sub("", cell)))
    if _BELOW_ZERO.fullmatch(bare) is None:
        return 1.0, cell
    return -1.0, re.sub(rf"[{_MINUS}()]", "", _NO_CENTS.sub("", cell)).strip()


def read_table_facts(
    document: str, lines: Sequence[Line], order: DateOrder, is_comma_decimal: bool | None, currency: str
) -> Iterator[Fact]:
    """Return the facts of the tables in a document: a file of separated values is one, Markdown may have several."""
    reading = _TableReading(document, order, is_comma_decimal, currency)
    for rows in _find_tables(document, lines):
        yield from reading.read(rows)


def _find_tables(document: str, lines: Sequence[Line]) -> Iterator[list[_Row]]:
    if document.casefold().endswith((".csv", ".tsv")):
        kept = [line for line in lines if line.raw.strip()]
        separator = max(";,\t|", key=kept[0].raw.count) if kept else ";"
        tables = [[(line, next(csv.reader([line.raw], delimiter=separator), [])) for line in kept]]
    else:
        runs = groupby(lines, key=lambda line: line.raw.lstrip().startswith("|"))
        tables = [
            [(line, line.raw.strip().strip("|").split("|")) for line in run] for is_table, run in runs if is_table
        ]
    for rows in tables:
        if len(rows) >= _FEWEST_ROWS and len(rows[0][1]) > 1:
            yield [row for row in rows if not _DASHES.match(row[0].raw)]


def _read_header(cells: Sequence[str]) -> _Columns:
    amounts: dict[int, str] = {}
    measures: dict[int, tuple[str, str]] = {}
    for place, cell in enumerate(cells):
        words = re.findall(r"[^\W\d_]+[²³]?|%|°\s?C", cell.casefold())
        unit = next((VOCABULARY.units[word] for word in words if word in VOCABULARY.units), None)
        if named := _CURRENCY.search(cell):
            amounts[place] = VOCABULARY.currencies[named.group().casefold()]
        elif _AMOUNT_COLUMN.search(cell):
            amounts[place] = ""
        elif unit is not None:
            measures[place] = unit
    currency = next((place for place, cell in enumerate(cells) if _CURRENCY_COLUMN.match(cell.strip())), None)
    dates = frozenset(place for place, cell in enumerate(cells) if _DATE_COLUMN.match(cell.strip()))
    return _Columns(dates, amounts, measures, currency)


def _with_quantity(at: Fact, quantity: Quantity) -> Fact:
    return replace(at, kind=FactKind.AMOUNT if quantity.dimension == "money" else FactKind.MEASURE, quantity=quantity)
