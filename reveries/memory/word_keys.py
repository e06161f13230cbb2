"""What the telling words of a text are compared by, in any language. Pure.

What is shorter than four letters says little, endings count for little, and scripts without blanks are compared by
pairs of signs. Ordinary English words are left out; other languages have no such list here.
"""

import itertools
import re
import unicodedata
from typing import Final

from reveries.index.terms import stem, stop_words, words_of

_SHORTEST_CHARS = 4
_KEY_CHARS = 6
"""So many letters tell a word from another; what follows is mostly ending."""
_WITHOUT_BLANKS: Final = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]+")


def word_keys(text: str) -> frozenset[str]:
    """The keys of `text`; none for a text without a telling word."""
    keys: set[str] = set()
    for run in _WITHOUT_BLANKS.findall(unicodedata.normalize("NFKC", text)):
        keys.update("".join(pair) for pair in itertools.pairwise(run))
    stops = stop_words()
    for word in words_of(_WITHOUT_BLANKS.sub(" ", text)):
        if word not in stops and (len(word) >= _SHORTEST_CHARS or any(char.isdigit() for char in word)):
            keys.add(stem(word)[:_KEY_CHARS])
    return frozenset(keys)
