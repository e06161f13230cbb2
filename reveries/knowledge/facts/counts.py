"""Numbers of things that a text names, in figures and in words: "34 singers", "Teams: sixteen". Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from reveries.knowledge.facts.numbers import read_figures, read_number_words
from reveries.knowledge.facts.vocabulary import VOCABULARY

_WORD: Final = r"[^\W\d_]+(?:[-’'][^\W\d_]+)*"
_TOKEN: Final = re.compile(rf"\d[\d.,'’]*(?<![.,'’])|{_WORD}")
_FIGURES: Final = re.compile(r"\d{1,3}(?:[.,'’ ]\d{3})+|\d{1,6}")
_BEFORE: Final = re.compile(r"(?:^|[\s(\[>:=~≈→,;*|])$")
_LABELLED: Final = re.compile(r"^(?:\W|\d+[.)])*[^:*\d]{3,60}?\s*(?::|[.:]\*\*|\*\*|->|=|–|-)\s*(?:\w+\s+)?$")
"""Before a number with which a line says how many of its label there are."""
_END: Final = re.compile(r"\s*(?:$|[\n.,;:!?)(])")
_NUMBERED: Final = re.compile(rf"(?:{'|'.join(VOCABULARY.words('numbered'))})\.?\s*$", re.IGNORECASE)
_LEAST_NOUN_CHARS: Final = 3
_MOST_NUMBER_WORDS: Final = 5
_REACH_CHARS: Final = 70


@dataclass(frozen=True, slots=True)
class CountMention:
    """A number of things at its place in a text."""

    start: int
    end: int
    number: float


def find_counts(text: str, language: str = "") -> list[CountMention]:
    """Return the numbers of things in `text`, in its order. One thing is none: its word is the article as
    well. `language`: of the number words; empty for any."""
    found: list[CountMention] = []
    for match in _TOKEN.finditer(text):
        if found and match.start() < found[-1].end:
            continue
        mention = _read_figures(match, text) if match.group()[0].isdigit() else _read_words(match, text, language)
        if mention is not None and mention.number > 1 and _counts_something(mention, text):
            found.append(mention)
    return found


def _read_figures(match: re.Match[str], text: str) -> CountMention | None:
    is_free = _BEFORE.search(text[max(0, match.start() - 1) : match.start()]) is not None
    figures = _FIGURES.fullmatch(match.group())
    if not is_free or figures is None or _NUMBERED.search(text[max(0, match.start() - 12) : match.start()]):
        return None
    number = read_figures(match.group())
    is_year = number is not None and 1900 <= number <= 2100 and match.group().isdecimal()
    return None if number is None or is_year else CountMention(match.start(), match.end(), number)


def _read_words(match: re.Match[str], text: str, language: str) -> CountMention | None:
    if _number_of(match.group(), language) is None:
        return None
    end, number = match.end(), _number_of(match.group(), language)
    following = re.compile(rf"[ ]({_WORD})")
    for _ in range(_MOST_NUMBER_WORDS):
        behind = following.match(text, end)
        longer = _number_of(text[match.start() : behind.end()], language) if behind is not None else None
        if behind is None or (
            longer is None and behind[1].casefold() not in ("and", "und", "et", "y", "e", "en", "og")
        ):
            break
        if longer is None:
            beyond = following.match(text, behind.end())
            longer = _number_of(text[match.start() : beyond.end()], language) if beyond is not None else None
            if beyond is None or longer is None:
                break
            behind = beyond
        end, number = behind.end(), longer
    return CountMention(match.start(), end, number) if number is not None else None


@lru_cache(maxsize=1 << 14)
def _number_of(phrase: str, language: str) -> float | None:
    read = read_number_words(phrase, language)
    return read[0] if read is not None and read[1] == 0 else None


def _counts_something(mention: CountMention, text: str) -> bool:
    """Whether a noun follows, or the number is all that stands behind a label."""
    begin = text.rfind("\n", 0, mention.start) + 1
    before = text[max(begin, mention.start - _REACH_CHARS) : mention.start]
    if _END.match(text, mention.end):
        return _LABELLED.match(before) is not None
    noun = re.match(rf"\s+({_WORD})", text[mention.end : mention.end + _REACH_CHARS])
    return noun is not None and _is_noun_like(noun[1].casefold())


def _is_noun_like(word: str) -> bool:
    is_other = word in VOCABULARY.stop_words or word in VOCABULARY.months or word in VOCABULARY.weekdays
    is_unit = word in VOCABULARY.units or word in VOCABULARY.currencies
    return len(word) >= _LEAST_NOUN_CHARS and not (is_other or is_unit)


def nouns_behind(text: str) -> Iterator[str]:
    """Yield the first words of what follows a number: the thing that is counted is one of them."""
    for match in list(re.finditer(_WORD, re.split(r"[.;!?,(\n]", text)[0]))[:3]:
        if _is_noun_like(match.group().casefold()):
            yield match.group().casefold()
