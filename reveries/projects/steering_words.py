"""The words by which an owner steers projects, in seven languages, read once from `steering_words.toml`."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class SteeringWords:
    """All languages at once: an owner mixes them."""

    languages: Mapping[str, Mapping[str, Any]]

    def words(self, key: str) -> list[str]:
        """Return the words of `key` in all languages, without repetitions."""
        return list(dict.fromkeys(word for table in self.languages.values() for word in table[key]))

    @property
    def days(self) -> dict[str, int]:
        """Word -> days from today, also of words that in a longer text are as often something else: "morgen"."""
        return {word: offset for table in self.languages.values() for word, offset in table["days"]}

    @property
    def often(self) -> dict[str, str]:
        """Word -> `day`, `week`, `month`, `year`: "weekly"."""
        return {
            word: unit for table in self.languages.values() for unit, words in table["often"].items() for word in words
        }


def _load() -> SteeringWords:
    text = resources.files(__package__).joinpath("steering_words.toml").read_text(encoding="utf-8")
    return SteeringWords(tomllib.loads(text))


STEERING_WORDS: Final = _load()
