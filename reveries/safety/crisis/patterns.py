"""The patterns of crisis detection, read from patterns.toml and compiled once; `rules` decides with them."""

import re
from collections.abc import Sequence
from enum import StrEnum
from importlib import resources
from typing import Final

import msgspec

_FRAGMENT: Final = re.compile(r"\{([a-z_]+)\}")
_LINE_BREAK: Final = re.compile(r"\n\s*")


class Urgency(StrEnum):
    """How directly the words say it."""

    EXPLICIT = "explicit"
    INDIRECT = "indirect"


class Context(StrEnum):
    """What makes the same words harmless, or keeps them from being harmless; patterns.toml says why, for each."""

    FICTION = "fiction"
    MATTER_OF_FACT = "matter_of_fact"
    JOKE = "joke"
    FIGURE = "figure"
    PAST = "past"
    WELL_AGAIN = "well_again"
    NOW = "now"
    STILL = "still"
    DENIED = "denied"
    DENIED_AFTER = "denied_after"
    OTHER_PERSON = "other_person"
    WRITER = "writer"


class StatementGroup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Statements of people in danger that belong together. `language` is an ISO 639-1 code."""

    name: str
    language: str
    urgency: Urgency
    why: str
    example: str
    patterns: tuple[str, ...]


class ContextWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The wordings of one context: `words` as whole words, `patterns` anywhere."""

    why: str
    example: str
    words: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()


class CrisisPatterns(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of patterns.toml."""

    fragments: dict[str, str]
    groups: tuple[StatementGroup, ...]
    contexts: dict[Context, ContextWords]

    def compile_english(self, urgency: Urgency) -> re.Pattern[str]:
        """Combine the English statements of `urgency` into one pattern."""
        return self.compile_statements(
            [group for group in self.groups if group.language == "en" and group.urgency is urgency]
        )

    def compile_other_languages(self) -> re.Pattern[str]:
        """Combine the statements in every language but English into one pattern."""
        return self.compile_statements([group for group in self.groups if group.language != "en"])

    def compile_statements(self, groups: Sequence[StatementGroup]) -> re.Pattern[str]:
        """Combine the patterns of `groups`, all English or all in other languages; one search is far faster than many.

        English patterns match at the beginning of a word or, with ^, of the text; others match anywhere.
        """
        patterns = [self._expand(pattern) for group in groups for pattern in group.patterns]
        if any(group.language != "en" for group in groups):
            return re.compile(_alternatives(patterns))
        within = _alternatives([pattern for pattern in patterns if pattern[0] != "^"])
        at_start = _alternatives([pattern for pattern in patterns if pattern[0] == "^"])
        return re.compile(rf"\b(?:{within})|{at_start}" if at_start else rf"\b(?:{within})")

    def compile_context(self, context: Context) -> re.Pattern[str]:
        """Combine the wordings of `context` into one pattern. Raises KeyError if the file has none."""
        wordings = self.contexts[context]
        words = [rf"\b(?:{'|'.join(map(self._expand, wordings.words))})\b"] if wordings.words else []
        return re.compile("|".join((*words, *map(self._expand, wordings.patterns))))

    def _expand(self, pattern: str) -> str:
        """Insert the fragments and remove the line breaks. Raises KeyError for an unknown fragment."""
        return _LINE_BREAK.sub("", _FRAGMENT.sub(lambda match: self.fragments[match[1]], pattern))


def load_crisis_patterns() -> CrisisPatterns:
    """Load the patterns that ship with the package. Raises msgspec.ValidationError for an unknown or missing key."""
    source = resources.files("reveries.safety.crisis").joinpath("patterns.toml").read_bytes()
    return msgspec.toml.decode(source, type=CrisisPatterns)


def _alternatives(patterns: Sequence[str]) -> str:
    return "|".join(f"(?:{pattern})" for pattern in patterns)
