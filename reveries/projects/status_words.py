"""The words by which an owner asks how a project stands, and those of the answer: `status_words.toml`, read once."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from importlib import resources
from typing import Any, Final

from reveries.knowledge.facts.vocabulary import VOCABULARY, alternation


@dataclass(frozen=True)
class StatusLanguage:
    """One language."""

    code: str
    cues: Mapping[str, re.Pattern[str]]
    """Kind of question -> what makes a question this one, in the order in which they are tried."""
    periods: Mapping[str, re.Pattern[str]]
    small: frozenset[str]
    greetings: frozenset[str]
    openers: frozenset[str]
    phrases: Mapping[str, str]

    def say(self, key: str, **values: object) -> str:
        """Return a phrase of the answer with `values` filled in. Raises KeyError."""
        return self.phrases[key].format(**values)

    def say_day(self, day: date) -> str:
        """Return a day as it is written in this language: Wednesday 9 December 2026."""
        table = VOCABULARY.languages[self.code]
        weekday, month = str(table["weekdays"][day.weekday()][0]), str(table["months"][day.month - 1][0])
        if self.code == "en":
            weekday, month = weekday.capitalize(), month.capitalize()
        return self.phrases["day"].format(
            weekday=weekday, Weekday=weekday.capitalize(), day=day.day, month=month, Month=month.capitalize(),
            year=day.year,
        )  # fmt: skip


def _load() -> dict[str, StatusLanguage]:
    raw = tomllib.loads(resources.files(__package__).joinpath("status_words.toml").read_text(encoding="utf-8"))
    return {code: _read_language(code, table) for code, table in raw.items()}


def _read_language(code: str, table: Mapping[str, Any]) -> StatusLanguage:
    return StatusLanguage(
        code,
        {kind: _pattern(phrases) for kind, phrases in table["cues"].items()},
        {period: _pattern(phrases) for period, phrases in table["periods"].items()},
        frozenset(table["small"]),
        frozenset(table["greetings"]),
        frozenset(table["openers"]),
        table["say"],
    )


def _pattern(phrases: list[str]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){alternation(phrases)}(?!\w)", re.IGNORECASE)


STATUS_LANGUAGES: Final = _load()
ENGLISH: Final = STATUS_LANGUAGES["en"]
