"""The words of all languages as tables and as parts of regular expressions, read once from `vocabulary.toml`."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from typing import Any, Final

from reveries.index.terms import words_of

KRONER: Final = "kr"
"""Stands for the code of a sum in kroner of which nothing says whose they are."""


@dataclass(frozen=True)
class Vocabulary:
    """The words by which facts are read, all languages at once."""

    languages: Mapping[str, Mapping[str, Any]]
    unit_tables: Mapping[str, Mapping[str, list[Any]]]
    currency_words: Mapping[str, list[str]]
    kroner_words: Mapping[str, Mapping[str, list[str]]]
    """Code -> the `words` and the `forms` of words that only the country with these kroner writes."""
    days_elsewhere: Mapping[str, list[list[str]]]
    """Names of `months` and `weekdays` in languages of which nothing else is read."""

    def words(self, key: str, *, skip: Iterable[str] = ()) -> list[str]:
        """Return the words of `key` in all languages, without repetitions."""
        lists = (table.get(key, []) for code, table in self.languages.items() if code not in skip)
        return list(dict.fromkeys(word for words in lists for word in words))

    def numbered(self, key: str) -> Mapping[str, int]:
        """Return word -> place in the list of `key`, from 1: names of months, of weekdays, ordinals."""
        return {
            word: place
            for table in (self.days_elsewhere, *self.languages.values())
            for place, words in enumerate(table.get(key, []), 1)
            for word in words
        }

    def clock_words(self, key: str) -> list[str]:
        """Return the words of the part `key` of a clock time, in all languages."""
        return list(dict.fromkeys(word for t in self.languages.values() for word in t["clock"].get(key, [])))

    @cached_property
    def months(self) -> Mapping[str, int]:
        return self.numbered("months")

    @cached_property
    def weekdays(self) -> Mapping[str, int]:
        """Word -> 1 (Monday) to 7."""
        return self.numbered("weekdays")

    @cached_property
    def ordinals(self) -> Mapping[str, int]:
        """Word -> 1 to 4; 5 is the last."""
        return self.numbered("ordinals")

    @cached_property
    def relative_days(self) -> Mapping[str, int]:
        return {word: offset for table in self.languages.values() for word, offset in table["days"]}

    @cached_property
    def stop_words(self) -> frozenset[str]:
        return frozenset(self.words("stop"))

    @cached_property
    def units(self) -> Mapping[str, tuple[str, str]]:
        """Word -> unit and dimension."""
        return {
            word: (unit, dimension)
            for dimension, table in self.unit_tables.items()
            for unit, (_, *words) in table.items()
            for word in words
        }

    @cached_property
    def factors(self) -> Mapping[str, float]:
        """Unit -> factor to the base of its dimension."""
        return {unit: entry[0] for table in self.unit_tables.values() for unit, entry in table.items()}

    @cached_property
    def currencies(self) -> Mapping[str, str]:
        """Word -> ISO 4217 code; `KRONER` where it may be that of several countries."""
        return {word: code for code, words in self.currency_words.items() for word in words}

    @cached_property
    def duration_units(self) -> Mapping[str, str]:
        """Word for days, weeks or months -> `day`, `week`, `month`."""
        return {
            word: unit for table in self.languages.values() for unit, words in table["units"].items() for word in words
        }


def alternation(words: Iterable[str]) -> str:
    """Return a group that matches any of `words`, the longest first; blanks match any blank."""
    ordered = sorted(set(words), key=lambda word: (-len(word), word))
    return "(?:" + "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in ordered) + ")"


def pattern_of(phrases: Iterable[str]) -> str:
    """Return a group that matches any of `phrases`, in which `\\w+` stands for any word."""
    return "(?:" + "|".join(phrase.replace(" ", r"\s+") for phrase in sorted(set(phrases), key=len, reverse=True)) + ")"


def _load() -> Vocabulary:
    raw = tomllib.loads(resources.files(__package__).joinpath("vocabulary.toml").read_text(encoding="utf-8"))
    units, currencies, kroner = raw.pop("units"), raw.pop("currencies"), raw.pop("kroner")
    days_elsewhere = raw.pop("other_languages")
    return Vocabulary(raw, units, currencies, kroner, days_elsewhere)


VOCABULARY: Final = _load()


def language_of(text: str, *, at_least: str = "en") -> str:
    """Return the language whose small words are most of a text; `at_least` if no other has more of them."""
    words = Counter(words_of(text))

    def rank(code: str) -> tuple[int, bool]:
        return sum(words[word] for word in VOCABULARY.languages[code]["stop"]), code == at_least

    return max(VOCABULARY.languages, key=rank)
