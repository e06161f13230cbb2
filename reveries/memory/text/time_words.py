"""The words for times in English, German, French, Spanish, Italian and Dutch, as tags that the grammar of
`time_expressions` reads. Pure.

A line of languages/CODE.txt is `TAG value: phrase | phrase`. Phrases are compared without case and accents; the longest
wins, and of two equal ones the first. Tags:

    M m  month; m: also another word or a name, so it needs a day, a year or a preposition
    W w  weekday; w: abbreviated, needs the same
    U    unit: d, w, m, y, h, min, and how many         K  weekend
    R N  day, counted from today; N: with the night     P  part of a day; 1: the night
    r    tomorrow, or "morning" after a day
    L T X  last, this, next                             B  before last
    W *  weekdays, more than one                        n  every
    A G  ago, after or before the number                b f  before, after
    s u e h  since, until, between, and                 q t i  of, the, in
    S    season by its first month                      H  feast, named in `calendar_days`
    E F Z  beginning, middle, end                       o c a  ordinal, number, article
    v    a word that may follow a bare day of the month ("on the 14th, what did I ...")
    Q    this time, of another year
    -    says nothing about the subject of a question
"""

import re
import unicodedata
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from itertools import pairwise

from reveries.index.terms import stop_words

_WORD = re.compile(r"[^\W\d_]+")
_CODES = ("en", "de", "fr", "es", "it", "nl")


@dataclass(frozen=True, slots=True)
class Language:
    """The words of one language."""

    code: str
    phrases: dict[tuple[str, ...], tuple[str, str]] = field(repr=False)
    """Tag and value by the words of a phrase."""
    plain: frozenset[str] = field(repr=False)
    """Words that tell the language, and name no subject."""
    longest: dict[str, int] = field(repr=False)
    """The most words of a phrase, by its first word."""


def bare_word(word: str) -> str:
    """Return `word` without case and accents."""
    plain = unicodedata.normalize("NFKD", word.casefold())
    return "".join(character for character in plain if not unicodedata.combining(character))


@cache
def languages() -> tuple[Language, ...]:
    """Return all languages, English first."""
    folder = resources.files(__package__).joinpath("languages")
    return tuple(_read_language(code, folder.joinpath(f"{code}.txt").read_text(encoding="utf-8")) for code in _CODES)


def _read_language(code: str, text: str) -> Language:
    phrases: dict[tuple[str, ...], tuple[str, str]] = {}
    plain = set(map(bare_word, stop_words())) if code == "en" else set[str]()
    for line in text.splitlines():
        head, _, listed = line.partition(":")
        tag, _, value = head.strip().partition(" ")
        for phrase in listed.split("|"):
            words = tuple(bare_word(phrase.replace("'", " ").replace("-", " ")).split())
            if tag in "-v":
                plain.update(words)
            if tag != "-":
                phrases.setdefault(words, (tag, value))
    longest: dict[str, int] = {}
    for words in phrases:
        longest[words[0]] = max(len(words), longest.get(words[0], 0))
    return Language(code, phrases, frozenset(plain), longest)


@cache
def _numbers(code: str, tag: str) -> dict[tuple[str, ...], int]:
    phrases = next(language.phrases for language in languages() if language.code == code)
    return {words: int(value) for words, (phrase_tag, value) in phrases.items() if phrase_tag == tag}


def numbers_in_words(text: str, tags: str = "oc") -> set[int]:
    """Return the numbers that `text` says in words: ordinals (o), others (c), or both. In the languages of which it has
    most other words: "quince" is a fruit or, in Spanish, fifteen."""
    words = [bare_word(word) for word in _WORD.findall(text)]
    phrases = {*((word,) for word in words), *pairwise(words)}
    plain = {language.code: sum(word in language.plain for word in words) for language in languages()}
    codes = [code for code, count in plain.items() if count == max(plain.values())]
    tables = [_numbers(code, tag) for code in codes for tag in tags]
    return {table[phrase] for table in tables for phrase in phrases if phrase in table}
