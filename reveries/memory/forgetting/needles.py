"""Text matchers for an erasure: literal words, names, long quotes. Pure."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from reveries.index.terms import stem, stop_words
from reveries.memory.text.word_lists import common_words

QUOTE_WORDS = 8
"""This many consecutive words in common are taken as a quote, not chance."""
_LEAST_CONTENT_WORDS = 3
"""Minimum number of words in a quote that are not stop words."""
_LEAST_DISTINCTIVE_CHARS = 5
_FEW_WORDS = 24
"""Up to this many words are faster to search one by one than by splitting the text into words."""
_WORD = re.compile(r"\w+", re.UNICODE)
_BLANK = r"(?:\s|\\[nrt])+"
"""White space between words, also as escaped in JSON."""


class TextMatcher(Protocol):
    """Whether a text contains what is to be forgotten."""

    def __call__(self, text: str) -> bool: ...


def words_in(text: str) -> list[str]:
    """Return the case-folded words of `text`, as they are hashed and compared."""
    return _WORD.findall(text.lower() if text.isascii() else unicodedata.normalize("NFC", text).casefold())


class Sieve:
    """Fast pre-filter (about a microsecond per text). False only if a text certainly contains none of `words` (folded,
    as words) and none of `parts` (also within words); the few other texts need an exact check."""

    def __init__(self, words: Iterable[str] = (), parts: Iterable[str] = ()) -> None:
        self._words = frozenset(words)
        few = len(self._words) <= _FEW_WORDS
        self._parts = (*parts, *self._words) if few else tuple(parts)
        # A word may directly follow a blank that JSON escapes as two characters ("\\n").
        self._many = frozenset() if few else self._words | {blank + word for word in self._words for blank in "nrt"}

    def __call__(self, text: str) -> bool:
        if text.isascii():
            folded = text.lower()
        elif not unicodedata.is_normalized("NFC", text) or _has_odd_i(text):
            return True
        else:
            folded = text.casefold()
        for part in self._parts:
            if part in folded:
                return True
        return bool(self._many) and not self._many.isdisjoint(_WORD.findall(folded))


@dataclass(frozen=True)
class Needle:
    """Matches literal words (in any case, across any white space), names as whole words, and quotes."""

    words: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    quotes: frozenset[tuple[str, ...]] = field(default=frozenset(), repr=False)
    """Runs of QUOTE_WORDS folded words."""

    def __post_init__(self) -> None:
        parts = [*(_literal_form(text) for text in self.words), *(_whole_word(text) for text in self.names)]
        pattern = re.compile("|".join(parts), re.IGNORECASE) if parts else None
        object.__setattr__(self, "_pattern", pattern)
        object.__setattr__(self, "_sieve", self._sieve_of())

    @property
    def pattern(self) -> re.Pattern[str] | None:
        """The words and names as one expression; None when there are none."""
        pattern: re.Pattern[str] | None = self.__dict__["_pattern"]
        return pattern

    @property
    def is_empty(self) -> bool:
        return self.pattern is None and not self.quotes

    def _sieve_of(self) -> Sieve | None:
        """Build the pre-filter; None if a text to find has no words, or letters that case folding misses."""
        parts = [max(words_in(text), key=len, default="") for text in self.words]
        names = [max(words_in(text), key=len, default="") for text in self.names]
        if not all((*parts, *names)) or any(map(_has_odd_i, (*self.words, *self.names))):
            return None
        return Sieve({*names, *(max(run, key=len) for run in self.quotes)}, parts)

    def __call__(self, text: str) -> bool:
        sieve: Sieve | None = self.__dict__["_sieve"]
        return (sieve is None or sieve(text)) and self._is_in(text)

    def _is_in(self, text: str) -> bool:
        if self.pattern is not None and self.pattern.search(text):
            return True
        return bool(self.quotes) and not self.quotes.isdisjoint(word_runs(text, QUOTE_WORDS))

    def spans(self, text: str) -> set[tuple[str, ...]]:
        """Return the whole words that each match covers, folded."""
        if self.pattern is None:
            return set()
        spans = set[tuple[str, ...]]()
        for match in self.pattern.finditer(text):
            start, end = match.span()
            while start > 0 and _is_word_char(text[start - 1]):
                start -= 1
            while end < len(text) and _is_word_char(text[end]):
                end += 1
            if words := tuple(words_in(text[start:end])):
                spans.add(words)
        return spans


def word_runs(text: str, length: int) -> Iterable[tuple[str, ...]]:
    """Yield each run of `length` consecutive words of `text`."""
    words = words_in(text)
    return zip(*(words[place:] for place in range(length)), strict=False)


def quote_runs(texts: Iterable[str]) -> frozenset[tuple[str, ...]]:
    """Return the word runs by which a quote of one of `texts` is recognized elsewhere."""
    stops = stop_words()
    return frozenset(
        run
        for text in texts
        for run in word_runs(text, QUOTE_WORDS)
        if sum(word not in stops for word in run) >= _LEAST_CONTENT_WORDS
    )


def distinctive_words(texts: Iterable[str]) -> set[str]:
    """Return the words of `texts` that may occur only there: codes, numbers, and uncommon words. The caller checks
    whether other texts use them."""
    common_stems = common_words()
    words = {word for text in texts for word in words_in(text) if len(word) >= _LEAST_DISTINCTIVE_CHARS}
    return {word for word in words if word not in stop_words() and stem(word) not in common_stems}


def _literal_form(text: str) -> str:
    return _forms(text, "{}")


def _whole_word(text: str) -> str:
    # A word may directly follow a blank that JSON escapes as two characters.
    return _forms(text, r"(?:(?<!\w)|(?<=\\[nrt])){}(?!\w)")


def _forms(text: str, around: str) -> str:
    forms = dict.fromkeys(unicodedata.normalize(form, text.strip()) for form in ("NFC", "NFD"))
    return "|".join(around.replace("{}", _BLANK.join(map(_word_pattern, form.split()))) for form in forms)


def _word_pattern(word: str) -> str:
    """Return the pattern of a word, whose quotation marks may be escaped or typographic."""
    return "".join(
        r"(?:\\?['\"\u2018\u2019\u201c\u201d])" if char in "'\"\u2018\u2019\u201c\u201d" else re.escape(char)
        for char in word
    )


def _has_odd_i(text: str) -> bool:
    """Whether the text has a letter that a regular expression matches with "i" but case folding does not."""
    return "\u0130" in text or "\u0131" in text


def _is_word_char(char: str) -> bool:
    return char.isalnum() or char == "_"
