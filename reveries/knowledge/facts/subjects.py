"""What a text is about: its content words, and the concepts that they stand for in seven languages. Pure."""

import re
import tomllib
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import Final

from reveries.index.terms import stem

_LEAST_KEY_CHARS: Final = 5
"""Letters that tell one word from another in any language."""
_MOST_WORD_ENDING_CHARS: Final = 2
"""Of a word in the table: what is left without them is its stem."""
_LEAST_PART_CHARS: Final = 4
"""Of the last part of a word that is written together: "Bodenplatte" is a plate."""
_LEAST_FIRST_CHARS: Final = 3
_LEAST_NAME_CHARS: Final = 7
"""Up to here a word that begins like one of the table may be somebody's name."""
_JOINTS: Final = ("s", "es", "n", "en", "e")
"""Between the parts of a word that is written together."""
_ENDINGS: Final = ("ene", "en", "er", "et", "es", "e", "s", "n", "r", "i", "a", "o")
"""Of short words: what is left has to stand in the table."""
_ALIKE_CHARS: Final = 5
_MOST_ENDING_CHARS: Final = 3


def _load() -> tuple[Mapping[str, frozenset[int]], Mapping[str, frozenset[int]], int]:
    """Return the concepts of each word, and of each stem that is long enough to tell; and how many of the concepts, the
    first ones, are something that is done."""
    raw = tomllib.loads(resources.files(__package__).joinpath("concepts.toml").read_text(encoding="utf-8"))
    whole: dict[str, set[int]] = {}
    begins: dict[str, set[int]] = {}
    for number, words in enumerate([*raw["actions"], *raw["things"]]):
        for word in map(fold, words.split()):
            whole.setdefault(word, set()).add(number)
            for end in range(max(_LEAST_KEY_CHARS, len(word) - _MOST_WORD_ENDING_CHARS), len(word) + 1):
                begins.setdefault(word[:end], set()).add(number)
    return (
        {word: frozenset(numbers) for word, numbers in whole.items()},
        {begin: frozenset(numbers) for begin, numbers in begins.items()},
        len(raw["actions"]),
    )


@lru_cache(maxsize=1 << 16)
def fold(word: str) -> str:
    """Return a word in small letters without accents."""
    plain = unicodedata.normalize("NFD", word.casefold().replace("ß", "ss").replace("ø", "o").replace("œ", "oe"))
    return "".join(sign for sign in plain if not unicodedata.combining(sign))


_WHOLE, _BEGINS, _ACTIONS = _load()


@lru_cache(maxsize=1 << 14)
def concepts_of(word: str) -> frozenset[int]:
    """Return the concepts that a word stands for; of one that is written together, those of its last part."""
    plain = fold(word)
    if numbers := _look_up(plain) or _WHOLE.get(fold(stem(word))):
        return numbers
    return _split(plain)[1]


@lru_cache(maxsize=1 << 14)
def first_concepts_of(word: str) -> frozenset[int]:
    """Return the concepts of the first part of a word that is written together: "Umzugsfirma" is about moving."""
    return _split(fold(word))[0]


def is_listed(word: str) -> bool:
    """Whether a word stands in the table as it is, or is long enough to be a form of one that does."""
    plain = fold(word)
    return plain in _WHOLE or (len(plain) > _LEAST_NAME_CHARS and bool(_look_up(plain)))


def is_action(word: str) -> bool:
    """Whether a word only says what is done, as far as it is known."""
    concepts = concepts_of(word)
    return bool(concepts) and max(concepts) < _ACTIONS


def is_thing(word: str) -> bool:
    """Whether a word names something, as far as it is known."""
    concepts = concepts_of(word)
    return bool(concepts) and max(concepts) >= _ACTIONS


def _look_up(plain: str) -> frozenset[int]:
    """Return the concepts of a folded word that stands in the table, or differs from one that does in its ending."""
    if numbers := _WHOLE.get(plain):
        return numbers
    for end in range(len(plain), max(_LEAST_KEY_CHARS, len(plain) - _MOST_ENDING_CHARS) - 1, -1):
        if numbers := _BEGINS.get(plain[:end]):
            return numbers
    if len(plain) < _LEAST_KEY_CHARS + _MOST_WORD_ENDING_CHARS:
        for ending in _ENDINGS:
            if plain.endswith(ending) and (numbers := _WHOLE.get(plain.removesuffix(ending))):
                return numbers
    return frozenset()


def _split(plain: str) -> tuple[frozenset[int], frozenset[int]]:
    """Return the concepts of the first and of the last part of a folded word, if its last part is a word of the
    table."""
    for start in range(_LEAST_FIRST_CHARS, len(plain) - _LEAST_PART_CHARS + 1):
        part = plain[start:]
        if last := _look_up(part) if len(part) > _LEAST_KEY_CHARS else _WHOLE.get(part):
            first = plain[:start]
            joined = [first, *(first.removesuffix(joint) for joint in _JOINTS if first.endswith(joint))]
            firsts = (_WHOLE.get(part, frozenset[int]()) for part in joined if len(part) >= _LEAST_FIRST_CHARS)
            return next((numbers for numbers in firsts if numbers), frozenset()), last
    return frozenset(), frozenset()


_VOWEL_ENDING: Final = re.compile(r"(?:[aeiou]+[snr]?|[snr])$")


@lru_cache(maxsize=1 << 14)
def _stem_of(word: str) -> str:
    """Return a word without the ending that tells one from many: "cello", "celli"; "cabra", "cabras"."""
    return _VOWEL_ENDING.sub("", fold(word))


@lru_cache(maxsize=1 << 16)
def are_same_word(a: str, b: str) -> bool:
    """Whether two words are forms of one, or one begins or ends a word that is written together."""
    first, second = sorted((fold(stem(a)), fold(stem(b))), key=len)
    if first == second or (_stem_of(a) == _stem_of(b) and len(_stem_of(a)) >= _LEAST_PART_CHARS):
        return True
    if len(first) < _LEAST_PART_CHARS:
        return False
    if second.startswith(first):
        return len(second) - len(first) <= _MOST_ENDING_CHARS or len(min(a, b, key=len)) >= _ALIKE_CHARS
    is_part = len(min(a, b, key=len)) >= _ALIKE_CHARS and second.endswith(first)
    is_alike = first[:_ALIKE_CHARS] == second[:_ALIKE_CHARS] and len(second) - len(first) <= _MOST_ENDING_CHARS
    return is_part or is_alike


_SOUNDS: Final = (
    ("ph", "f"),
    ("qu", "k"),
    ("ck", "k"),
    ("th", "t"),
    ("x", "ks"),
    ("c", "k"),
    ("z", "s"),
    ("y", "i"),
    ("w", "v"),
)
_LEAST_COGNATE_CHARS: Final = 5
_COGNATE_BEGIN: Final = 0.6


@lru_cache(maxsize=1 << 14)
def _sound(word: str) -> str:
    """Return a word as it would be written if languages wrote alike."""
    plain = fold(word)
    for written, sound in _SOUNDS:
        plain = plain.replace(written, sound)
    return "".join(sign for place, sign in enumerate(plain) if not place or sign != plain[place - 1])


@lru_cache(maxsize=1 << 16)
def are_cognates(a: str, b: str) -> bool:
    """Whether two words look like one in two languages: they begin alike, for most of the longer one."""
    first, second = sorted((_sound(a), _sound(b)), key=len)
    alike = next((place for place, (x, y) in enumerate(zip(first, second, strict=False)) if x != y), len(first))
    return alike >= _LEAST_COGNATE_CHARS and alike >= _COGNATE_BEGIN * len(second)
