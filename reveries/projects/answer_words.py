"""The words of a question beside those of the notes: which meet which, and how much of the question each carries.
Pure."""

import math
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Final

from reveries.knowledge.facts.note_lines import NoteLine
from reveries.knowledge.facts.questions import TITLES, AskedWord
from reveries.knowledge.facts.subjects import (
    are_cognates,
    are_same_word,
    concepts_of,
    first_concepts_of,
    is_action,
    is_thing,
)
from reveries.knowledge.facts.vocabulary import VOCABULARY, alternation

_CONCEPT_SHARE: Final = 0.9
"""What a word of the same meaning counts beside the word itself."""
_FIRST_SHARE: Final = 0.6
"""What the first part counts of a word that is written together, and a word that only looks like the asked one, as
words of two languages do."""
_OTHER_WEIGHT: Final = 0.6
"""What a word counts that names nothing, as far as that is known, beside a noun or a name."""
_MODIFIER_SHARE: Final = 0.5
"""What a word counts that only tells more of another one, beside what it would count alone."""
_ALIAS_SHARE: Final = 0.7
"""What the name of somebody counts where the question says what he does."""
_JOINING: Final = frozenset(
    ["van", "de", "der", "von", "di", "le", "la", "is", "ist", "est", "es", "heißt", "heet", "heter", "called"]
)
"""Between what somebody does and his name."""
_BEHIND: Final = r"(?:\s*[:(]\s*|,?\s+)((?:[^\W\d_][\w'’.-]*\s?){1,3})"
_ACTION_WEIGHT: Final = 0.35
"""What a word counts that says what is done, where a value of the right kind tells an answer."""


@dataclass(frozen=True, slots=True)
class WordMeeting:
    """A word of the question, with the words of the notes that meet it."""

    word: AskedWord
    met: Mapping[str, float]
    aliases: Set[str]
    """Those of `met` that are the name of whom the word means."""
    weight: float
    """Its share of the question."""
    is_listed: bool
    """Whether the table of concepts has it: then it is known that no note says it, if none does."""


def _weigh_class(word: AskedWord, names: Set[str], *, has_kind: bool) -> float:
    if is_thing(word.text) or word.text in names:
        return 1.0
    if is_action(word.text):
        return _ACTION_WEIGHT if has_kind else _OTHER_WEIGHT
    return 1.0 if word.is_noun else _OTHER_WEIGHT


def weigh_words(
    words: Sequence[AskedWord], lines: Sequence[NoteLine], names: Set[str], *, has_kind: bool
) -> list[WordMeeting]:
    """Return the words of a question with those that meet them. The fewer lines have one, the more it carries."""
    everything = frozenset(word for line in lines for word in (*line.words, *line.title, *line.folder))
    rows = []
    for word in words:
        met = _meet(word.text, everything)
        aliases = frozenset() if is_action(word.text) else _find_aliases(met.keys(), lines, names) - met.keys()
        met |= dict.fromkeys(aliases, _ALIAS_SHARE)
        count = sum(not met.keys().isdisjoint(line.words) for line in lines)
        weight = _weigh_class(word, names, has_kind=has_kind) * math.log(2 + len(lines) / max(count, 1))
        weight *= _MODIFIER_SHARE if word.is_modifier else 1.0
        rows.append(WordMeeting(word, met, aliases, weight, bool(concepts_of(word.text))))
    total = sum(row.weight for row in rows)
    return [replace(row, weight=row.weight / total) for row in rows]


def _meet(word: str, words: Set[str]) -> dict[str, float]:
    """Return the words that are the asked one, mean the same or look like it, each with what it counts."""
    concepts, firsts = concepts_of(word), first_concepts_of(word)
    place = VOCABULARY.ordinals.get(word)
    met: dict[str, float] = {}
    for other in words:
        others = concepts_of(other)
        if are_same_word(word, other):
            met[other] = 1.0
        elif (concepts and not concepts.isdisjoint(others)) or (place is not None and other == str(place)):
            met[other] = _CONCEPT_SHARE
        elif are_cognates(word, other) or not (
            concepts.isdisjoint(first_concepts_of(other)) and firsts.isdisjoint(others)
        ):
            met[other] = _FIRST_SHARE
    return met


def _find_aliases(met: Set[str], lines: Sequence[NoteLine], names: Set[str]) -> Set[str]:
    """Return the names that stand right behind one of `met`: of "Roofer Van Rijn" also what is said of Van Rijn."""
    if not met:
        return frozenset()
    named = re.compile(rf"(?<!\w){alternation(met)}{_BEHIND}", re.IGNORECASE)
    return frozenset(
        word
        for line in lines
        if not met.isdisjoint(line.words)
        for match in named.finditer(line.raw, line.begin)
        for word in _leading_names(match.group(1), names)
    )


def _leading_names(text: str, names: Set[str]) -> list[str]:
    """Return the names with which a text begins, a title or a particle before them left out."""
    found: list[str] = []
    for raw in text.split():
        word = raw.strip(".,;:").casefold()
        if word in names and raw[0].isupper():
            found.append(word)
        elif found or word not in _JOINING | TITLES:
            break
    return found
