"""Whether a sentence brings numbers or names that stand nowhere in what was said. Pure, and slow for a long talk."""

import re
from collections.abc import Sequence
from typing import Final

from reveries.index.names import name_words
from reveries.knowledge.facts.numbers import FIGURES, read_figures, read_number_words
from reveries.projects.steering_words import STEERING_WORDS

_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_CLOCK = re.compile(r"\b(\d{1,2})[:.h](\d\d)\b")
_ANSWERS: Final = frozenset((*STEERING_WORDS.words("yes"), *STEERING_WORDS.words("no")))
_STEM_CHARS: Final = 5
"""Two forms of one word have so many letters in common."""


def adds_facts(sentence: str, texts: Sequence[str], question: str) -> bool:
    """Whether `sentence`, an answer to `question`, has a number or a name that stands nowhere in `texts`.

    A name is a word with a capital within it, or as a whole, unless a name that was told comes before ("Whitby, a town
    in Yorkshire").
    """
    text = "\n".join((*texts, question))
    return _adds_number(sentence, text) or _adds_name(sentence, text, question)


def _adds_number(sentence: str, text: str) -> bool:
    added = _numbers_in(sentence) - _numbers_in(text)
    return bool(added) and not added <= _number_words_in(text)


def _adds_name(sentence: str, text: str, question: str) -> bool:
    stems, asked, words = _stems(text), _stems(question), _WORD.findall(sentence)
    for place, word in enumerate(words):
        own = _stems(word)
        if not word[0].isupper() or word.isupper() or not own:
            continue
        if own <= stems and not own <= asked:
            return False
        if (place or (len(words) == 1 and word.casefold() not in _ANSWERS)) and not own <= stems:
            return True
    return False


def _numbers_in(text: str) -> set[float]:
    """Return the numbers in figures; hours and minutes apart."""
    figures = re.findall(FIGURES, _CLOCK.sub(r"\1 \2", text))
    return {value for figure in figures if (value := read_figures(figure)) is not None}


def _number_words_in(text: str) -> set[float]:
    """Return the numbers in words. A word takes half a millisecond, so each is read once."""
    words = {word.casefold() for word in _WORD.findall(text)}
    return {reading[0] for word in words if (reading := read_number_words(word)) is not None}


def _stems(text: str) -> set[str]:
    """Return the beginnings of the words, without accents."""
    return {word[:_STEM_CHARS] for word in name_words(text)}
