"""Lines of notes beside a question: how much of it each says, and which value of the kind that is asked for it has.
Pure."""

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date
from typing import Final

from reveries.index.terms import words_of
from reveries.knowledge.facts.model import Bound, Day, DayStatus, Fact, FactKind
from reveries.knowledge.facts.note_lines import NoteLine, find_names
from reveries.knowledge.facts.numbers import read_number_words
from reveries.knowledge.facts.quantities import mask
from reveries.knowledge.facts.questions import COLOURS, DIMENSIONS, PEOPLE, Asked, AskedWord, NoteQuestion
from reveries.knowledge.facts.subjects import are_same_word, concepts_of
from reveries.knowledge.facts.vocabulary import VOCABULARY

_HEADING_SHARE, _NEARBY_SHARE, _TITLE_SHARE, _FOLDER_SHARE, _REST_SHARE = 0.8, 0.8, 0.75, 0.5, 0.4
"""What a word counts that stands above a line, in a line beside it, in the name of the file or of its folder, or in the
first lines of the document."""
_CONCEPT_SHARE: Final = 0.85
"""What a word of the same meaning counts beside the word itself."""
_OTHER_WEIGHT: Final = 0.5
"""What a word counts that names nothing, beside a noun or a name."""
_NAMELESS_FIT: Final = 0.8
_NEAR: Final = 0.85
_OTHER_MONTH_FIT: Final = 0.5
_OTHER_TENSE_FIT: Final = 0.7
_MISSING_WEIGHT: Final = 0.7
_VALUELESS_FIT: Final = 0.35
"""Of a line about the same that has no value of the kind asked for: it may say in words what the question asks."""
_WORDLESS_SCORE: Final = 0.01
"""Below that of any line that has a word of the question."""
_WITHOUT_KIND: Final = (Asked.THING, Asked.PLACE)
_CLAUSE: Final = re.compile(r"[.;!?]\s+|,\s+|\s[-–—]\s")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A line that may answer."""

    line: NoteLine
    fact: Fact | None
    score: float
    """How much of the question it says, less the worse its value fits: 0 to 1."""
    is_open: bool
    """Whether it only leaves the question open."""


class NoteSearch:
    """A question with the words of the notes that meet its own."""

    def __init__(self, question: NoteQuestion, lines: Sequence[NoteLine], facts: Sequence[Fact], today: date) -> None:
        self._question = question
        self._today = today
        self._facts: dict[tuple[str, int], list[Fact]] = defaultdict(list)
        for fact in facts:
            self._facts[fact.document, fact.line].append(fact)
        self._names = find_names(lines)
        everything = frozenset(word for line in lines for word in (*line.words, *line.title))
        self._meeting = [_meet(word.text, everything) for word in question.words]
        self._weights = [
            _weigh(
                word, meeting.keys(), lines, self._names, has_kind=question.asked not in (*_WITHOUT_KIND, Asked.PERSON)
            )
            for word, meeting in zip(question.words, self._meeting, strict=True)
        ]

    def is_open(self, line: NoteLine) -> bool:
        return any(fact.kind is FactKind.OPEN for fact in self._facts[line.document, line.number])

    def cover(self, line: NoteLine) -> float:
        """Return how much of what carries the question a line says, with what stands around it: 0 to 1."""
        met = [self._met(line, meeting) for meeting in self._meeting]
        return sum(share * weight for share, weight in zip(met, self._weights, strict=True)) / sum(self._weights)

    def judge(self, line: NoteLine) -> Candidate | None:
        """Return a line with the value that answers, if it has one of the kind that is asked for; None if it has
        nothing of the question itself."""
        if not self.names(line):
            return None
        fact, fit = self._find_value(line)
        share = max(fit, _VALUELESS_FIT) * (_NEAR + (1 - _NEAR) * self._nearness(line, fact))
        return Candidate(line, fact, self.cover(line) * share, fact is None and self.is_open(line))

    def judge_kind(self, line: NoteLine) -> Candidate | None:
        """Return a line that has a value of the kind that is asked for, whatever its words; None if it has none."""
        fact, fit = self._find_value(line)
        return Candidate(line, fact, _WORDLESS_SCORE * fit, is_open=False) if fact is not None else None

    def names(self, line: NoteLine) -> bool:
        """Whether a line, its heading or its file has a word of the question."""
        return any(self._meets_itself(line, meeting) for meeting in self._meeting)

    def _met(self, line: NoteLine, meeting: Mapping[str, float]) -> float:
        places = (
            (line.words, 1.0), (line.heading, _HEADING_SHARE), (line.nearby, _NEARBY_SHARE),
            (line.title, _TITLE_SHARE), (line.folder, _FOLDER_SHARE), (line.rest, _REST_SHARE),
        )  # fmt: skip
        return max((meeting[word] * share for words, share in places for word in meeting.keys() & words), default=0.0)

    def _meets_itself(self, line: NoteLine, meeting: Mapping[str, float]) -> bool:
        return not meeting.keys().isdisjoint(line.words | line.heading | line.nearby | line.title)

    def _find_value(self, line: NoteLine) -> tuple[Fact | None, float]:
        """Return the fact of a line that is of the kind asked for, if facts are, and how well its kind fits: 0 to 1."""
        facts = self._facts[line.document, line.number]
        asked = self._question.asked
        match asked:
            case Asked.THING:
                head = self._meeting[0]
                return None, 1.0 if self._met(line, head) >= _NEARBY_SHARE * _CONCEPT_SHARE else 0.0
            case Asked.PLACE:
                return None, 1.0 if self._has_name(line) else _NAMELESS_FIT
            case Asked.COLOUR:
                return None, float(COLOURS.search(line.raw[line.begin :]) is not None)
            case Asked.PERSON:
                return None, float(self._has_name(line))
            case Asked.COUNT:
                is_counted = line.words & self._meeting[0].keys() or line.heading & self._meeting[0].keys()
                return None, float(bool(is_counted) and _has_number(line, facts))
        fits = [(fact, fit) for fact in facts if (fit := self._fit(fact)) > 0.0]
        if fits:
            return max(fits, key=lambda pair: (not _is_cancelled(pair[0]), pair[1], self._nearness(line, pair[0])))
        return None, 0.8 if asked is Asked.LENGTH and _has_number(line, facts) else 0.0

    def _fit(self, fact: Fact) -> float:
        """Return how well a fact answers: one whose day is over, where the question is
        about what comes, less, and the other way round."""
        fit = _fit_kind(fact, self._question.asked)
        if self._question.months and fact.day is not None and not _is_within(fact.day, self._question.months):
            fit *= _OTHER_MONTH_FIT
        is_over = fact.day is not None and fact.day.status_on(self._today) is DayStatus.PAST
        is_other = fact.day is not None and is_over is not self._question.is_past
        return fit * _OTHER_TENSE_FIT if is_other else fit

    def _has_name(self, line: NoteLine) -> bool:
        """Whether a line names somebody whom the question does not."""
        asked = {word for meeting in self._meeting for word in meeting}
        named = (line.words & (self._names | PEOPLE)) - asked
        return bool(named)

    def _nearness(self, line: NoteLine, fact: Fact | None) -> float:
        """Return how many of the question's words that a line has stand in the clause of a value: 0 to 1."""
        if fact is None:
            return 1.0
        start = max((m.end() for m in _CLAUSE.finditer(line.raw) if m.end() <= fact.start), default=0)
        end = min((m.start() for m in _CLAUSE.finditer(line.raw) if m.start() >= fact.end), default=len(line.raw))
        near = set(words_of(line.raw[start:end]))
        there = [meeting.keys() for meeting in self._meeting if meeting.keys() & line.words]
        return sum(bool(words & near) for words in there) / len(there) if there else 0.0


def _meet(word: str, words: Set[str]) -> dict[str, float]:
    """Return the words that are the asked one, or mean the same, each with what it counts."""
    concepts = concepts_of(word)
    met = {other: _CONCEPT_SHARE for other in words if concepts and not concepts.isdisjoint(concepts_of(other))}
    return met | {other: 1.0 for other in words if are_same_word(word, other)}


def _weigh(word: AskedWord, words: Set[str], lines: Sequence[NoteLine], names: Set[str], *, has_kind: bool) -> float:
    """Return how much of a question a word carries: the fewer lines have it, the more. Of a word that none has, only
    one that names something tells that the notes do not speak of it."""
    count = sum(not words.isdisjoint(line.words) for line in lines)
    is_noun = word.is_noun or word.text in names
    if count == 0 and not is_noun and has_kind:
        return _MISSING_WEIGHT
    return (1.0 if is_noun else _OTHER_WEIGHT) * math.log(2 + len(lines) / max(count, 1))


def _is_within(day: Day, months: Set[int]) -> bool:
    """Whether a day, or some of a span, is in one of `months`."""
    count = (day.last.year - day.first.year) * 12 + day.last.month - day.first.month
    return any((day.first.month - 1 + offset) % 12 + 1 in months for offset in range(count + 1))


def _is_cancelled(fact: Fact) -> bool:
    return fact.day is not None and fact.day.is_cancelled


def _fit_kind(fact: Fact, asked: Asked) -> float:
    """Return how well the kind of a fact answers: 0 to 1."""
    match asked:
        case Asked.DAY | Asked.DEADLINE if fact.day is not None:
            is_bound = fact.day.bound is Bound.BY
            return 1.0 if asked is Asked.DAY or is_bound else 0.9
        case Asked.DAY if fact.kind is FactKind.TIME:
            return 0.85
        case Asked.HOUR if fact.kind is FactKind.TIME or (fact.day is not None and fact.day.time):
            return 1.0
        case Asked.MONEY if fact.kind is FactKind.AMOUNT:
            return 1.0
        case Asked.SIZE if fact.quantity is not None:
            return 1.0
    wanted = DIMENSIONS.get(asked)
    return float(wanted is not None and fact.quantity is not None and fact.quantity.dimension in wanted)


def _has_number(line: NoteLine, facts: Sequence[Fact]) -> bool:
    """Whether a line has a number that is no day, hour, sum or measure."""
    text = mask(line.raw, [(0, line.begin), *((fact.start, fact.end) for fact in facts)])
    if re.search(r"(?<![\w.,:/-])\d{1,6}(?![\w:/-]|[.,]\d)", text):
        return True
    words = [word for word in re.findall(r"[^\W\d_]{2,}", text) if word.casefold() not in VOCABULARY.stop_words]
    return any((read_number_words(word) or (0.0, 0))[0] > 1 for word in words)
