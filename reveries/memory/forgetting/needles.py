"""Text matchers for an erasure: words as they stand, names, long quotes. Pure."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from reveries.index.terms import stem, stop_words
from reveries.memory.text.word_lists import common_words

QUOTE_WORDS = 8
"""So many words in a row that stand in two texts are one quote, not chance."""
_LEAST_TELLING = 3
"""Of a quote's words, that many must say something."""
_LEAST_MARK_CHARS = 5
_FEW_WORDS = 24
"""So many are looked for one by one more quickly than a text is taken into words."""
_WORD = re.compile(r"\w+", re.UNICODE)
_BLANK = r"(?:\s|\\[nrt])+"
"""Between words: blanks, also as JSON writes them."""


class TextMatcher(Protocol):
    """Whether a text holds what is to be forgotten."""

    def __call__(self, text: str) -> bool: ...


def words_in(text: str) -> list[str]:
    """The words of `text`, folded: what is hashed and compared."""
    return _WORD.findall(text.lower() if text.isascii() else unicodedata.normalize("NFC", text).casefold())


class Sieve:
    """Tells in a microsecond that a text holds none of `words` (folded), as a word or `parts` as a part of one: of a
    hundred thousand texts a few are left to be looked at closely. It never says so of one that does."""

    def __init__(self, words: Iterable[str] = (), parts: Iterable[str] = ()) -> None:
        self._words = frozenset(words)
        few = len(self._words) <= _FEW_WORDS
        self._parts = (*parts, *self._words) if few else tuple(parts)
        # A word may begin right after a blank that JSON wrote as two characters.
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
    """Words to be found as they stand (in any case, over any blanks), names to be found as whole words, and quotes."""

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
        found: re.Pattern[str] | None = self.__dict__["_pattern"]
        return found

    @property
    def is_empty(self) -> bool:
        return self.pattern is None and not self.quotes

    def _sieve_of(self) -> Sieve | None:
        """None where there is a text to be found that has no word, or one that folding does not find."""
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
        """The whole words that each place covers where it is found, folded."""
        if self.pattern is None:
            return set()
        found = set[tuple[str, ...]]()
        for match in self.pattern.finditer(text):
            start, end = match.span()
            while start > 0 and _is_word_char(text[start - 1]):
                start -= 1
            while end < len(text) and _is_word_char(text[end]):
                end += 1
            if words := tuple(words_in(text[start:end])):
                found.add(words)
        return found


def word_runs(text: str, length: int) -> Iterable[tuple[str, ...]]:
    """Each `length` words of `text` in a row."""
    words = words_in(text)
    return zip(*(words[place:] for place in range(length)), strict=False)


def quotes_of(texts: Iterable[str]) -> frozenset[tuple[str, ...]]:
    """The runs by which a quote of one of `texts` is known elsewhere."""
    stops = stop_words()
    return frozenset(
        run
        for text in texts
        for run in word_runs(text, QUOTE_WORDS)
        if sum(word not in stops for word in run) >= _LEAST_TELLING
    )


def marks_of(texts: Iterable[str]) -> set[str]:
    """The words of `texts` that might be theirs alone: codes, numbers, and words that no list of ours knows. Whether
    they stand elsewhere is for the caller to see."""
    known = common_words()
    words = {word for text in texts for word in words_in(text) if len(word) >= _LEAST_MARK_CHARS}
    return {word for word in words if word not in stop_words() and stem(word) not in known}


def _literal_form(text: str) -> str:
    return _forms(text, "{}")


def _whole_word(text: str) -> str:
    # A word may begin right after a blank that JSON wrote as two characters.
    return _forms(text, r"(?:(?<!\w)|(?<=\\[nrt])){}(?!\w)")


def _forms(text: str, around: str) -> str:
    forms = dict.fromkeys(unicodedata.normalize(form, text.strip()) for form in ("NFC", "NFD"))
    return "|".join(around.replace("{}", _BLANK.join(map(_word_pattern, form.split()))) for form in forms)


def _word_pattern(word: str) -> str:
    """A word; its quotation marks as JSON or a typesetter may have written them."""
    return "".join(
        r"(?:\\?['\"\u2018\u2019\u201c\u201d])" if char in "'\"\u2018\u2019\u201c\u201d" else re.escape(char)
        for char in word
    )


def _has_odd_i(text: str) -> bool:
    """Whether it has one of the letters that an expression takes for "i", and folding does not."""
    return "\u0130" in text or "\u0131" in text


def _is_word_char(char: str) -> bool:
    return char.isalnum() or char == "_"
