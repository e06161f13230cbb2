"""What a text is about: its content words, and the concepts that they stand for in seven languages. Pure."""

import tomllib
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import Final

from reveries.index.terms import stem

_KEY_CHARS: Final = 6
"""Letters that tell one word from another in any language; the rest is mostly ending."""
_LEAST_PART_CHARS: Final = 4
"""Of the last part of a word that is written together: "Bodenplatte" is a plate."""
_ALIKE_CHARS: Final = 5
_MOST_ENDING_CHARS: Final = 3


def _load() -> tuple[Mapping[str, frozenset[int]], Mapping[str, frozenset[int]]]:
    """Return the concepts of each word, and of each beginning of a word that is long enough to tell."""
    raw = tomllib.loads(resources.files(__package__).joinpath("concepts.toml").read_text(encoding="utf-8"))
    whole: dict[str, set[int]] = {}
    begins: dict[str, set[int]] = {}
    for number, words in enumerate(raw["concepts"]):
        for word in map(fold, words.split()):
            whole.setdefault(word, set()).add(number)
            if len(word) >= _KEY_CHARS:
                begins.setdefault(word[:_KEY_CHARS], set()).add(number)
    return (
        {word: frozenset(numbers) for word, numbers in whole.items()},
        {begin: frozenset(numbers) for begin, numbers in begins.items()},
    )


@lru_cache(maxsize=1 << 16)
def fold(word: str) -> str:
    """Return a word in small letters without accents."""
    plain = unicodedata.normalize("NFD", word.casefold().replace("ß", "ss").replace("ø", "o").replace("œ", "oe"))
    return "".join(sign for sign in plain if not unicodedata.combining(sign))


_WHOLE, _BEGINS = _load()


@lru_cache(maxsize=1 << 14)
def concepts_of(word: str) -> frozenset[int]:
    """Return the concepts that a word stands for; of one that is written together, those of its last part."""
    plain = fold(word)
    if numbers := _WHOLE.get(plain) or _WHOLE.get(fold(stem(word))):
        return numbers
    if len(plain) >= _KEY_CHARS and (numbers := _BEGINS.get(plain[:_KEY_CHARS])):
        return numbers
    for start in range(2, len(plain) - _LEAST_PART_CHARS + 1):
        if numbers := _WHOLE.get(plain[start:]):
            return numbers
    return frozenset()


@lru_cache(maxsize=1 << 16)
def are_same_word(a: str, b: str) -> bool:
    """Whether two words are forms of one, or one begins or ends a word that is written together."""
    first, second = sorted((fold(stem(a)), fold(stem(b))), key=len)
    if first == second:
        return True
    if len(first) < _LEAST_PART_CHARS:
        return False
    if second.startswith(first):
        return len(second) - len(first) <= _MOST_ENDING_CHARS or len(min(a, b, key=len)) >= _ALIKE_CHARS
    is_part = len(min(a, b, key=len)) >= _ALIKE_CHARS and second.endswith(first)
    is_alike = first[:_ALIKE_CHARS] == second[:_ALIKE_CHARS] and len(second) - len(first) <= _MOST_ENDING_CHARS
    return is_part or is_alike
