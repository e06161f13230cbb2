"""Whether a sentence brings numbers or names that stand nowhere in what was said. Pure, and slow for a long talk."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reveries.index.names import name_words
from reveries.knowledge.facts.numbers import FIGURES, read_figures, read_number_words
from reveries.memory.text.extracts import sentences_of
from reveries.memory.text.time_words import numbers_in_words
from reveries.projects.steering_words import STEERING_WORDS

_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_CLOCK = re.compile(r"\b(\d{1,2})[:.h](\d\d)\b")
_AFTERNOON = re.compile(r"\b(\d{1,2})(?:[:.]\d\d)?\s?p\.?m\b", re.IGNORECASE)
_LIST_NUMBER = re.compile(r"^\s*\d{1,2}[.)]\s", re.MULTILINE)
_ANSWERS: Final = frozenset((*STEERING_WORDS.words("yes"), *STEERING_WORDS.words("no")))
_GERMAN_NOUN_BEGINS = re.compile(
    r"(?:\b\d[\d.,:]*|\b(?i:der|die|das|den|dem|des|am|im|zum|zur|vom|beim|ins|ans|ein|kein|mein|dein|sein|ihr|unser|euer|eur"
    r"|jed|dies|viel|welch)(?:e[mnrs]?)?)(?:\s[a-zäöüß]+e[mnrs]?)*\s[\"'„“»«(]*$"
)
"""What stands before a common noun: a number or an article, and adjectives. German writes all nouns with a capital."""
_HALF_DAY_HOURS: Final = 12
_STEM_CHARS: Final = 5
"""Two forms of one word have so many letters in common."""


@dataclass(frozen=True, slots=True)
class AskedWords:
    """A question, its language, and the words of that language that have a capital in an answer and are no names."""

    words: str
    language: str
    not_names: frozenset[str]


def adds_facts(answer: str, texts: Sequence[str], question: AskedWords) -> bool:
    """Whether `answer`, one sentence or two, has a number or a name that stands nowhere in `texts` or in the question.

    A name is a word with a capital within a sentence, or as a whole one, unless a name that was told comes before
    ("Whitby, a town in Yorkshire").
    """
    text = "\n".join((*texts, question.words))
    return _adds_number(answer, text) or any(_adds_name(sentence, text, question) for sentence in sentences_of(answer))


def _adds_number(answer: str, text: str) -> bool:
    added = _numbers_in(_LIST_NUMBER.sub("", answer)) - _numbers_in(text)
    return bool(added) and not added <= _other_forms_in(text)


def _adds_name(sentence: str, text: str, question: AskedWords) -> bool:
    stems, asked, words = _stems(text), _stems(question.words), list(_WORD.finditer(sentence))
    is_whole = len(words) == 1 and not sentence.endswith("!")
    for place, match in enumerate(words):
        word = match.group()
        own = _stems(word)
        if not word[0].isupper() or word.isupper() or not own or word.casefold() in question.not_names:
            continue
        if _is_common_noun(sentence[: match.start()], question.language):
            continue
        if own <= stems and not own <= asked:
            return False
        if (place or (is_whole and word.casefold() not in _ANSWERS)) and not own <= stems:
            return True
    return False


def _is_common_noun(before: str, language: str) -> bool:
    return language == "de" and _GERMAN_NOUN_BEGINS.search(before) is not None


def _numbers_in(text: str) -> set[float]:
    """Return the numbers in figures; hours and minutes apart, and of a full hour the hour alone."""
    spaced = _CLOCK.sub(lambda clock: clock[1] if clock[2] == "00" else f"{clock[1]} {clock[2]}", text)
    return {value for figure in re.findall(FIGURES, spaced) if (value := read_figures(figure)) is not None}


def _other_forms_in(text: str) -> set[float]:
    """Return the numbers of `text` with those in words and the hours of both ways to count them: 3 pm is 15:00."""
    hours = {int(hour) + _HALF_DAY_HOURS for hour in _AFTERNOON.findall(text)}
    hours |= {int(hour) - _HALF_DAY_HOURS for hour, _ in _CLOCK.findall(text)}
    # A word takes half a millisecond, so each is read once.
    words = {word.casefold() for word in _WORD.findall(text)}
    counts = {reading[0] for word in words if (reading := read_number_words(word)) is not None}
    ordinals = numbers_in_words(text, "o")
    return _numbers_in(text) | counts | {float(number) for number in ordinals | hours if number > 0}


def _stems(text: str) -> set[str]:
    """Return the beginnings of the words, without accents."""
    return {word[:_STEM_CHARS] for word in name_words(text)}
