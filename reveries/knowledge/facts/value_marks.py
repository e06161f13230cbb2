"""What the words beside a number say of it: about so much, at most, at least, of which currency. Pure."""

import re
from dataclasses import dataclass
from typing import Final

from reveries.knowledge.facts.vocabulary import VOCABULARY, alternation, pattern_of

_ABOUT: Final = re.compile(rf"(?<!\w){pattern_of(VOCABULARY.words('about'))}\s*$", re.IGNORECASE)
_AT_MOST: Final = re.compile(rf"(?<!\w){pattern_of(VOCABULARY.words('at_most'))}(?!\w)", re.IGNORECASE)
_AT_LEAST: Final = re.compile(rf"(?<!\w){pattern_of(VOCABULARY.words('at_least'))}(?!\w)", re.IGNORECASE)
_CURRENCY: Final = re.compile(rf"(?<![^\W\d_]){alternation(VOCABULARY.currencies)}(?![^\W\d_])", re.IGNORECASE)
_SHARE: Final = re.compile(r"(\d{1,2})\s?%")
_YEAR: Final = re.compile(r"(?<![\w.,/-])((?:19|20)\d\d)(?![\w/-]|[.,]\d)")
_REACH_CHARS: Final = 30
"""Around a number: words that make it a limit stand near."""
_LINE_CHARS: Final = 2000
"""Of a line without an end, so much is read."""


@dataclass(frozen=True, slots=True)
class ValueMarks:
    """What a line says of the number in it."""

    is_about: bool
    is_at_most: bool
    is_at_least: bool
    has_currency: bool
    """Whether any stands in the line."""
    shares: frozenset[float]
    """The percentages in the line, 0 to 1."""
    years: frozenset[int]
    """Those that stand alone in the line."""


def read_marks(raw: str, start: int, end: int) -> ValueMarks:
    """Return what a line says of the number from `start` to `end`."""
    before = raw[max(0, start - _REACH_CHARS) : start]
    behind = re.split(r"[,.;]\s|\d", raw[end : end + _REACH_CHARS])[0]
    around, line = f"{before} {behind}", raw[max(0, start - _LINE_CHARS) : end + _LINE_CHARS]
    return ValueMarks(
        is_about=_ABOUT.search(before) is not None,
        is_at_most=_AT_MOST.search(around) is not None,
        is_at_least=_AT_LEAST.search(around) is not None,
        has_currency=_CURRENCY.search(line) is not None,
        shares=frozenset(float(share) / 100 for share in _SHARE.findall(line)),
        years=frozenset(map(int, _YEAR.findall(line))),
    )
