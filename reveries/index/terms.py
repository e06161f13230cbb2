"""Words and stems as the index compares them: lower case, without possessives and endings. A light stemmer on purpose:
it only has to map the forms of one English word to one stem, and must leave other languages alone."""

import itertools
import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib import resources
from typing import Final

_MARKS = (
    "\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0971-\u0dff"
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd\u102b-\u103e\u1056-\u1059\u17b4-\u17d3"
)
"""Vowel signs and accents, which Python's regular expressions do not count as letters."""
_WORD = re.compile(rf"(?:[^\W_]|[{_MARKS}])+(?:['\u2019](?:[^\W_]|[{_MARKS}])+)*")
_UNSPACED = re.compile(
    r"(?P<ideographs>[\u3005\u3007\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+|[\uac00-\ud7af]+)"
    r"|(?P<syllables>[\u3041-\u309f]+|[\u30a0-\u30ff]+|[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+)"
)
"""A run of one script that is written without spaces between words; Korean has spaces, but joins particles to its
words."""
TERMS_RULE = 2
"""The number of the rules below. It grows when they change, because stored indexes hold the terms of their time."""
_CODE_BLOCK = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_VOWEL = re.compile(r"[aeiouy]")
_DOUBLE = re.compile(r"([bdfgmnprt])\1$")


def words_of(text: str) -> list[str]:
    """Return the words of `text` in lower case, without possessive 's and without fenced code. What is written without
    spaces is returned in overlapping pairs of characters; Han and Hangul characters also alone."""
    plain = unicodedata.normalize("NFKC", strip_code(text)).casefold().replace("\u2019", "'")
    words = [word.removesuffix("'s").removesuffix("'") for word in _WORD.findall(plain)]
    if plain.isascii() or not _UNSPACED.search(plain):
        return words
    return [part for word in words for part in _split_unspaced(word)]


def _split_unspaced(word: str) -> Iterator[str]:
    """Yield `word`, with the runs in it that have no spaces cut into pairs of characters."""
    end = 0
    for run in _UNSPACED.finditer(word):
        if run.start() > end:
            yield word[end : run.start()]
        end = run.end()
        characters = run.group()
        yield from ("".join(pair) for pair in itertools.pairwise(characters))
        if run["ideographs"]:
            yield from characters
        # A single syllable between other scripts is a particle or an ending.
        elif len(characters) == len(word) == 1:
            yield characters
    if end < len(word):
        yield word[end:]


def is_unspaced(word: str) -> bool:
    """Whether `word` is a part of text that is written without spaces."""
    return not word.isascii() and _UNSPACED.fullmatch(word) is not None


def strip_code(text: str) -> str:
    """Return `text` without fenced code."""
    return _CODE_BLOCK.sub(" ", text)


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return `word` (lower case) without its English endings."""
    if len(word) <= 3 or not word.isascii():
        return word
    word = _strip_plural(word)
    for ending in ("ingly", "edly", "ing", "ed"):
        base = word.removesuffix(ending)
        if base != word and len(base) >= 3 and _VOWEL.search(base):
            return _normalise_base(base)
    if word.endswith("ly") and len(word) > 5:
        return _normalise_base(word[:-2])
    return _normalise_base(word)


def _strip_plural(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _normalise_base(base: str) -> str:
    """Give "hope, hoping, hoped" one form, and likewise "plan, planned" and "happy, happily"."""
    base = _DOUBLE.sub(r"\1", base)
    if base.endswith("e") and len(base) > 3:
        return base[:-1]
    if base.endswith("y") and len(base) > 3:
        return base[:-1] + "i"
    return base


@cache
def stop_words() -> frozenset[str]:
    """Return the words that carry no content, including question words."""
    return frozenset(resources.files(__package__).joinpath("stopwords.txt").read_text(encoding="utf-8").split())


def terms_of(text: str) -> list[str]:
    """Return the stems of the content words of `text`, in order, with repeats."""
    stops = stop_words()
    return [stem(word) for word in words_of(text) if word not in stops]


# --- language-independent keys ---------------------------------------------------------------------------------------

_SHORTEST_CHARS = 4
_KEY_CHARS = 6
"""Letters that tell one word from another; the rest is mostly ending."""
_WITHOUT_BLANKS: Final = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]+")


def word_keys(text: str) -> frozenset[str]:
    """Return the keys by which the content words of `text` are compared, in any language; may be empty.

    Words of fewer than four letters are left out and endings are cut; scripts without spaces are compared by pairs of
    characters. English stop words are left out; for other languages there is no such list.
    """
    keys: set[str] = set()
    for run in _WITHOUT_BLANKS.findall(unicodedata.normalize("NFKC", text)):
        keys.update("".join(pair) for pair in itertools.pairwise(run))
    stops = stop_words()
    for word in words_of(_WITHOUT_BLANKS.sub(" ", text)):
        if word not in stops and (len(word) >= _SHORTEST_CHARS or any(char.isdigit() for char in word)):
            keys.add(stem(word)[:_KEY_CHARS])
    return frozenset(keys)
