"""What a question about notes asks for: the kind of value, and the words that carry it. Pure."""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from typing import Any, Final

from reveries.index.terms import words_of
from reveries.knowledge.facts.subjects import fold
from reveries.knowledge.facts.vocabulary import VOCABULARY, alternation


class Asked(StrEnum):
    """The kind of value that answers a question."""

    DEADLINE = "deadline"
    HOUR = "hour"
    DAY = "day"
    DURATION = "duration"
    MASS = "mass"
    TEMPERATURE = "temperature"
    VOLUME = "volume"
    MONEY = "money"
    COLOUR = "colour"
    COUNT = "count"
    LENGTH = "length"
    EXTENT = "extent"
    """How big: a length, an area, a volume."""
    SIZE = "size"
    """How large or how much: a measure or a sum."""
    PERSON = "person"
    PLACE = "place"
    THING = "thing"
    """Anything that the words say."""


class Extreme(StrEnum):
    LEAST = "least"
    MOST = "most"


@dataclass(frozen=True, slots=True)
class AskedWord:
    """A word that carries a question."""

    text: str
    is_noun: bool
    """Whether it names something, as far as its article or its capital shows: those have to be met."""


@dataclass(frozen=True, slots=True)
class NoteQuestion:
    """A question as it is looked up."""

    asked: Asked
    words: tuple[AskedWord, ...]
    extreme: Extreme | None = None
    months: frozenset[int] = frozenset()
    """Within which a day has to be, where the question names any."""
    is_past: bool = False
    """Whether it asks about what has been."""


def _load() -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath("question_words.toml").read_text(encoding="utf-8"))


_RAW: Final = _load()
_ASKS: Final = {
    Asked(name): re.compile(rf"(?<![\w'’]){'(?:' + '|'.join(parts) + ')'}(?!\w)", re.IGNORECASE)
    for name, parts in _RAW["asks"].items()
}
_EXTREMES: Final = {
    extreme: re.compile(rf"(?<!\w)(?:{'|'.join(_RAW['values'][extreme.value])})(?!\w)", re.IGNORECASE)
    for extreme in Extreme
}
LIGHT_WORDS: Final[dict[str, frozenset[str]]] = {
    code: frozenset(map(fold, (*words, *VOCABULARY.languages[code]["stop"]))) for code, words in _RAW["light"].items()
}
"""By language: words that carry no question, and say nothing about what a line speaks of."""
_ARTICLES: Final[dict[str, frozenset[str]]] = {
    code: frozenset(map(fold, words)) for code, words in _RAW["articles"].items()
}
COLOURS: Final = re.compile(rf"(?<!\w){alternation(_RAW['values']['colours'])}(?!\w)", re.IGNORECASE)
_MONTH_CHARS: Final = 4
"""Names of months up to so long are other words as well, where they have no capital."""
TITLES: Final = frozenset(_RAW["values"]["titles"])
ANAPHORA: Final = re.compile(rf"\W*{alternation(_RAW['values']['anaphora'])}(?!\w)", re.IGNORECASE)
"""Begins a sentence about what the one before it speaks of."""
_PAST: Final = re.compile(rf"(?<!\w){alternation(_RAW['values']['past'])}(?!\w)", re.IGNORECASE)
PEOPLE: Final = frozenset(_RAW["values"]["people"])
_MEASURED: Final = (Asked.LENGTH, Asked.MASS, Asked.DURATION, Asked.TEMPERATURE, Asked.VOLUME)
DIMENSIONS: Final = {asked: frozenset({asked.value}) for asked in _MEASURED} | {
    Asked.EXTENT: frozenset({"length", "area", "volume"})
}
"""What a unit has to measure to answer."""


def read_question(question: str) -> NoteQuestion:
    """Return what a question asks for, and its words. Words of the asking itself are none of them, unless nothing else
    is left."""
    asked = next((kind for kind in Asked if kind in _ASKS and _ASKS[kind].search(question)), Asked.THING)
    match = _ASKS[asked].search(question) if asked in _ASKS else None
    opening = match.group() if match is not None else ""
    extreme = next((kind for kind, pattern in _EXTREMES.items() if pattern.search(question)), None)
    if asked is Asked.THING and extreme is not None:
        asked = Asked.SIZE
    rest = question
    for pattern in _EXTREMES.values():
        rest = pattern.sub(" ", rest)
    if asked is Asked.COLOUR:
        rest = _ASKS[asked].sub(" ", rest)
    consumed = {fold(word) for word in words_of(opening)} if _is_short(opening) else set()
    months = {
        word: VOCABULARY.months[word.casefold()]
        for word in re.findall(r"[^\W\d_]{3,}", question)
        if word.casefold() in VOCABULARY.months and (word[0].isupper() or len(word) > _MONTH_CHARS)
    }
    consumed |= {fold(word) for word in months}
    words = [word for word in _content_words(rest) if fold(word.text) not in consumed]
    return NoteQuestion(
        asked, tuple(words), extreme, frozenset(months.values()), is_past=_PAST.search(question) is not None
    )


def is_question(text: str) -> bool:
    """Whether words ask for something: with a question mark, or by a word of asking."""
    return "?" in text or "？" in text or any(pattern.match(text.strip(" ¿")) for pattern in _ASKS.values())


def _is_short(opening: str) -> bool:
    """Whether the words of the asking stand together: of "how much does the boat cost" the boat is none of them."""
    return len(opening.split()) <= 3


def _content_words(text: str) -> list[AskedWord]:
    parts = [
        (part, match.group()[:1].isupper() and match.start() > 0)
        for match in re.finditer(r"[^\W_]+(?:['’-][^\W_]+)*", text)
        for word in words_of(match.group().replace("-", " "))
        for part in re.split(r"['’]", word)
        if part
    ]
    language = _language_of([fold(part) for part, _ in parts])
    found: dict[str, AskedWord] = {}
    for place, (part, is_capital) in enumerate(parts):
        if len(part) > 1 and fold(part) not in LIGHT_WORDS[language]:
            is_noun = is_capital or (place > 0 and fold(parts[place - 1][0]) in _ARTICLES[language])
            found[part] = AskedWord(part, is_noun or (part in found and found[part].is_noun))
    return list(found.values())


def _language_of(words: Sequence[str]) -> str:
    """Return the language whose light words are most of `words`."""
    return max(LIGHT_WORDS, key=lambda code: sum(word in LIGHT_WORDS[code] for word in words))
