"""Stated totals that are not what their parts come to: "In all 31 pieces" below 12, 9 and 7. Pure."""

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from reveries.index.terms import words_of
from reveries.knowledge.facts.fact_conflict import FactConflict
from reveries.knowledge.facts.model import Fact, FactKind, Quantity
from reveries.knowledge.facts.vocabulary import VOCABULARY, pattern_of

_TOTAL: Final = re.compile(rf"(?<!\w){pattern_of(VOCABULARY.words('totals'))}(?!\w)", re.IGNORECASE)
_EACH: Final = re.compile(
    rf"(?<!\w){pattern_of([*VOCABULARY.words('each'), *VOCABULARY.words('rate')])}(?!\w)", re.IGNORECASE
)
_ROW: Final = re.compile(r"^\s*(?:[-*+•|]|\d{1,3}[.)]\s)")
_PART_OF: Final = re.compile(r"\b(?:davon|dont|waarvan|herav|hvorav|of which|di cui|de los cuales)\b", re.IGNORECASE)
_FEWEST_PARTS: Final = 2
_MOST_BETWEEN: Final = 1
"""Empty lines between the parts and their total."""
_MOST_RATIO: Final = 1.6
"""Between a total and the sum of its parts; beyond it the lines above are not its parts."""
_NEAR_LINES: Final = 4
_TEXT_CHARS: Final = 380
_SCORE: Final = 10.0
"""Of a sum that is wrong: it needs no likeness of words."""


@dataclass(frozen=True, slots=True)
class _Page:
    """The lines of a document and the quantities in each."""

    lines: Sequence[str]
    facts: Mapping[int, Sequence[Fact]]

    def is_total(self, line: int) -> bool:
        return _TOTAL.search(self.lines[line - 1]) is not None


def find_wrong_totals(facts: Sequence[Fact], documents: Mapping[str, str]) -> list[FactConflict]:
    """Return the totals beside which the parts in the lines above come to another sum. `documents`: name -> text."""
    by_line: dict[str, dict[int, list[Fact]]] = defaultdict(lambda: defaultdict(list))
    for fact in facts:
        if fact.quantity is not None:
            by_line[fact.document][fact.line].append(fact)
    pages = {name: _Page(documents[name].splitlines(), lines) for name, lines in by_line.items() if name in documents}
    return [pair for page in pages.values() for pair in _wrong_totals_of(page)]


def _wrong_totals_of(page: _Page) -> Iterator[FactConflict]:
    for line in sorted(page.facts):
        if not page.is_total(line):
            continue
        for total in page.facts[line]:
            parts = _parts_above(page, total)
            if len(parts) >= _FEWEST_PARTS and _is_wrong(total, parts):
                yield FactConflict(_subject_of(page, total), total, _join(parts), _SCORE)
                break


def _parts_above(page: _Page, total: Fact) -> list[Fact]:
    """Return the values of one unit in the rows directly above a total, in its column; none where a row is unclear."""
    parts: list[Fact] = []
    empty = 0
    for line in range(total.line - 1, 0, -1):
        raw = page.lines[line - 1]
        if not raw.strip():
            empty += 1
            if empty > _MOST_BETWEEN or parts:
                break
            continue
        if raw.lstrip().startswith("#") or page.is_total(line) or _EACH.search(raw):
            break
        fitting = [fact for fact in page.facts.get(line, ()) if _is_part(page, fact, total)]
        if len(fitting) != 1:
            is_row = _ROW.match(raw) is not None or not page.facts.get(line)
            if not fitting and is_row and re.fullmatch(r"[\s|:-]*", raw):
                continue
            break
        parts.append(fitting[0])
    return parts[::-1]


def _is_part(page: _Page, fact: Fact, total: Fact) -> bool:
    assert fact.quantity is not None
    assert total.quantity is not None
    is_of_unit = fact.quantity.dimension == total.quantity.dimension and (
        fact.quantity.dimension != "money" or fact.quantity.unit == total.quantity.unit
    )
    column = _column_of(page, total)
    return is_of_unit and (not column[0] or _column_of(page, fact) == column)


def _column_of(page: _Page, fact: Fact) -> tuple[str, int]:
    """Return in which column of a table a value stands; the first of a line that is no row of one."""
    raw = page.lines[fact.line - 1]
    if raw.lstrip().startswith("|"):
        return "|", raw[: fact.start].count("|")
    if fact.document.casefold().endswith((".csv", ".tsv")):
        separator = max(";,\t|", key=raw.count)
        return separator, raw.count(separator, fact.end)
    return "", 0


def _is_wrong(total: Fact, parts: Sequence[Fact]) -> bool:
    """Whether a total is the sum of no run of rows that ends above it, and near enough to that of all to mean them."""
    stated, runs, run = _number(total), [], 0.0
    for part in reversed(parts):
        run += _number(part)
        runs.append(run)
    if any(math.isclose(stated, value, rel_tol=1e-4, abs_tol=0.011) for value in runs) or _PART_OF.search(total.text):
        return False
    whole = runs[-1]
    is_largest = stated > max(map(_number, parts))
    return is_largest and whole > 0 and max(stated, whole) / min(stated, whole) <= _MOST_RATIO


def _number(fact: Fact) -> float:
    assert fact.quantity is not None
    return fact.quantity.base


def _join(parts: Sequence[Fact]) -> Fact:
    """Return the parts as one value: their sum, with the lines that it is made of."""
    first = parts[0]
    assert first.quantity is not None
    factor = first.quantity.base / first.quantity.number if first.quantity.number else 1.0
    number = sum(map(_number, parts)) / factor
    text = "; ".join(part.text for part in parts)
    quantity = Quantity(round(number, 4), first.quantity.unit, first.quantity.dimension)
    return replace(first, quantity=quantity, text=text if len(text) <= _TEXT_CHARS else text[: _TEXT_CHARS - 1] + "…")


def _subject_of(page: _Page, total: Fact) -> str:
    heading = next((line for line in reversed(page.lines[: total.line - 1]) if line.lstrip().startswith("#")), "")
    return heading.lstrip("# ").strip() or total.text


def drop_parts(pairs: Sequence[FactConflict], facts: Sequence[Fact]) -> list[FactConflict]:
    """Return the pairs without those of which one value is the sum of the other and of one near it: two days, and both
    together."""
    beside: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        if fact.quantity is not None:
            beside[fact.document].append(fact)
    return [
        pair
        for pair in pairs
        if not any(_is_sum(whole, part, beside[part.document]) for whole, part in ((pair.a, pair.b), (pair.b, pair.a)))
    ]


def _is_sum(whole: Fact, part: Fact, beside: Sequence[Fact]) -> bool:
    if whole.quantity is None or part.quantity is None or part.kind is FactKind.COUNT:
        return False
    words = _words_of(part) & _words_of(whole)
    return any(
        other is not part
        and abs(other.line - part.line) <= _NEAR_LINES
        and other.quantity is not None
        and other.quantity.dimension == part.quantity.dimension
        and not words.isdisjoint(_words_of(other))
        and math.isclose(other.quantity.base + part.quantity.base, whole.quantity.base, rel_tol=1e-4)
        for other in beside
    )


def _words_of(fact: Fact) -> frozenset[str]:
    return frozenset(word for word in words_of(fact.text) if len(word) > 2 and word not in VOCABULARY.stop_words)
