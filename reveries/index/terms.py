"""Words and stems as the index compares them: lower case, without possessive and endings. Light on purpose: a stem only
has to be the same for the forms of one English word, and to leave every other language alone."""

import itertools
import re
import unicodedata
from functools import cache, lru_cache
from importlib import resources
from typing import Final

_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_CODE_BLOCK = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_VOWEL = re.compile(r"[aeiouy]")
_DOUBLE = re.compile(r"([bdfgmnprt])\1$")


def words_of(text: str) -> list[str]:
    """The words of `text` in lower case, without possessive 's; fenced code is left out."""
    plain = unicodedata.normalize("NFKC", without_code(text)).casefold().replace("\u2019", "'")
    return [word.removesuffix("'s").removesuffix("'") for word in _WORD.findall(plain)]


def without_code(text: str) -> str:
    """`text` without what stands between code fences."""
    return _CODE_BLOCK.sub(" ", text)


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """`word` (lower case) without its English endings."""
    if len(word) <= 3 or not word.isascii():
        return word
    word = _without_plural(word)
    for ending in ("ingly", "edly", "ing", "ed"):
        base = word.removesuffix(ending)
        if base != word and len(base) >= 3 and _VOWEL.search(base):
            return _tidy(base)
    if word.endswith("ly") and len(word) > 5:
        return _tidy(word[:-2])
    return _tidy(word)


def _without_plural(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _tidy(base: str) -> str:
    """One shape for "hope, hoping, hoped" and for "plan, planned", "happy, happily"."""
    base = _DOUBLE.sub(r"\1", base)
    if base.endswith("e") and len(base) > 3:
        return base[:-1]
    if base.endswith("y") and len(base) > 3:
        return base[:-1] + "i"
    return base


@cache
def stop_words() -> frozenset[str]:
    """Words that say nothing about what a text is about, question words among them."""
    return frozenset(resources.files(__package__).joinpath("stopwords.txt").read_text(encoding="utf-8").split())


def terms_of(text: str) -> list[str]:
    """The stems of `text` that say what it is about, in order, with repeats."""
    stops = stop_words()
    return [stem(word) for word in words_of(text) if word not in stops]


# --- keys that do without a language ---------------------------------------------------------------------------------

_SHORTEST_CHARS = 4
_KEY_CHARS = 6
"""So many letters tell a word from another; what follows is mostly ending."""
_WITHOUT_BLANKS: Final = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]+")


def word_keys(text: str) -> frozenset[str]:
    """What the informative words of `text` are compared by, in any language; empty for a text without one.

    Words of fewer than four letters and endings count for little, scripts without blanks are compared by pairs of
    signs. Ordinary English words are left out; other languages have no such list here.
    """
    keys: set[str] = set()
    for run in _WITHOUT_BLANKS.findall(unicodedata.normalize("NFKC", text)):
        keys.update("".join(pair) for pair in itertools.pairwise(run))
    stops = stop_words()
    for word in words_of(_WITHOUT_BLANKS.sub(" ", text)):
        if word not in stops and (len(word) >= _SHORTEST_CHARS or any(char.isdigit() for char in word)):
            keys.add(stem(word)[:_KEY_CHARS])
    return frozenset(keys)
