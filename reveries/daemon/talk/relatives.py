"""Reads whether an owner asks for a relative who was never mentioned: "What is the name of my sister?". Pure.

A small model takes a name that was said of somebody else, or of the owner, and no check of names notices it. Relatives
are few words in each language (`relatives.toml`), so here code can tell that nothing was said.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import resources
from itertools import takewhile
from typing import Final

from reveries.daemon.talk.personal_questions import LANGUAGES, is_question
from reveries.memory.text.extracts import sentences_of

_ENDING_CHARS: Final = 2
"""Of a word that tells: "brothers", "Bruders", "søsteren"."""
_ADJECTIVES: Final = 2
"""So many words may stand between "my" and the relative: "my dear late aunt"."""
_WORD: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_WHOSE: Final = frozenset(word for language in LANGUAGES for word in language.whose)


@dataclass(frozen=True, slots=True)
class Relative:
    """A kind of relative: the words that ask for one, and all words with which the owner may have told of one."""

    asks: frozenset[str]
    tells: tuple[str, ...]


def _load() -> tuple[Relative, ...]:
    text = resources.files(__package__).joinpath("relatives.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text).values()
    return tuple(Relative(frozenset(table["asks"]), (*table["asks"], *table["tells"])) for table in tables)


RELATIVES: Final = _load()


def asks_for_unmentioned_relative(question: str, told: Iterable[str]) -> bool:
    """Whether `question` is about a relative of the owner of whom none of the texts `told` says anything.

    "My sister's husband" asks for the sister. A question in `told` says nothing of whom it asks for.
    """
    asked = [relative for relative in RELATIVES for word in _owned_words(question) if word in relative.asks]
    tells = frozenset(word for relative in asked for word in relative.tells)
    return bool(tells) and not any(_tells(sentence, tells) for text in told for sentence in sentences_of(text))


def _owned_words(question: str) -> Iterator[str]:
    """Yield the words behind each "my": up to the relative, if one is there."""
    tokens = _words(question)
    asks = frozenset[str]().union(*(relative.asks for relative in RELATIVES))
    for place, word in enumerate(tokens):
        if word in _WHOSE:
            behind = tokens[place + 1 : place + 2 + _ADJECTIVES]
            adjectives = list(takewhile(lambda token: token not in asks, behind))
            yield from behind[len(adjectives) : len(adjectives) + 1]


def _tells(sentence: str, tells: frozenset[str]) -> bool:
    """Whether a sentence that is no question has one of `tells`, or one with an ending."""
    has_word = any(
        word[: max(0, len(word) - ending)] in tells for word in _words(sentence) for ending in range(_ENDING_CHARS + 1)
    )
    return has_word and not is_question(sentence)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
