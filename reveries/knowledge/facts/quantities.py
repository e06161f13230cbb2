"""Sums of money and measures that a text names, in figures and in words. Pure.

price-parser 0.5 reads one price of a short text, quantulum3 0.10 reads "0,5 l" as 5 and "157 pounds" as a mass (28 Nov
2026, docs/benchmarks/projects.md): both leave decimal commas or words to chance, which here decide a sum.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from reveries.knowledge.facts.model import Quantity
from reveries.knowledge.facts.numbers import FIGURES, FRACTION, read_figures, read_number_words
from reveries.knowledge.facts.vocabulary import VOCABULARY, alternation

_NUMBER = rf"(?:(?:{FIGURES})(?:\s?{FRACTION})?|{FRACTION})"
_CURRENCY = alternation(VOCABULARY.currencies)
_CURRENCY_MARK = alternation(word for word in VOCABULARY.currencies if not word.isalpha() or len(word) <= 3)
_UNIT = alternation(VOCABULARY.units)
_COST = alternation(VOCABULARY.words("costs"))
_WORDS = r"[^\W\d_]+(?:[-\s’'][^\W\d_]+){0,6}"
_TIMES = r"\s*(?:[×x]|\bby\b|\bmal\b|\bpor\b|\bsur\b|\bop\b|\bper\b)\s*"
_LARGE: Final = {
    "k": 1e3,
    "thousand": 1e3,
    "million": 1e6,
    "millions": 1e6,
    "mio": 1e6,
    "m": 1e6,
    "bn": 1e9,
    "billion": 1e9,
}

_MONEY_BEFORE = re.compile(
    rf"(?<!\w)(?P<c>{_CURRENCY_MARK})(?P<gap>[^\S\n]?)(?P<n>[-−]?{_NUMBER})(?:\s?(?P<large>k|m|bn|thousand|million|billion)\b)?(?![\d])",
    re.IGNORECASE,
)
_MONEY_AFTER = re.compile(
    rf"(?<![\w.,])(?P<n>[-−]?{_NUMBER})\s?(?:(?P<large>thousand|million|billion|Mio)\.?\s)?(?P<c>{_CURRENCY})(?!\w)",
    re.IGNORECASE,
)
_MEASURE = re.compile(
    rf"(?<![\w.,/])(?P<n>[-−+]?{_NUMBER})(?P<gap>[\s\u00a0]?)(?P<u>{_UNIT})(?![\w²³/]|\.\w|-\d)", re.IGNORECASE
)
_TWO_SIDES = re.compile(
    rf"(?<![\w.,/])(?P<n>{_NUMBER})(?:\s?{_UNIT})?{_TIMES}(?={_NUMBER}\s?(?P<u>{_UNIT})(?!\w))", re.IGNORECASE
)
_SPAN = re.compile(rf"(?<![\w.,/])(?P<n>{_NUMBER})\s?[-–]\s?(?={_NUMBER}\s?(?P<u>{_UNIT})(?!\w))", re.IGNORECASE)
_WORD_UNITS = [word for word in (*VOCABULARY.units, *VOCABULARY.currencies) if word.isalpha() and len(word) > 1]
_IN_WORDS = re.compile(rf"(?<!\w)(?P<n>{_WORDS})\s+(?P<u>{alternation(_WORD_UNITS)})(?!\w)", re.IGNORECASE)
_BARE_PRICE = re.compile(
    r"(?<![\w.,:/])(?:(?P<n>\d{1,6}(?:\.\d{3})*,\d\d)(?![\d.,/]|\s?(?:h|uhr|°))|(?P<round>\d{1,3}(?:[. ]\d{3})*),[-–])"
)
"""Two decimals behind a comma without a unit: in a list of expenses, money."""
_PER_UNIT = re.compile(r"\s*(?:/|per\s|pro\s|je\s|par\s|por\s|al\s|le\s)(?:l|lit\w*|kwh)(?!\w)", re.IGNORECASE)
"""Only the price of a litre and of energy has three decimals."""
_MINUS_BEFORE = re.compile(r"(?:^|[\s(:;|])[-−]$")
"""A minus stands directly at its number, or at its currency; with a blank it is a dash."""
_AFTER_COST = re.compile(rf"\b{_COST}\s*:?\s+(?P<n>{FIGURES})(?![\d%]|\s?{_UNIT}(?!\w))", re.IGNORECASE)
_FOR_EACH = re.compile(rf"(?<![\w.,:/])(?P<n>{FIGURES})\s+{alternation(VOCABULARY.words('rate'))}(?!\w)", re.IGNORECASE)
"""A number for a night or a head, without a unit: a price."""
_ANGLE = re.compile(r"angle|tilt|slope|pitch|winkel|neigung|inclin|pente|hoek|helling|vinkel|pendenza", re.IGNORECASE)
_CENTS = re.compile(
    rf"[^\S\n]+(?:{alternation(VOCABULARY.words('and'))}\s+)?(?:(?P<w>{_WORDS}|\d{{1,2}})\s+{alternation(VOCABULARY.words('cents'))}(?!\w)"
    r"|(?P<d>\d\d)(?!\d|[.,:]\d|\s?[^\W\d_]{1,2}\b))",
    re.IGNORECASE,
)
"""What follows the whole of a sum: "and fifty cents", "27 euro 50"."""
_SUM_BEFORE = re.compile(r"\d[.,'’ \u00a0\u202f]\d{2,3}(?:,[-–])?[^\S\n]?$")
"""A number written as a sum is, with thousands or cents: the currency behind it is its own."""
_SUM_CHARS: Final = 8
_MOST_PIECES: Final = 9
"""A whole number up to this before "x" counts pieces: "2 x 12 m"."""


@dataclass(frozen=True, slots=True)
class QuantityMention:
    """A quantity at its place in a text."""

    start: int
    end: int
    quantity: Quantity


def main_currency(text: str) -> str:
    """Return the currency that `text` names most often; empty if it names none."""
    counts: dict[str, int] = {}
    for pattern in (_MONEY_BEFORE, _MONEY_AFTER):
        for match in pattern.finditer(text):
            if _is_of_number_before(match):
                continue
            code = VOCABULARY.currencies[match["c"].casefold()]
            counts[code] = counts.get(code, 0) + 1
    return max(counts, key=lambda code: counts[code], default="")


def find_quantities(text: str, *, is_comma_decimal: bool | None = None, currency: str = "") -> list[QuantityMention]:
    """Return the sums and measures in `text`, in its order. `currency`: that of numbers which only a word such as
    "costs" or two decimals show to be money; without it they are left out."""
    taken: list[QuantityMention] = []
    is_taken = bytearray(len(text))
    for mention in (
        *_money(text, is_comma_decimal),
        *_sides(text, is_comma_decimal),
        *_measures(text, is_comma_decimal),
        *_in_words(text),
        *_implied_money(text, currency),
    ):
        mention = _with_cents(replace(mention, quantity=_with_degrees(mention.quantity, text)), text)
        if not any(is_taken[mention.start : mention.end]):
            taken.append(mention)
            is_taken[mention.start : mention.end] = b"\1" * (mention.end - mention.start)
    return sorted(taken, key=lambda mention: mention.start)


def _with_cents(mention: QuantityMention, text: str) -> QuantityMention:
    """Add the cents that stand behind a whole sum."""
    quantity = mention.quantity
    match = _CENTS.match(text, mention.end)
    if quantity.dimension != "money" or match is None or quantity.number != int(quantity.number):
        return mention
    words = match["d"] or match["w"]
    cents = float(words) if words.isdecimal() else (read_number_words(words) or (0.0, 0))[0]
    if not 0 < cents < 100:
        return mention
    return QuantityMention(mention.start, match.end(), replace(quantity, number=quantity.number + cents / 100))


def _with_degrees(quantity: Quantity, text: str) -> Quantity:
    """Degrees are those of Celsius where nothing speaks of an angle."""
    if quantity.unit == "deg" and not _ANGLE.search(text):
        return Quantity(quantity.number, "°C", "temperature")
    return quantity


def _money(text: str, is_comma_decimal: bool | None) -> Iterator[QuantityMention]:
    for pattern in (_MONEY_BEFORE, _MONEY_AFTER):
        for match in pattern.finditer(text):
            has_parts = _PER_UNIT.match(text, match.end()) is not None
            number = _read(match["n"], "," in match["n"] if has_parts else None)
            number = -number if number and _has_minus(text, match.start()) else number
            is_rate = number == 1 and re.match(r"\s*=", text[match.end() :])
            if number is not None and not is_rate and not _is_of_number_before(match):
                large = _LARGE.get((match["large"] or "").casefold(), 1.0)
                code = VOCABULARY.currencies[match["c"].casefold()]
                yield QuantityMention(match.start(), match.end(), Quantity(number * large, code, "money"))


def _is_of_number_before(match: re.Match[str]) -> bool:
    """Whether the currency before a number stands behind another one, to which it belongs: "27.500 kr. 4 dryers"."""
    begin = max(0, match.start("c") - _SUM_CHARS)
    return bool(match.groupdict().get("gap")) and _SUM_BEFORE.search(match.string, begin, match.start("c")) is not None


def _sides(text: str, is_comma_decimal: bool | None) -> Iterator[QuantityMention]:
    """The first number of "1480 × 670 mm", "1.90 m by 1.22 m" and "5-10 kg"; of "2 x 12 m" it counts pieces."""
    for pattern in (_TWO_SIDES, _SPAN):
        for match in pattern.finditer(text):
            number, unit = _read(match["n"], is_comma_decimal), _unit_of(match["u"])
            is_count = pattern is _TWO_SIDES and match["n"].isdecimal() and int(match["n"]) <= _MOST_PIECES
            if number is not None and unit is not None and not is_count:
                yield QuantityMention(match.start(), match.end("n"), Quantity(number, *unit))


def _measures(text: str, is_comma_decimal: bool | None) -> Iterator[QuantityMention]:
    for match in _MEASURE.finditer(text):
        unit, number = _unit_of(match["u"]), _read(match["n"], is_comma_decimal)
        if unit is not None and number is not None:
            yield QuantityMention(match.start(), match.end(), Quantity(number, *unit))


def _in_words(text: str) -> Iterator[QuantityMention]:
    for match in _IN_WORDS.finditer(text):
        read = read_number_words(match["n"])
        if read is None:
            continue
        number, offset = read
        word, start = match["u"].casefold(), match.start() + offset
        if code := VOCABULARY.currencies.get(word):
            yield QuantityMention(start, match.end(), Quantity(number, code, "money"))
        elif (unit := _unit_of(match["u"])) is not None:
            yield QuantityMention(start, match.end(), Quantity(number, *unit))


def _has_minus(text: str, start: int) -> bool:
    return _MINUS_BEFORE.search(text[max(0, start - 2) : start]) is not None


def _implied_money(text: str, currency: str) -> Iterator[QuantityMention]:
    for pattern in (_BARE_PRICE, _AFTER_COST, _FOR_EACH) if currency else ():
        for match in pattern.finditer(text):
            name = "n" if match["n"] else "round"
            number = _read(match[name], True if pattern is _BARE_PRICE else None)
            number = -number if number and _has_minus(text, match.start()) else number
            if number is not None:
                yield QuantityMention(match.start(name), match.end(name), Quantity(number, currency, "money"))


def _read(figures: str, is_comma_decimal: bool | None) -> float | None:
    sign = -1.0 if figures[0] in "-−" else 1.0
    number = read_figures(figures.lstrip("-−+"), is_comma_decimal=is_comma_decimal)
    return sign * number if number is not None else None


_UPPER_UNITS: Final = frozenset({"a", "v", "w"})
"""Ampere, volt, watt: as small letters they are words."""


def _unit_of(word: str) -> tuple[str, str] | None:
    """Return unit and dimension; None if one letter is written as the unit is not."""
    if len(word) == 1 and word.isalpha():
        is_upper = word.isupper()
        if (word.casefold() in _UPPER_UNITS) != is_upper and word != "L":
            return None
    return VOCABULARY.units[re.sub(r"\s+", " ", word.casefold())]


def mask(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return `text` with `spans` blanked, so that the numbers of dates are not read as quantities."""
    signs = list(text)
    for start, end in spans:
        for place in range(start, min(end, len(signs))):
            if signs[place] != "\n":
                signs[place] = "\x00"
    return "".join(signs)
