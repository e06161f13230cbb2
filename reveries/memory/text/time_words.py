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
def _numbers(tag: str) -> dict[tuple[str, ...], int]:
    return {
        words: int(value)
        for language in languages()
        for words, (phrase_tag, value) in language.phrases.items()
        if phrase_tag == tag
    }


def numbers_in_words(text: str, tags: str = "oc") -> set[int]:
    """Return the numbers that `text` says in words, in any of the languages: ordinals (o), others (c), or both."""
    words = [bare_word(word) for word in _WORD.findall(text)]
    phrases = {*((word,) for word in words), *pairwise(words)}
    return {_numbers(tag)[phrase] for tag in tags for phrase in phrases if phrase in _numbers(tag)}
