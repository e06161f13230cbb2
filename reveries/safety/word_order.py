"""Whether English words stand in an order that English has (RA-38). Pure, once its table is loaded.

Each word is one of some hundred classes: a frequent word is its own, any other goes by its ending. The table holds, for
two classes side by side, how much oftener they are met in text than by chance (pointwise mutual information). Shuffled
words lose that; another language has hardly any of these words, and then nothing is said. `bench/word_order.py` made
the table.
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
"""The table holds whole numbers: thirtieths of a nat."""
_SHRINK_PAIRS: Final = 15
"""A short text says little: as if so many pairs more had said nothing."""
_KNOWN_SHARES: Final = (0.1, 0.25)
"""Of the words, how many are frequent English ones: below the first another language, above the second English."""
_SIGN_SHARES: Final = (0.03, 0.1)
"""Of the tokens, how many are signs that prose hardly has: below the first it is prose, above the second code."""


@dataclass(frozen=True, slots=True)
class WordOrder:
    """The table: `pairs[a, b]` for class a followed by class b."""

    places: Mapping[str, int]
    pairs: NDArray[np.int8]

    def disorder(self, text: str) -> float:
        """How much less likely than by chance the neighbours in `text` are: about -1 in prose, above 0 in a jumble of
        words; 0 where nothing can be said.
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


def class_of(token: str, known: Mapping[str, int]) -> str:
    """The class of one token; a frequent word that begins with a capital is another class than in small letters."""
    if not token[0].isalpha():
        return _NUMBER if token.isdecimal() else token if token in _KNOWN_SIGNS else _SIGN
    word = token.lower()
    is_capital = token[0].isupper() and word[0] != "i"
    if word in known:
        return CAPITAL + word if is_capital else word
    if token[0].isupper():
        return _NAME
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) >= len(ending) + _STEM_CHARS:
            return OTHER + ending
    return OTHER


def load_word_order() -> WordOrder:
    """The table that ships with the package. Reads a file: not on the loop."""
    with resources.files("reveries.safety").joinpath("word_order.npz").open("rb") as file:
        loaded = np.load(file)
        classes, pairs = str(loaded["classes"]), loaded["pairs"]
    return WordOrder({name: place for place, name in enumerate(classes.split())}, pairs)


def _certainty_of_prose(tokens: Sequence[str], names: Sequence[str]) -> float:
    """How far `tokens` are English prose, 0 to 1."""
    words = sum(token[0].isalpha() for token in tokens)
    if not words:
        return 0.0
    known = sum(name[0].isalpha() or (name[0] == CAPITAL and name != _NAME) for name in names) / words
    signs = sum(token in _CODE_SIGNS for token in tokens) / len(tokens)
    least, most = _KNOWN_SHARES
    few, many = _SIGN_SHARES
    return min(1.0, max(0.0, (known - least) / (most - least))) * min(1.0, max(0.0, (many - signs) / (many - few)))
