"""What the owner's answer about two contradicting statements, A (older) and B (newer), says. English. Pure."""

import re
from enum import StrEnum


class ConflictChoice(StrEnum):
    """Which of two contradicting chunks holds."""

    OLDER = "older"
    NEWER = "newer"
    BOTH = "both"
    UNSURE = "unsure"
    OTHER = "other"
    """Neither: the answer says what holds."""


_UNSURE = re.compile(
    r"(?:i )?(?:don't|do not|really don't) know\b|(?:i(?:'m| am) )?(?:not sure|unsure|not certain)\b|no idea\b|"
    r"(?:i )?(?:can't|cannot|can not) (?:say|tell)\b|(?:skip|pass|unclear|unknown|dunno)\b|\?+$"
)
_OPENING = re.compile(
    r"(?:yes|well|i think|i guess|i believe|i'd say|i would say|i mean|it is|it's|it must be|that's|that would be|"
    r"option|answer|the answer is|statement|version|probably|certainly|definitely|surely|only|still|of course|take|"
    r"keep|go with)\b[\s,:]*"
)
_END = (
    r"(?=\s*$|\s*[^\w\s']|"
    r"\s+(?:is|isn't|was|wasn't|are|were|holds?|stands|still|applies|and|or|no longer|not|only)\b)"
)
_LETTER = r"{letter}" + _END
_ONE = r"(?:the )?(?:{words})(?: (?:one|statement|value|version|figure))?" + _END
_OLDER = rf"(?:{_LETTER.format(letter='a')}|{_ONE.format(words='first|older|old|earlier|former')})"
_NEWER = rf"(?:{_LETTER.format(letter='b')}|{_ONE.format(words='second|newer|new|later|latter')})"
_FALSE = r"(?:wrong|false|outdated|untrue|incorrect|obsolete|mistaken|out of date|over|nonsense)\b"
_IS_FALSE = re.compile(
    rf"\s*(?:is|was|are|were|does|do|hold)?(?:n't|\s+not|\s+no longer)\b(?!\s+(?:{_FALSE}|b\b))|"
    rf"\s+(?:is|was|are|were)\s+(?:(?!not\b)\w+\s+)?{_FALSE}"
)
_TWO = re.compile(rf"both\b(?: of them)?|{_OLDER}\s+and\s+{_NEWER}|{_NEWER}\s+and\s+{_OLDER}")
_NEITHER = re.compile(r"(?:neither|none)\b(?: of them)?(?: (?:a|one))?")
_SIDES = ((re.compile(_OLDER), ConflictChoice.OLDER), (re.compile(_NEWER), ConflictChoice.NEWER))
_OPPOSITE = {ConflictChoice.OLDER: ConflictChoice.NEWER, ConflictChoice.NEWER: ConflictChoice.OLDER}
_NOT = re.compile(r"not\b\s*")
_NEGATION = re.compile(r"\b(?:not|no|never|neither|nor|\w+n't|nicht|kein\w*)\b")
_TOKEN = re.compile(r"\w+(?:[.,:]\d+)*")


def read_choice(answer: str, older: str, newer: str) -> ConflictChoice:
    """Which of two texts the answer chooses: by letter, by age, or by a word or number that only one of them has."""
    text = " ".join(answer.casefold().replace("\u2019", "'").split())
    if _UNSURE.match(text):
        return ConflictChoice.UNSURE
    while (opening := _OPENING.match(text)) and opening.end():
        text = text[opening.end() :]
    if (choice := _read_side(text)) is not None:
        return choice
    return ConflictChoice.OTHER if _NEGATION.search(text) else _read_values(text, older, newer)


def _read_side(text: str) -> ConflictChoice | None:
    """A choice by letter or by age; None where there is none."""
    if match := _NEITHER.match(text):
        return ConflictChoice.BOTH if _IS_FALSE.match(text, match.end()) else ConflictChoice.OTHER
    if match := _TWO.match(text):
        return ConflictChoice.OTHER if _IS_FALSE.match(text, match.end()) else ConflictChoice.BOTH
    is_denied = _NOT.match(text)
    for side, choice in _SIDES:
        if match := side.match(text, is_denied.end() if is_denied else 0):
            is_false = bool(is_denied) != bool(_IS_FALSE.match(text, match.end()))
            return _OPPOSITE[choice] if is_false else choice
    return None


def _read_values(text: str, older: str, newer: str) -> ConflictChoice:
    """A choice by the words and numbers that only one of the texts has."""
    words, of_older, of_newer = _tokens(text), _tokens(older), _tokens(newer)
    names_older, names_newer = words & (of_older - of_newer), words & (of_newer - of_older)
    if names_older and not names_newer and _numbers(words) <= of_older:
        return ConflictChoice.OLDER
    if names_newer and not names_older and _numbers(words) <= of_newer:
        return ConflictChoice.NEWER
    return ConflictChoice.OTHER


def _tokens(text: str) -> frozenset[str]:
    return frozenset(_TOKEN.findall(text.casefold()))


def _numbers(tokens: frozenset[str]) -> frozenset[str]:
    return frozenset(token for token in tokens if token[0].isdigit())
