"""Upper estimate of the tokens in a text, for models without a tokenizer here.

A byte-level tokenizer never makes more tokens than the text has bytes. That bound is used for everything such
tokenizers have no words for: other scripts, letter sequences that are not words, digits, punctuation. Words of the
letters a to z are estimated closer: in English by what its common words take, in other languages and code at two
letters per token. Too low an estimate lets a call exceed the budget; too high a one only reserves more until the call
is settled.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from reveries.llm.base import ChatMessage

ENGLISH_LETTERS_PER_TOKEN = 4.0
OTHER_LETTERS_PER_TOKEN = 2.0
LONG_LETTERS_PER_TOKEN = 1.3
LONGEST_WORD_LETTERS = 16
"""A longer run of letters is a compound, an identifier, or not a word."""

ENGLISH_SHARE = 0.25
"""Share of common English words in a stretch: prose has 0.35 to 0.5, other languages below 0.1."""

STRETCH_WORDS = 48
_REMEMBERED_CHARS = 8_000
TOKENS_PER_MESSAGE = 8
"""The template's own tokens around a message: role, marks, line breaks."""

_COMMON = """
the be to of and a in that have i it for not on with he as you do at this but his by from they we say her
she or an will my one all would there their what so up out if about who get which go me when make can like
time no just him know take people into year your good some could them see other than then now look only come
its over think also back after use two how our work first well way even new want because any these give day
most us is are was were been has had did does said made more very much many where here why too may must
should
"""
_COMMON_WORDS = frozenset(_COMMON.split())
_WORDS = re.compile(r"[A-Za-z0-9]+")
_SPACES = re.compile(r"\s{2,}|[^\S ]|\s(?![A-Za-z])")
"""All white space except a single blank before a word, which tokenizers join with the word."""
_HAS_DIGIT = re.compile(r"[0-9]")
_LETTERS = re.compile(r"[A-Za-z]+")
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_VOWELS = re.compile(r"[aeiouyAEIOUY]")
_MANY_CONSONANTS = re.compile(r"[^aeiouyAEIOUY]{5,}")
_LEAST_VOWEL_SHARE = 0.2


def estimate_tokens(text: str) -> int:
    """Return an upper estimate of the tokens in `text`, at most its UTF-8 bytes; 0 for the empty text."""
    return _cached_estimate(text) if len(text) <= _REMEMBERED_CHARS else _estimate_text(text)


@lru_cache(maxsize=512)
def _cached_estimate(text: str) -> int:
    """Cache estimates: the parts of a prompt are counted several times a turn."""
    return _estimate_text(text)


def _estimate_text(text: str) -> int:
    size = len(text.encode("utf-8", "replace"))
    words = _WORDS.findall(text)
    spaces = text.count(" ") + text.count("\n") + text.count("\t") + text.count("\r")
    # Anything but words and white space counts by its bytes.
    count = float(size - spaces - sum(map(len, words)))
    count += sum(_space_tokens(space_run) for space_run in _SPACES.findall(text))
    for start in range(0, len(words), STRETCH_WORDS):
        stretch = words[start : start + STRETCH_WORDS]
        common = sum(word.lower() in _COMMON_WORDS for word in stretch)
        rate = ENGLISH_LETTERS_PER_TOKEN if common >= ENGLISH_SHARE * len(stretch) else OTHER_LETTERS_PER_TOKEN
        count += sum(_word_tokens(word, rate) for word in stretch)
    return min(size, -int(-count // 1))


def template_tokens(messages: Sequence[ChatMessage]) -> int:
    """Return what the chat template may add to `messages`, including the opening of the answer."""
    return TOKENS_PER_MESSAGE * (len(messages) + 1)


def _space_tokens(run: str) -> float:
    """Return the tokens of white space that is not joined with a word. Only runs of one character are always merged."""
    return 1.0 + len(run) / 4 if run == run[0] * len(run) else float(len(run))


def _word_tokens(word: str, letters_per_token: float) -> float:
    length = len(word)
    if word.lower() in _COMMON_WORDS:
        return 1.0
    if _HAS_DIGIT.search(word):
        return float(length) if length > LONGEST_WORD_LETTERS else _mixed_tokens(word)
    parts = _PARTS.findall(word)
    # Capitals may begin words within an identifier (getElement); scattered ones do not.
    if length < 3 * len(parts) or any(not _is_pronounceable(part) for part in parts):
        return float(length)
    if len(parts) > 1 or word.isupper():
        return sum(max(1.0, len(part) / OTHER_LETTERS_PER_TOKEN + 0.5) for part in parts)
    if length > LONGEST_WORD_LETTERS:
        return length / LONG_LETTERS_PER_TOKEN
    return max(1.0, length / letters_per_token + (0.25 if letters_per_token < ENGLISH_LETTERS_PER_TOKEN else 0.0))


def _mixed_tokens(word: str) -> float:
    letters = _LETTERS.findall(word)
    digits = len(word) - sum(map(len, letters))
    return digits + sum(_word_tokens(part, OTHER_LETTERS_PER_TOKEN) for part in letters)


def _is_pronounceable(part: str) -> bool:
    vowels = len(_VOWELS.findall(part))
    return vowels >= _LEAST_VOWEL_SHARE * len(part) and not _MANY_CONSONANTS.search(part)
