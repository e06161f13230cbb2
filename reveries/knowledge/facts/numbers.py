"""Numbers as people write them: figures with decimal commas or points, fractions, and words."""

import re
from typing import Final

from text_to_num import text2num

FIGURES: Final = r"\d{1,3}(?:[.,'’\u00a0\u202f ]\d{3})+(?:[.,]\d{1,2})?(?![\d])|\d+(?:[.,]\d+)?"
"""A number in figures, with or without separators of thousands."""
_FRACTIONS: Final = {"½": 0.5, "¼": 0.25, "¾": 0.75, "⅓": 1 / 3, "⅔": 2 / 3}
FRACTION: Final = f"[{''.join(_FRACTIONS)}]"
_WORD_LANGUAGES: Final = ("en", "de", "nl", "fr", "es", "it")
_NORWEGIAN_UNITS: Final = (
    "null en to tre fire fem seks sju åtte ni ti elleve tolv tretten fjorten femten seksten sytten atten nitten"
)
_NORWEGIAN: Final = {word: number for number, word in enumerate(_NORWEGIAN_UNITS.split())} | {"ett": 1, "syv": 7}
_NORWEGIAN_TENS: Final = {
    "tjue": 20, "tyve": 20, "tretti": 30, "førti": 40, "femti": 50, "seksti": 60, "sytti": 70, "åtti": 80, "nitti": 90,
}  # fmt: skip
"""text2num has no Norwegian, and the tens of Danish are others."""
_CLOCK_OR_DAY: Final = re.compile(
    r"(?<![\d.,£$€])(?<![£$€]\s)(?:[01]?\d|2[0-3])\.[0-5]\d(?![\d.,]|\s?(?:[£$€%]|eur|chf|gbp|usd|kr|[cmk]?m\b|[km]?g\b|[cm]?l\b))",
    re.IGNORECASE,
)
"""19.30 and 3.12 without a unit: they do not say how decimals are written."""
_THOUSANDS_DIGITS: Final = 3
_MOST_WORDS: Final = 8


def read_figures(text: str, *, is_comma_decimal: bool | None = None) -> float | None:
    """Return the number that `text` stands for; None if it is none.

    A single separator with three digits behind it is read as thousands, unless `is_comma_decimal` says that the text
    writes its decimals with it: False for a point, True for a comma.
    """
    fraction = sum(_FRACTIONS.get(sign, 0.0) for sign in text)
    figures = re.sub(rf"{FRACTION}|['’\s]", "", text)
    if not figures:
        return fraction or None
    last_comma, last_point = figures.rfind(","), figures.rfind(".")
    if last_comma >= 0 and last_point >= 0:
        decimal = "," if last_comma > last_point else "."
        figures = figures.replace("," if decimal == "." else ".", "").replace(decimal, ".")
    elif max(last_comma, last_point) >= 0:
        sign = "," if last_comma >= 0 else "."
        behind = figures[max(last_comma, last_point) + 1 :]
        is_decimal_sign = is_comma_decimal is not None and is_comma_decimal == (sign == ",")
        is_grouped = len(behind) == _THOUSANDS_DIGITS and not figures.startswith("0") and not is_decimal_sign
        figures = figures.replace(sign, "" if is_grouped or figures.count(sign) > 1 else ".")
    try:
        return float(figures) + fraction
    except ValueError:
        return None


def writes_decimal_comma(text: str) -> bool | None:
    """Whether a text writes decimals with a comma; None if nothing in it tells."""
    text = _CLOCK_OR_DAY.sub(" ", text)
    commas = len(re.findall(r"(?<![\d.,])\d+(?:\.\d{3})*,\d{1,2}(?![\d,])", text))
    points = len(re.findall(r"(?<![\d.,])\d+(?:,\d{3})*\.\d{1,2}(?![\d.])", text))
    return None if commas == points else commas > points


def read_number_words(text: str) -> tuple[float, int] | None:
    """Return the number that the last words of `text` say, and where it begins; None if they say none."""
    words = list(re.finditer(r"[^\W\d_]+(?:[-’'][^\W\d_]+)*", text))
    for first in range(max(0, len(words) - _MOST_WORDS), len(words)):
        start = words[first].start()
        phrase = text[start:].strip()
        if not re.fullmatch(r"[^\W\d_]+(?:[-\s’']+[^\W\d_]+)*", phrase):
            continue
        if (number := _read_norwegian(phrase.casefold())) is not None:
            return number, start
        for language in _WORD_LANGUAGES:
            try:
                return float(text2num(phrase.casefold(), language)), start
            except (ValueError, KeyError, AttributeError):
                continue
    return None


def _read_norwegian(phrase: str) -> float | None:
    """Return the number of Norwegian words: "to tusen åtte hundre", "femtitre"; None if they are none."""
    total, current = 0, 0
    for word in phrase.replace("-", " ").split():
        if word in ("tusen", "hundre"):
            scale = 1000 if word == "tusen" else 100
            total, current = (total + (current or 1) * 1000, 0) if scale == 1000 else (total, (current or 1) * 100)
        elif word != "og":
            value = _read_norwegian_word(word)
            if value is None:
                return None
            current += value
    return float(total + current) if total + current else None


def _read_norwegian_word(word: str) -> int | None:
    if word in _NORWEGIAN:
        return _NORWEGIAN[word]
    for tens, value in _NORWEGIAN_TENS.items():
        if word.startswith(tens):
            return value + (_NORWEGIAN.get(word[len(tens) :], -1) if word != tens else 0)
    return None
