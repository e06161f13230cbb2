"""What a question about notes asks for: the kind of value, and the words that carry it. Pure."""

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from typing import Any, Final

from reveries.index.terms import words_of
from reveries.knowledge.facts.subjects import concepts_of, fold, is_action
from reveries.knowledge.facts.vocabulary import VOCABULARY, alternation


class Asked(StrEnum):
    """The kind of value that answers a question."""

    AGE = "age"
    SPEED = "speed"
    CODE = "code"
    """A number by which something is called, or opened."""
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
    SPAN = "span"
    """How long: a length or a duration."""
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
    is_modifier: bool = False
    """Whether it only tells more of the word that it stands beside: "cement" of a cement mixer."""


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
_HEAD_LAST: Final = ("en", "de", "nl", "nb")
"""Languages in which a noun stands behind what tells more of it."""
_MONTH_CHARS: Final = 4
"""Names of months up to so long are other words as well, where they have no capital."""
TITLES: Final = frozenset(_RAW["values"]["titles"])
ANAPHORA: Final = re.compile(rf"\W*{alternation(_RAW['values']['anaphora'])}(?!\w)", re.IGNORECASE)
"""Begins a sentence about what the one before it speaks of."""
_PAST: Final = {
    code: re.compile(rf"(?<!\w){alternation(words)}(?!\w)", re.IGNORECASE) for code, words in _RAW["past"].items()
}
PEOPLE: Final = frozenset(_RAW["values"]["people"])
ROLES: Final = frozenset(number for word in _RAW["values"]["roles"] for number in concepts_of(word))
"""Concepts of those whom a note calls by what they do."""
_WHEN: Final = rf"\d|{alternation([*VOCABULARY.months, *VOCABULARY.weekdays])}(?!\w)"
PLACED: Final = re.compile(rf"(?<!\w){alternation(_RAW['values']['placed'])}\s+(?!{_WHEN})\w", re.IGNORECASE)
"""Something is said to be somewhere."""
MAIL_HEADER: Final = re.compile(rf"^\W*{alternation(_RAW['values']['headers'])}\s*:", re.IGNORECASE)
FIRST_PERSON: Final = frozenset(_RAW["values"]["first_person"])
_MEASURED: Final = (Asked.LENGTH, Asked.MASS, Asked.DURATION, Asked.TEMPERATURE, Asked.VOLUME)
DIMENSIONS: Final = {asked: frozenset({asked.value}) for asked in _MEASURED} | {
    Asked.EXTENT: frozenset({"length", "area", "volume"}),
    Asked.SPAN: frozenset({"length", "duration"}),
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
    language = language_of(map(fold, words_of(question)))
    is_past = _PAST[language].search(question) is not None
    return NoteQuestion(asked, tuple(words), extreme, frozenset(months.values()), is_past=is_past)


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
    language = language_of(fold(part) for part, _ in parts)
    kept = [len(part) > 1 and fold(part) not in LIGHT_WORDS[language] for part, _ in parts]
    found: dict[str, AskedWord] = {}
    for place, (part, is_capital) in enumerate(parts):
        if kept[place]:
            before = parts[place - 1][0] if place else ""
            is_noun = is_capital or fold(before) in _ARTICLES[language] or _is_head(found.get(before), language)
            is_modifier = _is_modifier([word for word, _ in parts], kept, place, language)
            found[part] = AskedWord(part, is_noun or (part in found and found[part].is_noun), is_modifier)
    return list(found.values())


def _is_head(before: AskedWord | None, language: str) -> bool:
    """Whether a word is what the one before it tells more of."""
    return before is not None and before.is_noun and before.is_modifier and language in _HEAD_LAST


def _is_modifier(words: Sequence[str], kept: Sequence[bool], place: int, language: str) -> bool:
    """Whether a word stands beside the one that it tells more of: before it in Germanic languages, behind it in others;
    what is done stands for itself."""
    if is_action(words[place]):
        return False
    head = place + 1 if language in _HEAD_LAST else place - 1
    return 0 <= head < len(words) and kept[head] and not is_action(words[head])


def language_of(words: Iterable[str]) -> str:
    """Return the language whose light words are most of `words`, which are folded."""
    counted = list(words)
    return max(LIGHT_WORDS, key=lambda code: sum(word in LIGHT_WORDS[code] for word in counted))
