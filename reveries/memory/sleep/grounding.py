"""Checks a model's text against its sources: a sentence with a name or a number that is in none of them is dropped.
Pure.

Numbers are words with a digit; names are capitalised words that do not begin a sentence. In languages that capitalise
nouns (German) only numbers are checked. A sentence that passes is not necessarily true: who did what is not checked.
"""

import re
import unicodedata
from collections.abc import Iterable

from reveries.index.terms import stop_words, word_keys
from reveries.memory.text.extracts import join_sentences, sentences_of
from reveries.memory.text.time_words import bare_word, numbers_in_words
from reveries.memory.text.word_lists import openers

_WORD = re.compile(r"[^\W_]+(?:['\u2019.,:][^\W_]+)*")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_THOUSANDS = re.compile(r"[.,](?=\d{3}\b)")
_OPENING = frozenset("\"'\u201c\u2018\u00ab\u201e([:;-\u2013\u2014")
_NAME_CHARS = 2
_EAST_ASIAN = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LETTER = re.compile(r"[^\W\d_]")
_ENDING_CHARS = 2
"""How many letters a name may differ in length, for a genitive or a plural."""
_AFTER_NOUN = frozenset({"about", "how", "of", "whether"})
_AFTER_ACTIVITY = _AFTER_NOUN | frozenset(
    {"a", "after", "an", "at", "before", "between", "for", "from", "her", "his", "in", "into", "its", "my", "on", "our",
     "over", "the", "their", "to", "until", "what", "which", "with", "your"}
)  # fmt: skip
_LEAST_ACTIVITY = 5
"""The letters of "Going" and "Doing"; "King" and "Ming" are names."""
_NOUNS_HAVE_CAPITALS = 0.2
_ENOUGH_WORDS = 12
_ENGLISH_SHARE = 0.2


def keep_grounded(text: str, read: Iterable[str]) -> str:
    """Return the sentences of `text` whose names and numbers are all in the sources `read`; empty if none are."""
    source = "\n".join(read)
    kept = drop_switched_tail(text, source)
    return join_sentences(sentence for sentence in sentences_of(kept) if is_grounded(sentence, source))


def drop_switched_tail(text: str, source: str) -> str:
    """Return `text` up to where it changes from Latin to Chinese, Japanese or Korean writing, if nothing of the source
    is written so: small models go on like this when their answer is cut."""
    switch, first = _EAST_ASIAN.search(text), _LETTER.search(text)
    if switch is None or first is None or not first.group().isascii() or _EAST_ASIAN.search(source):
        return text
    return text[: switch.start()].rstrip()


def is_supported(fact: str, words: str) -> bool:
    """Whether at least half of the content words of `fact` are in `words`; False for a fact without content words."""
    keys = word_keys(fact)
    return bool(keys) and 2 * len(keys & word_keys(words)) >= len(keys)


def is_grounded(sentence: str, source: str) -> bool:
    """Whether every name and number of `sentence` is in `source`."""
    return not find_ungrounded(sentence, source)


def find_ungrounded(sentence: str, source: str) -> tuple[str, ...]:
    """Return the names and numbers of `sentence` that are not in `source`."""
    sentence, source = unicodedata.normalize("NFKC", sentence), unicodedata.normalize("NFKC", source)
    numbers = set(_extract_numbers(source))
    ungrounded = [number for number in _extract_numbers(sentence) if number not in numbers]
    if ungrounded:
        in_words = set(map(str, numbers_in_words(source)))
        ungrounded = [number for number in ungrounded if number.removesuffix(":00") not in in_words | numbers]
    if not _has_capital_nouns(source):
        source_words = {_bare_word(word) for word in _WORD.findall(source)}
        ungrounded += [
            name
            for name in _names(sentence, is_english=_is_english(source))
            if not _is_known(_bare_word(name), source_words)
        ]
    return tuple(ungrounded)


def _extract_numbers(text: str) -> list[str]:
    """Return the numbers of `text` without thousands separators and leading zeros."""
    return [_THOUSANDS.sub("", match).lstrip("0") or "0" for match in _NUMBER.findall(text)]


def _names(sentence: str, *, is_english: bool) -> list[str]:
    words = list(_WORD.finditer(sentence))
    names = [
        match.group()
        for match in words
        if _is_capitalised(match.group()) and not _begins_sentence(sentence, match.start())
    ]
    if words and _is_capitalised(words[0].group()) and is_english:
        # Only for English is there a list of ordinary sentence openers.
        first, after = words[0].group(), sentence[words[0].end() : words[0].end() + 1]
        is_ordinary = after == "," or first.casefold() in stop_words() or first.casefold() in openers()
        if not is_ordinary and not (len(words) > 1 and _begins_phrase(first, words[1].group())):
            names = [first, *names]
    return names


def _begins_phrase(first: str, second: str) -> bool:
    """Whether an English phrase without a subject begins like this: "Mending the organ", "Repair of the organ"."""
    is_activity = first.endswith("ing") and len(first) >= _LEAST_ACTIVITY
    return second in (_AFTER_ACTIVITY if is_activity else _AFTER_NOUN)


def _is_capitalised(word: str) -> bool:
    return len(word) >= _NAME_CHARS and word[0].isupper()


def _begins_sentence(sentence: str, start: int) -> bool:
    """Whether a sentence, a quotation or an aside begins at `start`."""
    before = sentence[:start].rstrip()
    return not before or before[-1] in _OPENING or before[-1] in ".!?\u2026"


def _bare_word(word: str) -> str:
    return bare_word(re.sub(r"['\u2019]\w*$", "", word))


def _is_known(name: str, source_words: set[str]) -> bool:
    if name in source_words:
        return True
    stem = name[: max(3, len(name) - _ENDING_CHARS)]
    return any(word.startswith(stem) and abs(len(word) - len(name)) <= _ENDING_CHARS for word in source_words)


def _has_capital_nouns(text: str) -> bool:
    words = [
        match for match in _WORD.finditer(text) if not _begins_sentence(text, match.start()) and len(match.group()) > 1
    ]
    capitalised = sum(match.group()[0].isupper() for match in words)
    return len(words) >= _ENOUGH_WORDS and capitalised > _NOUNS_HAVE_CAPITALS * len(words) and not _is_english(text)


def _is_english(text: str) -> bool:
    words = [word.casefold() for word in _WORD.findall(text)]
    return sum(word in stop_words() for word in words) >= _ENGLISH_SHARE * max(1, len(words))
