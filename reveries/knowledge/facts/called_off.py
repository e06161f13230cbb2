"""Which days a text calls off, and which of them stand in their place. Pure."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from operator import attrgetter
from typing import Final

from reveries.index.terms import stem, words_of
from reveries.knowledge.facts.days import DayMention, is_moved_to
from reveries.knowledge.facts.model import Fact
from reveries.knowledge.facts.subjects import concepts_of
from reveries.knowledge.facts.vocabulary import VOCABULARY, alternation, pattern_of

SENTENCE_CHARS: Final = 600
"""A sentence is read so far before and behind a day: a line of a whole book has no end."""
_LEAST_WORD_CHARS: Final = 4


def _any_of(key: str, end: str = "") -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){pattern_of(VOCABULARY.words(key))}(?!\w){end}", re.IGNORECASE)


_CANCELLED: Final = _any_of("cancelled")
_DENIED: Final = _any_of("denied")
_MEETS: Final = _any_of("meets")
"""In the clause of the day that stands in the place of another."""
_MOVED: Final = _any_of("moved")
_IMPOSSIBLE: Final = _any_of("impossible")
"""Calls a day off where another one is named instead."""
_INSTEAD_OF: Final = _any_of("instead_of", rf"\s+(?:(?:the|den|dem|der|le|el|il|de|am|on|op|på)\s+)?"
    rf"(?:{alternation(VOCABULARY.weekdays)}[,.]?\s+)?$")  # fmt: skip
_UNTIL: Final = re.compile(r"\b(?:until|before|bis|vor|avant|antes|prima|voor|før)\b", re.IGNORECASE)
"""A denial with such a word reaches forward only, to the day that it names."""
_CLAUSE: Final = re.compile(r"[,;:–—]|\b(?:but|sondern|aber|mais|pero|sino|ma|maar|men)\b", re.IGNORECASE)
_BREAK: Final = re.compile(
    rf"{_CLAUSE.pattern}|\b(?:and|so|because|since|und|weil|da|denn|et|parce que|car|donc|y|porque|así que|e|perché|"
    r"quindi|en|omdat|want|dus|og|fordi|så)\b",
    re.IGNORECASE,
)
"""Ends what is said of one day."""
_PRONOUN: Final = re.compile(
    r"\W*(?:(?:it|that|this|das|es|dies|er|sie|cela|ça|il|elle|dit|dat|die|hij|den|det|dette)\s+"
    r"(?:is|was|has been|will be|got|ist|wurde|wird|fällt|entfällt|est|a été|n'aura|wordt|werd|gaat|er|ble|blir)|"
    r"c['’]est|è|è stat[oa]|viene|está|fue|ha sido|queda|se (?:cancela|suspende))\b",
    re.IGNORECASE,
)
"""Begins a sentence about what the one before it speaks of."""


@dataclass(frozen=True, slots=True)
class Sentences:
    """The sentence around a day, from `begin` to `end` as far as it is read, and the next one, from `next_begin`."""

    begin: int
    end: int
    next_begin: int
    next_end: int


@dataclass(frozen=True, slots=True)
class Wording:
    """A text in which each pattern is looked for once, however many days are in it."""

    text: str
    _matches: dict[re.Pattern[str], list[re.Match[str]]] = field(default_factory=dict)

    def all_of(self, pattern: re.Pattern[str], begin: int, end: int) -> Iterator[re.Match[str]]:
        """Yield what the pattern matches between `begin` and `end`."""
        if pattern not in self._matches:
            self._matches[pattern] = list(pattern.finditer(self.text))
        matches = self._matches[pattern]
        for match in islice(matches, bisect_left(matches, begin, key=re.Match.start), None):
            if match.end() > end:
                return
            yield match

    def first_of(self, pattern: re.Pattern[str], begin: int, end: int) -> re.Match[str] | None:
        """Return the first match between `begin` and `end`."""
        return next(self.all_of(pattern, begin, end), None)


def is_called_off(wording: Wording, mention: DayMention, days: Sequence[DayMention], sentences: Sentences) -> bool:
    """Whether the sentence around one of the `days` of a text, which are in its order, calls it off, denies it or names
    another instead, or the next one does."""
    text = wording.text
    if is_moved_to(text, mention.start):
        return False
    begin, end = sentences.begin, sentences.end
    first, last = (bisect_left(days, at, key=attrgetter("start")) for at in (begin, end))
    others = [day for day in days[first:last] if day is not mention]
    if _INSTEAD_OF.search(text, max(begin, mention.start - 40), mention.start):
        return bool(others) or wording.first_of(_CANCELLED, begin, end) is not None
    if (cancelled := wording.first_of(_CANCELLED, begin, end)) is not None:
        return not others or not _stands_instead(text, mention, others, cancelled)
    if _is_moved_away(wording, mention, others, sentences) or _is_denied(wording, mention, begin, end):
        return True
    following = text[sentences.next_begin : sentences.next_end][:SENTENCE_CHARS]
    if wording.first_of(_IMPOSSIBLE, begin, end) and _MEETS.search(following) and re.search(r"\d", following):
        return not others
    return (
        _PRONOUN.match(following) is not None
        and _CANCELLED.search(following) is not None
        and re.search(r"\d", following) is None
    )


def _stands_instead(text: str, mention: DayMention, others: Sequence[DayMention], cancelled: re.Match[str]) -> bool:
    """Whether a day is the new one beside another that its sentence calls off: its own clause says that something
    happens on it, or the words that call off stand between it and the other one."""
    begin, end = _clause_of(text, mention)
    if not (begin <= cancelled.start() < end) and _MEETS.search(text, begin, end):
        return True
    called_off = any(
        day.end <= cancelled.start() and not _CLAUSE.search(text, day.end, cancelled.start()) for day in others
    )
    return called_off and cancelled.end() <= mention.start


def _clause_of(text: str, mention: DayMention) -> tuple[int, int]:
    first = max(0, mention.start - SENTENCE_CHARS)
    begin = max((match.end() for match in _BREAK.finditer(text, first, mention.start)), default=first)
    behind = _BREAK.search(text, mention.end, mention.end + SENTENCE_CHARS)
    return begin, behind.start() if behind is not None else min(len(text), mention.end + SENTENCE_CHARS)


def _is_moved_away(wording: Wording, mention: DayMention, others: Sequence[DayMention], sentences: Sentences) -> bool:
    """Whether the sentence moves what was on a day to one of the others, or names one because it is impossible."""
    begin, end = sentences.begin, sentences.end
    if wording.first_of(_MOVED, begin, end) and any(is_moved_to(wording.text, day.start) for day in others):
        return True
    first, last = _clause_of(wording.text, mention)
    return (
        bool(others)
        and wording.first_of(_IMPOSSIBLE, first, last) is not None
        and wording.first_of(_MEETS, begin, end) is not None
    )


def _is_denied(wording: Wording, mention: DayMention, begin: int, end: int) -> bool:
    for denial in wording.all_of(_DENIED, begin, end):
        is_before = denial.end() <= mention.start
        between = wording.text[denial.end() : mention.start]
        if is_before and not _CLAUSE.search(between) and not re.search(r"\d(?!.{0,12}$)", between):
            return True
        if not is_before and not _UNTIL.search(denial.group()):
            return True
    return False


def call_off_elsewhere(facts: Sequence[Fact]) -> list[Fact]:
    """Return `facts` with each day called off that another line, written no earlier, calls off by the name of what
    happens on it."""
    called_off: dict[object, list[Fact]] = {}
    for fact in facts:
        if fact.day is not None and fact.day.is_cancelled and _says_so(fact):
            called_off.setdefault((fact.day.first, fact.day.last), []).append(fact)
    return [
        _called_off_by(fact, called_off.get((fact.day.first, fact.day.last), ())) if fact.day else fact
        for fact in facts
    ]


def _says_so(fact: Fact) -> bool:
    return any(pattern.search(fact.text) for pattern in (_CANCELLED, _MOVED, _MEETS))


def _called_off_by(fact: Fact, callers: Sequence[Fact]) -> Fact:
    assert fact.day is not None
    if fact.day.is_cancelled or not any(_names_the_same(fact, caller) for caller in callers):
        return fact
    return replace(fact, day=replace(fact.day, is_cancelled=True))


def _names_the_same(fact: Fact, caller: Fact) -> bool:
    assert fact.day is not None
    assert caller.day is not None
    is_other_hour = fact.day.time and caller.day.time and fact.day.time != caller.day.time
    is_earlier = fact.written_on is not None and caller.written_on is not None and caller.written_on < fact.written_on
    return not is_other_hour and not is_earlier and not _keys_of(fact).isdisjoint(_keys_of(caller))


def _keys_of(fact: Fact) -> frozenset[str]:
    """Return the words of a line that may name what happens, and what they mean in any language."""
    words = [word for word in words_of(fact.text) if len(word) >= _LEAST_WORD_CHARS and word not in _OTHER_WORDS]
    return frozenset(stem(word) for word in words) | {f"={number}" for word in words for number in concepts_of(word)}


_OTHER_WORDS: Final = frozenset(
    (
        *VOCABULARY.stop_words,
        *VOCABULARY.months,
        *VOCABULARY.weekdays,
        *(
            word
            for key in ("cancelled", "moved", "meets", "impossible", "instead_of", "changed", "hour_words", "clock_at")
            for phrase in VOCABULARY.words(key)
            for word in re.findall(r"\w+", phrase)
        ),
    )
)
"""They say when, or that something is off, and not what."""
