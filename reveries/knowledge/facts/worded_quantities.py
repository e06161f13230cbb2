"""Quantities of which a part stands in words or behind the unit: two metres thirty, an hour and a half, trois quarts
d'heure. Pure."""

import re
from collections.abc import Iterator
from typing import Final

from reveries.knowledge.facts.model import Quantity
from reveries.knowledge.facts.numbers import FIGURES, read_figures, read_number_words
from reveries.knowledge.facts.quantities import QuantityMention
from reveries.knowledge.facts.vocabulary import VOCABULARY, alternation

_ARTICLES: Final = frozenset({"a", "an", "un", "une", "una", "ein", "eine", "einen", "einer", "en", "ei", "et", "een"})
_METRES: Final = tuple(VOCABULARY.unit_tables["length"]["m"][1:])
_HOURS: Final = (*VOCABULARY.unit_tables["duration"]["h"][1:], "uur")
_MINUTES: Final = VOCABULARY.unit_tables["duration"]["min"][1:]
_MONEY: Final = tuple(word for word in VOCABULARY.currencies if len(word) > 1 and word.isalpha())
_LONG_UNITS: Final = (*(word for word in VOCABULARY.units if len(word) > 1 or word in "hlm"), *_HOURS, *_MONEY)
_AND: Final = alternation(VOCABULARY.words("and"))
_WORD: Final = r"[^\W\d_]+"
_WHOLE: Final = rf"(?:{FIGURES}|{_WORD}(?:[-\s]{_WORD}){{0,2}}(?=[\s'’]))"
_HALF: Final = (
    r"(?:and\s+a\s+half|und\s+(?:ein|eine|einen)?\s*halbe[rsnm]?|et\s+demie?|y\s+medi[oa]|e\s+mezz[oa]|"
    r"en\s+(?:een\s+)?hal(?:f|ve)|og\s+(?:en|ei|et)\s+halvt?)"
)
_HALF_BEFORE: Final = re.compile(
    rf"(?<![\w.,])(?P<n>{_WHOLE})\s+{_HALF}\s+(?P<u>{alternation(_LONG_UNITS)})(?!\w)", re.IGNORECASE
)
_HALF_BEHIND: Final = re.compile(
    rf"(?<![\w.,])(?:(?P<n>{_WHOLE})[\s'’])?(?P<u>{alternation(_LONG_UNITS)})\s+{_HALF}(?!\w)", re.IGNORECASE
)
_HALF_WORD: Final = re.compile(
    rf"(?<!\w)(?:(?P<half>anderthalb|eineinhalb|anderhal(?:f|ve)|halvann(?:en|a|et))|(?P<n>{_WORD}?)einhalb)"
    rf"\s+(?P<u>{alternation(_LONG_UNITS)})(?!\w)",
    re.IGNORECASE,
)
_QUARTERS: Final = {
    45: r"trois\s+quarts\s+d['’]heure|three[-\s]quarters\s+of\s+an\s+hour|dreiviertelstunde|drei\s+viertelstunden|"
    r"drie\s+kwartier|driekwart\s+uur|tre\s+quarti\s+d['’]ora|tres\s+cuartos\s+de\s+hora|tre\s+kvarter|trekvart\s+time",
    30: r"half\s+an\s+hour|half[-\s]hour|halbe[nr]?\s+stunde|demi-heure|media\s+hora|mezz['’\s]?ora|half\s?uur|"
    r"halv\s?time",
    15: r"quart\s+d['’]heure|quarter\s+of\s+an\s+hour|viertelstunde|een\s+kwartier|cuarto\s+de\s+hora|"
    r"quarto\s+d['’]ora|et\s+kvarter",
}
"""Minutes -> how they are called."""
_PART_BEHIND: Final = re.compile(
    rf"(?<![\w.,])(?P<n>{_WHOLE})[\s'’]?(?P<u>{alternation((*_METRES, *_HOURS, *_MONEY))})"
    rf"(?:(?P<and>\s+{_AND}\s+)|[^\S\n]?)"
    rf"(?<![^\W\d_](?=[^\W\d_]))(?P<p>\d{{1,2}}(?![\d.,:]\d|\d)|{_WORD}(?:[-\s]{_WORD}){{0,2}})",
    re.IGNORECASE,
)
_OTHERS: Final = (*VOCABULARY.units, *VOCABULARY.currencies, *VOCABULARY.words("cents"), *VOCABULARY.months)
_OTHER_UNIT: Final = re.compile(rf"\s?{alternation(_OTHERS)}(?!\w)", re.IGNORECASE)
_MINUTE: Final = re.compile(rf"\s?{alternation(_MINUTES)}(?!\w)", re.IGNORECASE)
_PART_END: Final = re.compile(
    r"\s*(?:$|[\n.,;:!?)–-])|\s+(?:long|high|wide|deep|lang|hoch|breit|tief|hauteur|haut|large|lungo|alto|ancho|largo|"
    rf"hoog|breed|diep|høy|bred|dyp|{alternation(VOCABULARY.stop_words)})(?!\w)",
    re.IGNORECASE,
)
"""What may follow such a part: "2 m 30 long", and not "3 m 10 boards"."""
_CLOCK_BEFORE: Final = re.compile(
    r"(?:\x00[\s,]*|\b(?:à|at|om|um|kl\.?|klokk[ae]n?|a las?|alle|vers|ore|gegen|ab|las?|tra)\s+)$", re.IGNORECASE
)
"""Behind it an hour is one of the day."""
_CLOCK_WORD_CHARS: Final = 40
"""No such word with its blanks is longer; to search the whole text before each number takes quadratic time."""


def find_worded_quantities(text: str) -> list[QuantityMention]:
    """Return the quantities in `text` that no single number before a unit says, in its order."""
    taken: list[QuantityMention] = []
    for mention in (*_find_halves(text), *_find_quarters(text), *_find_parts(text)):
        is_clock = mention.quantity.dimension == "duration" and _CLOCK_BEFORE.search(
            text[max(0, mention.start - _CLOCK_WORD_CHARS) : mention.start]
        )
        is_taken = any(mention.start < other.end and other.start < mention.end for other in taken)
        if not is_clock and not is_taken:
            taken.append(mention)
    return sorted(taken, key=lambda mention: mention.start)


def _find_halves(text: str) -> Iterator[QuantityMention]:
    for match in _HALF_WORD.finditer(text):
        whole = (1.0, 0) if match["half"] else read_number_words(match["n"])
        if whole is not None:
            yield QuantityMention(match.start(), match.end(), _quantity(whole[0] + 0.5, match["u"]))
    for pattern in (_HALF_BEFORE, _HALF_BEHIND):
        for match in pattern.finditer(text):
            whole = _read_whole(match["n"]) if match["n"] else (1.0, 0)
            if whole is not None:
                start = match.start() + whole[1]
                yield QuantityMention(start, match.end(), _quantity(whole[0] + 0.5, match["u"]))


def _find_quarters(text: str) -> Iterator[QuantityMention]:
    for minutes, names in _QUARTERS.items():
        for match in re.finditer(rf"(?<!\w)(?:{names})(?!\w)", text, re.IGNORECASE):
            yield QuantityMention(match.start(), match.end(), Quantity(float(minutes), "min", "duration"))


def _find_parts(text: str) -> Iterator[QuantityMention]:
    """Two metres thirty, 2 m 30, an hour and twenty, deux euros cinquante."""
    for match in _PART_BEHIND.finditer(text):
        whole, part = _read_whole(match["n"]), _read_part(match["p"])
        # "am 15." is no metre.
        is_letter = len(match["u"]) == 1 and not match["n"][-1].isdecimal()
        if whole is None or part is None or is_letter:
            continue
        end = match.start("p") + part[1]
        is_hour = match["u"].casefold() in _HOURS
        minute = _MINUTE.match(text, end) if is_hour else None
        is_open = match["p"].isdecimal() or match["and"] is not None
        if minute is not None:
            end = minute.end()
        elif _OTHER_UNIT.match(text, end) or (is_open and not _PART_END.match(text, end)):
            continue
        quantity = _quantity(whole[0] + part[0] / 100, match["u"])
        if is_hour:
            quantity = Quantity(whole[0] * 60 + part[0], "min", "duration")
        if part[0] < (60 if is_hour else 100):
            yield QuantityMention(match.start() + whole[1], end, quantity)


def _read_whole(words: str) -> tuple[float, int] | None:
    """Return the number and where it begins in `words`."""
    if words[0].isdecimal():
        number = read_figures(words)
        return (number, 0) if number is not None else None
    last = re.split(r"[-\s]", words)[-1]
    return (1.0, len(words) - len(last)) if last.casefold() in _ARTICLES else read_number_words(words)


def _read_part(words: str) -> tuple[float, int] | None:
    """Return the number with which `words` begin, and where it ends; figures have two digits, as those of cents do."""
    if words.isdecimal():
        return (float(words), len(words)) if len(words) == 2 and words != "00" else None
    for end in sorted((match.end() for match in re.finditer(_WORD, words)), reverse=True):
        number = read_number_words(words[:end])
        if number is not None and number[1] == 0 and number[0] >= 5:
            return number[0], end
    return None


def _quantity(number: float, word: str) -> Quantity:
    unit = word.casefold()
    if unit in VOCABULARY.currencies:
        return Quantity(number, VOCABULARY.currencies[unit], "money")
    return Quantity(number, "h", "duration") if unit == "uur" else Quantity(number, *VOCABULARY.units[unit])
