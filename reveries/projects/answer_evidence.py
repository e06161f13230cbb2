"""How much a sentence of the notes speaks for being the answer to a question: what of the question it says, and where
the rest of it stands; whether it has a value of the kind that is asked for. Pure.

Each is a share or a flag between 0 and 1. `WEIGHTS` makes a score of them: the natural logarithm of the odds beside
"the notes do not say it". They were fitted on made-up folders only (bench/note_questions.py).
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Final

from reveries.knowledge.facts.model import Bound, Day, DayStatus, Fact, FactKind
from reveries.knowledge.facts.note_lines import NoteLine, find_names, split_sentences, words_in
from reveries.knowledge.facts.numbers import read_number_words
from reveries.knowledge.facts.open_ends import is_to_do
from reveries.knowledge.facts.quantities import mask
from reveries.knowledge.facts.questions import (
    ANAPHORA,
    COLOURS,
    DIMENSIONS,
    FIRST_PERSON,
    MAIL_HEADER,
    PEOPLE,
    PLACED,
    ROLES,
    Asked,
    NoteQuestion,
)
from reveries.knowledge.facts.subjects import (
    concepts_of,
)
from reveries.knowledge.facts.vocabulary import VOCABULARY
from reveries.projects.answer_words import WordMeeting, weigh_words

WITHOUT_KIND: Final = (Asked.THING, Asked.PLACE)
_HEADER_LINES, _LEAST_HEADERS = 6, 2
"""A mail has at least so many headers within its first lines."""
_BARE_NUMBER_FIT: Final = 0.4
_PLACELESS_FIT: Final = 0.4
_NO_VALUE: Final = (*WITHOUT_KIND, Asked.PERSON)


class Clue(StrEnum):
    """What is known of a sentence beside a question."""

    SAID = "said"
    """The share of the question's words that the sentence says."""
    BESIDE = "beside"
    """That only the rest of its line, its heading or the line before says."""
    TITLED = "titled"
    """That only the name of the file or the writer of the message says."""
    AROUND = "around"
    """That only the lines around it, or the first of the document, say."""
    ELSEWHERE = "elsewhere"
    """That is said only elsewhere in the notes: the sentence is about something else."""
    ABSENT = "absent"
    """That no note says, in any language that the table of concepts knows."""
    UNREAD = "unread"
    """That no note says, and that the table does not have: it may stand there in another language."""
    MAIN_AWAY = "main_away"
    """Whether the weightiest word stands neither in the line nor beside it."""
    MAIN_ABSENT = "main_absent"
    """Whether no note says the weightiest word, in any language that the table of concepts knows."""
    LOOSE = "loose"
    """How badly the value fits what is asked for."""
    APART = "apart"
    """The share of the words it says that stand only in a clause behind that of the value."""
    OTHER_TIME = "other_time"
    """Whether the day is in another tense or month than the question."""
    NAMELESS = "nameless"
    """Whether it names nobody where the question asks for somebody."""
    KINDLESS = "kindless"
    """Whether no value tells an answer, since the question asks for anything."""
    PERSONAL = "personal"
    """Whether the question asks for somebody."""
    ASKS = "asks"
    """Whether the sentence itself asks, or leaves something open."""
    UNMET = "unmet"
    """The share of the question that the sentence does not say, where no value tells an answer."""
    LENGTH = "length"
    HEADING = "heading"
    BASE = "base"


WEIGHTS: Final[Mapping[Clue, float]] = {
    Clue.SAID: 3.53,
    Clue.BESIDE: 0.49,
    Clue.TITLED: 2.58,
    Clue.AROUND: -2.98,
    Clue.ELSEWHERE: -3.7,
    Clue.ABSENT: -0.98,
    Clue.UNREAD: 1.2,
    Clue.MAIN_AWAY: -0.17,
    Clue.MAIN_ABSENT: -0.28,
    Clue.LOOSE: -4.17,
    Clue.APART: -2.55,
    Clue.OTHER_TIME: -0.82,
    Clue.NAMELESS: -1.68,
    Clue.KINDLESS: -0.44,
    Clue.PERSONAL: 0.68,
    Clue.ASKS: -0.48,
    Clue.UNMET: -1.74,
    Clue.LENGTH: -1.33,
    Clue.HEADING: -1.28,
    Clue.BASE: 1.35,
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence that may answer, with its value."""

    line: NoteLine
    fact: Fact | None
    clues: Mapping[Clue, float]

    @property
    def score(self) -> float:
        """Logarithm of the odds, beside that the notes do not say it."""
        return sum(WEIGHTS[clue] * value for clue, value in self.clues.items())


@dataclass(slots=True)
class NoteSearch:
    """A question beside the lines of the notes."""

    question: NoteQuestion
    lines: Sequence[NoteLine]
    facts: Sequence[Fact]
    today: date
    _facts: dict[tuple[str, int], list[Fact]] = field(init=False)
    _names: Set[str] = field(init=False)
    _meetings: Sequence[WordMeeting] = field(init=False)
    _main: WordMeeting = field(init=False)
    _headers: Set[tuple[str, int]] = field(init=False)

    def __post_init__(self) -> None:
        self._facts = defaultdict(list)
        for fact in self.facts:
            self._facts[fact.document, fact.line].append(fact)
        self._names = find_names(self.lines)
        self._meetings = weigh_words(
            self.question.words, self.lines, self._names, has_kind=self.question.asked not in _NO_VALUE
        )
        self._headers = _find_headers(self.lines)
        self._main = max(self._meetings, key=lambda meeting: meeting.weight)

    def find_candidates(self, line: NoteLine) -> list[Candidate]:
        """Return what of a line may answer: of each sentence that has something of the question, with a value of the
        kind that is asked for."""
        is_about = self.names(line) or self._meets(line.block)
        if not is_about or (line.document, line.number) in self._headers:
            return []
        spans = split_sentences(line)
        found = [self._judge(line, span) for span in spans]
        return [candidate for candidate in found if candidate is not None]

    def names(self, line: NoteLine) -> bool:
        """Whether a line, its heading or its file has a word of the question."""
        return self._meets(line.words | line.heading | line.nearby | line.title)

    def cover(self, line: NoteLine) -> float:
        """Return how much of the question a line says, with what stands beside it: 0 to 1."""
        shares = self._place_words(line, line.words)
        return sum(_COVER[place] * shares[place] for place in _COVER)

    def is_open(self, line: NoteLine) -> bool:
        return any(fact.kind is FactKind.OPEN for fact in self._facts[line.document, line.number])

    def _meets(self, words: Set[str]) -> bool:
        return any(not meeting.met.keys().isdisjoint(words) for meeting in self._meetings)

    def _judge(self, line: NoteLine, span: tuple[int, int]) -> Candidate | None:
        text = line.raw[span[0] : span[1]]
        words = words_in(text)
        facts = [fact for fact in self._facts[line.document, line.number] if _is_within(fact, span)]
        fact, fit = self._find_value(line, span, words, facts)
        is_open = self.is_open(line) and not is_to_do(line.raw)
        if fit == 0.0 or (fact is None and (is_open or _asks(text))):
            return None
        clues: dict[Clue, float] = dict(self._place_words(line, words))
        beside = words | line.words | line.heading | line.nearby
        asked = self.question.asked
        main = self._main
        clues[Clue.MAIN_AWAY] = float(bool(main.met) and main.met.keys().isdisjoint(beside))
        clues[Clue.MAIN_ABSENT] = float(not main.met and main.is_listed)
        clues[Clue.LOOSE] = 1.0 - fit
        clues[Clue.APART] = self._apartness(line, span, words, fact)
        clues[Clue.OTHER_TIME] = float(fact is not None and self._is_other_time(fact))
        clues[Clue.NAMELESS] = float(asked is Asked.PERSON and not self._has_name(line, words))
        clues[Clue.KINDLESS] = float(asked in WITHOUT_KIND)
        clues[Clue.PERSONAL] = float(asked is Asked.PERSON)
        clues[Clue.ASKS] = float(is_open or _asks(text))
        clues[Clue.UNMET] = float(asked in _NO_VALUE) * (1.0 - clues[Clue.SAID])
        clues[Clue.LENGTH] = math.log1p(len(words - VOCABULARY.stop_words)) / math.log(30)
        clues[Clue.HEADING] = float(line.raw.lstrip().startswith("#"))
        clues[Clue.BASE] = 1.0
        return Candidate(line, fact, clues)

    def _place_words(self, line: NoteLine, said: Set[str]) -> dict[Clue, float]:
        """Return which share of the question stands where, as seen from a sentence that says `said`."""
        places = (
            (Clue.SAID, 1.0, said),
            (Clue.BESIDE, 0.8, line.words | line.heading | line.nearby),
            (Clue.TITLED, 0.7, line.title | line.folder),
            (Clue.AROUND, 0.5, line.block | line.rest),
        )
        shares = dict.fromkeys((*(place for place, _, _ in places), Clue.ELSEWHERE, Clue.ABSENT, Clue.UNREAD), 0.0)
        for meeting in self._meetings:
            if not meeting.met:
                shares[Clue.ABSENT if meeting.is_listed else Clue.UNREAD] += meeting.weight
                continue
            met = [
                (meeting.met[word] * rank, meeting.met[word], place)
                for place, rank, words in places
                for word in meeting.met.keys() & words
            ]
            _, share, place = max(met, default=(0.0, 1.0, Clue.ELSEWHERE))
            shares[place] += meeting.weight * share
        return shares

    def _find_value(
        self, line: NoteLine, span: tuple[int, int], words: Set[str], facts: Sequence[Fact]
    ) -> tuple[Fact | None, float]:
        """Return the value of a sentence, if facts are of the kind asked for, and how well its kind fits: 0 to 1."""
        text = line.raw[span[0] : span[1]]
        match self.question.asked:
            case Asked.THING:
                return None, 1.0
            case Asked.PLACE:
                is_row = line.raw.lstrip().startswith("|") or ";" in text
                return None, 1.0 if is_row or PLACED.search(text) else _PLACELESS_FIT
            case Asked.COLOUR:
                return None, float(COLOURS.search(text) is not None)
            case Asked.PERSON:
                return None, self._fit_person(line, text, words)
            case Asked.AGE:
                return None, float(_AGE.search(text) is not None and _has_number(text, span[0], []))
            case Asked.SPEED:
                return None, float(_SPEED.search(text) is not None)
            case Asked.CODE:
                return None, float(_CODE.search(mask(line.raw, [(0, span[0]), *_spans(facts)])[: span[1]]) is not None)
            case Asked.COUNT:
                unit = VOCABULARY.units.get(self.question.words[0].text)
                fact = next((fact for fact in facts if unit and _dimension(fact) == unit[1]), None)
                return fact, 1.0 if fact else float(_has_number(text, span[0], facts))
        fits = [(fact, fit) for fact in facts if (fit := fit_kind(fact, self.question.asked)) > 0.0]
        if fits:
            return max(
                fits,
                key=lambda pair: (
                    pair[1] - 0.3 * self._is_other_time(pair[0]),
                    -self._apartness(line, span, words, pair[0]),
                ),
            )
        return None, self._fit_without_fact(text, span[0], facts)

    def _fit_without_fact(self, text: str, begin: int, facts: Sequence[Fact]) -> float:
        asked = self.question.asked
        if asked in (Asked.DURATION, Asked.SPAN) and _DAYS.search(text):
            return 1.0
        if (
            asked in (Asked.LENGTH, Asked.SPAN, Asked.SIZE)
            and _has_number(text, begin, facts)
            and not _DAYS.search(text)
        ):
            return _BARE_NUMBER_FIT
        return 0.0

    def _is_other_time(self, fact: Fact) -> bool:
        """Whether a day is over, where the question is about what comes, or the other way round, or is in a month that
        the question does not mean."""
        if fact.day is None:
            return False
        if self.question.months:
            return not _is_in_months(fact.day, self.question.months)
        return (fact.day.status_on(self.today) is DayStatus.PAST) is not self.question.is_past

    def _fit_person(self, line: NoteLine, text: str, words: Set[str]) -> float:
        if self._has_name(line, words):
            return 1.0
        roles = {word for word in words - self._asked_words() if not ROLES.isdisjoint(concepts_of(word))}
        return 0.7 if roles else 0.5 if text == text.lower() and self._may_name(words) else 0.0

    def _has_name(self, line: NoteLine, words: Set[str]) -> bool:
        """Whether a sentence names somebody whom the question does not; in a chat whoever writes of himself."""
        is_own = bool(line.begin) and not FIRST_PERSON.isdisjoint(words)
        named = words | line.nearby if ANAPHORA.match(line.raw, line.begin) else words
        return is_own or bool((named & (self._names | PEOPLE)) - self._asked_words())

    def _may_name(self, words: Set[str]) -> bool:
        """Whether a sentence has a word that no list knows: in a chat names may be written small."""
        unknown = (
            word
            for word in words - self._asked_words() - VOCABULARY.stop_words
            if word.isalpha() and len(word) > 2 and not concepts_of(word)
        )
        return any(True for _ in unknown)

    def _asked_words(self) -> Set[str]:
        return {word for meeting in self._meetings for word in meeting.met.keys() - meeting.aliases}

    def _apartness(self, line: NoteLine, span: tuple[int, int], words: Set[str], fact: Fact | None) -> float:
        """Return which share of the question's words that a sentence has stand only in a clause behind its value."""
        if fact is None:
            return 0.0
        end = min(
            (match.start() for match in _CLAUSE.finditer(line.raw, *span) if match.start() >= fact.end), default=span[1]
        )
        near = words_in(line.raw[span[0] : end])
        there = [meeting for meeting in self._meetings if meeting.met.keys() & words]
        behind = sum(meeting.weight for meeting in there if near.isdisjoint(meeting.met))
        return behind / sum(meeting.weight for meeting in there) if there else 0.0


_COVER: Final = {Clue.SAID: 1.0, Clue.BESIDE: 0.9, Clue.TITLED: 0.7, Clue.AROUND: 0.4}
_CLAUSE: Final = re.compile(r"[.;!?]\s+|,\s+|\s[-–—]\s|:\s")
_AGE: Final = re.compile(
    r"(?<!\w)(?:born|aged?|years? old|geboren|jahre? alt|ans|âgée?|née?|años|nacid[oa]|anni|nat[oa]|jaar|født|år)\b",
    re.IGNORECASE,
)
_SPEED: Final = re.compile(
    r"\d\s*(?:km/h|kmh|km/t|mph|kn|knots|knoten|nœuds|nudos|nodi|knopen|m/s)(?!\w)", re.IGNORECASE
)
_CODE: Final = re.compile(r"(?<![\w.,])(?:\+?\d[\d /-]{2,}\d|[A-Z]{2}\d{2}[\dA-Z ]{4,}|\d{3,})(?![\w.,]\d)")
_DAYS: Final = re.compile(rf"(?<!\w)(?:\d+|\w+)\s+(?:{'|'.join(VOCABULARY.duration_units)})(?!\w)", re.IGNORECASE)


def _find_headers(lines: Sequence[NoteLine]) -> set[tuple[str, int]]:
    """Return the lines that only say who wrote a mail, to whom, when and about what."""
    heads = [line for line in lines if line.number <= _HEADER_LINES and MAIL_HEADER.match(line.raw)]
    counts = Counter(line.document for line in heads)
    return {(line.document, line.number) for line in heads if counts[line.document] >= _LEAST_HEADERS}


def _is_within(fact: Fact, span: tuple[int, int]) -> bool:
    return fact.kind is not FactKind.OPEN and span[0] <= fact.start and fact.end <= span[1]


def _spans(facts: Sequence[Fact]) -> list[tuple[int, int]]:
    return [(fact.start, fact.end) for fact in facts]


def _asks(text: str) -> bool:
    return text.rstrip(" )\"'”’»*_").endswith("?")


def _dimension(fact: Fact) -> str:
    return fact.quantity.dimension if fact.quantity is not None else ""


def _is_in_months(day: Day, months: Set[int]) -> bool:
    """Whether a day, or some of a span, is in one of `months`."""
    count = (day.last.year - day.first.year) * 12 + day.last.month - day.first.month
    return any((day.first.month - 1 + offset) % 12 + 1 in months for offset in range(count + 1))


def fit_kind(fact: Fact, asked: Asked) -> float:
    """Return how well the kind of a fact answers: 0 to 1."""
    match asked:
        case Asked.DAY | Asked.DEADLINE if fact.day is not None:
            is_bound = fact.day.bound is Bound.BY
            return 1.0 if asked is Asked.DAY or is_bound else 0.8
        case Asked.DAY | Asked.DEADLINE if fact.kind is FactKind.TIME:
            return 0.7
        case Asked.SPAN if fact.day is not None and fact.day.bound is Bound.BY:
            return 0.7
        case Asked.HOUR if fact.kind is FactKind.TIME or (fact.day is not None and fact.day.time):
            return 1.0
        case Asked.MONEY if fact.kind is FactKind.AMOUNT:
            return 1.0
        case Asked.SIZE if fact.quantity is not None:
            return 1.0
    wanted = DIMENSIONS.get(asked)
    return float(wanted is not None and fact.quantity is not None and fact.quantity.dimension in wanted)


def _has_number(text: str, begin: int, facts: Sequence[Fact]) -> bool:
    """Whether a text has a number that is no day, hour, sum or measure. `begin`: its place in the line."""
    rest = mask(text, [(fact.start - begin, fact.end - begin) for fact in facts])
    if re.search(r"(?<![\w.,:/-])\d{1,3}(?:[.\s ]\d{3})*(?![\w:/-]|[.,]\d)|(?<![\w.,:/-])\d{4,6}(?![\w:/-])", rest):
        return True
    words = [word for word in re.findall(r"[^\W\d_]{2,}", rest) if word.casefold() not in VOCABULARY.stop_words]
    return any((read_number_words(word) or (0.0, 0))[0] > 1 for word in words)
