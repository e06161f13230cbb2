"""Whether English words are in a plausible order (RA-38). Pure, once its table is loaded.

Each word belongs to one of some hundred classes: a frequent word is its own class, any other is classified by its
ending. The table has, for two adjacent classes, how much more often they occur in text than by chance (pointwise mutual
information). Shuffled words lose that; a text in another language has hardly any of these words and is not judged.
`bench/word_order.py` generated the table.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Final

import numpy as np
from numpy.typing import NDArray

TOKEN: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+|[^\w\s]")
OTHER: Final = "-"
CAPITAL: Final = "^"
_NAME: Final = "^-"
_NUMBER: Final = "#"
_SIGN: Final = "%"
_KNOWN_SIGNS: Final = '.,;:!?()"'
_CODE_SIGNS: Final = frozenset("{}[]<>_=/\\|+*#^~")
_ENDINGS: Final = ("ing", "ed", "ly", "tion", "ness", "ment", "er", "al", "ive", "ous", "able", "y", "s")
_STEM_CHARS: Final = 3
SCALE: Final = 30.0
"""The table has integers in units of 1/30 nat."""
_SHRINK_PAIRS: Final = 15
"""Shrinkage for short texts: this many neutral pairs are added."""
_KNOWN_SHARES: Final = (0.1, 0.25)
"""Share of frequent English words: below the first value it is another language, above the second English."""
_SIGN_SHARES: Final = (0.03, 0.1)
"""Share of signs that are rare in prose: below the first value it is prose, above the second code."""


@dataclass(frozen=True, slots=True)
class WordOrder:
    """The table: `pairs[a, b]` for class a followed by class b."""

    places: Mapping[str, int]
    pairs: NDArray[np.int8]

    def disorder(self, text: str) -> float:
        """Return how much less likely than by chance the adjacent words in `text` are: about -1 for prose, above 0 for
        shuffled words, 0 if it cannot be judged.
        """
        tokens = TOKEN.findall(text.replace("’", "'"))
        names = [class_of(token, self.places) for token in tokens]
        if (certainty := _certainty_of_prose(tokens, names)) == 0.0:
            return 0.0
        classes = np.fromiter((self._place_of(name) for name in names), np.intp, len(names))
        total = float(self.pairs[classes[:-1], classes[1:]].sum()) / SCALE
        return -certainty * total / (len(classes) - 1 + _SHRINK_PAIRS)

    def _place_of(self, name: str) -> int:
        place = self.places.get(name)
        if place is None:
            place = self.places[_NAME if name.startswith(CAPITAL) else OTHER]
        return place


def class_of(token: str, frequent: Mapping[str, int]) -> str:
    """Return the class of one token; a capitalised frequent word has a class of its own."""
    if not token[0].isalpha():
        return _NUMBER if token.isdecimal() else token if token in _KNOWN_SIGNS else _SIGN
    word = token.lower()
    is_capital = token[0].isupper() and word[0] != "i"
    if word in frequent:
        return CAPITAL + word if is_capital else word
    if token[0].isupper():
        return _NAME
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) >= len(ending) + _STEM_CHARS:
            return OTHER + ending
    return OTHER


def load_word_order() -> WordOrder:
    """Load the table that ships with the package. Reads a file: do not call it on the event loop."""
    with resources.files("reveries.safety").joinpath("word_order.npz").open("rb") as file:
        loaded = np.load(file)
        classes, pairs = str(loaded["classes"]), loaded["pairs"]
    return WordOrder({name: place for place, name in enumerate(classes.split())}, pairs)


def _certainty_of_prose(tokens: Sequence[str], names: Sequence[str]) -> float:
    """Return how certain it is that `tokens` are English prose, 0 to 1."""
    words = sum(token[0].isalpha() for token in tokens)
    if not words:
        return 0.0
    known_share = sum(name[0].isalpha() or (name[0] == CAPITAL and name != _NAME) for name in names) / words
    signs = sum(token in _CODE_SIGNS for token in tokens) / len(tokens)
    least, most = _KNOWN_SHARES
    few, many = _SIGN_SHARES
    return min(1.0, max(0.0, (known_share - least) / (most - least))) * min(
        1.0, max(0.0, (many - signs) / (many - few))
    )
