"""How likely two values in notes are of one thing: what their lines share, and what tells them apart. Pure.

The weights were fitted by logistic regression on made-up folders (`tests/knowledge/facts/conflict_folders.toml`) and
the three with which the rules were developed, each folder judged by weights of the others, and then rounded.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date
from typing import Final

from reveries.knowledge.facts.comparable_values import are_deadlines, are_hours_of_one_day, are_mistyped
from reveries.knowledge.facts.concept_families import UNITS_OF_RATE, exclude_each_other, is_common
from reveries.knowledge.facts.doers import DOING
from reveries.knowledge.facts.fact_subjects import DescribedFact, SubjectWord
from reveries.knowledge.facts.model import FactKind
from reveries.knowledge.facts.subjects import concepts_of
from reveries.knowledge.facts.vocabulary import VOCABULARY, alternation

_REST_SHARE, _ABOVE_SHARE, _TITLE_SHARE = 0.6, 0.6, 0.35
"""What a word counts that the rest of the other line has, what stands above it, or its document's title, beside one of
its clause."""
_MOST_THINGS, _MOST_ATTRIBUTES, _MOST_OTHER = 2.0, 1.5, 2.0
"""A third word in common says little more than two."""
_ALONE_SHARE: Final = 0.5
_MOST_MINUTES_ALONE: Final = 120
"""Between two hours of one day in two documents that name no other hour of it: one appointment, told twice."""
_SPAN_DAYS: Final = 45
_RATE: Final = re.compile(
    r"\s*(?:/|per|pro|je|par|por|al|alla|la|le|il|l['’]|a|an|der|die|das|im|om|i|de|het|each|jede[nrs]?)?\s*"
    r"(?P<of>[^\W\d_]+)",
    re.IGNORECASE,
)
_EACH: Final = re.compile(rf"[^.;\n]{{0,12}}?(?<!\w){alternation(VOCABULARY.words('each'))}(?!\w)", re.IGNORECASE)
_ANYTHING: Final = -1
"""Stands for what "each" is said of."""

Dimension = str
_Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Likeness:
    """What speaks for two values to be of one thing, and against it; each counts as `_WEIGHTS` says."""

    things: float
    """What the words weigh that name something and that both share."""
    attributes: float
    """What the words weigh that any thing may have, and that both share."""
    coverage: float
    """The share of the shorter clause that the other line says as well: 0 to 1."""
    adjacent: float
    """1 where the word before the value, or the label of its line, is the same."""
    counted: float
    """1 where the same is counted."""
    alone: float
    """1 where each document has one such value, less the more it has."""
    mistyped: float
    """How much both share, where both values have the same digits in another order; of the next three alike."""
    hours: float
    """Of two hours of one day."""
    deadlines: float
    """Of two latest days."""
    limits: float
    """Of a limit, and a value that does not keep it."""
    doing: float
    """1 where two people do the same."""
    roles: float
    """1 where one is wide and the other long."""
    rates: float
    """1 where one is for each night and the other for each head, 0.5 where only one is for each of something."""
    ratio: float
    """The logarithm of the one value through the other, to the base of 2."""
    apart: float
    """The days between two days, through 45."""
    other: float
    """What the words weigh of which the other line has none: of the clause that has less of them."""
    is_person: float
    is_count: float
    is_day: float

    @property
    def score(self) -> float:
        """The logarithm of the odds that both are of one thing."""
        return _BIAS + sum(weight * float(getattr(self, name)) for name, weight in _WEIGHTS.items())


_WEIGHTS: Final[Mapping[str, float]] = {
    "things": 2.8, "attributes": 0.3, "coverage": 0.8, "adjacent": 0.3, "counted": 3.0, "alone": 1.5, "mistyped": 4.0,
    "hours": 6.0, "deadlines": 4.0, "limits": 4.0, "doing": 2.0, "roles": -1.5, "rates": -2.0, "ratio": -1.2,
    "apart": -3.0, "other": -0.5, "is_person": -0.5, "is_count": -1.0, "is_day": 0.5,
}  # fmt: skip
_BIAS: Final = -3.4
"""One less than fitted: on folders by other hands seven of ten reports were none, and a false one costs more trust than
a missed one (docs/benchmarks/projects.md)."""


@dataclass(frozen=True, slots=True)
class _WordWeights:
    """How much a word says about what a line is about: the rarer, the more; 1 for one that a single line has."""

    lines: int
    counts: Mapping[str, int]

    @classmethod
    def of(cls, described: Sequence[DescribedFact]) -> "_WordWeights":
        lines = {(item.fact.document, item.fact.line): item.keys for item in described}
        return cls(max(len(lines), 1), Counter(key for keys in lines.values() for key in keys))

    def of_word(self, word: SubjectWord, shared: Set[str] = frozenset()) -> float:
        """Return the weight of a word, by the rarest of its `shared` keys."""
        rarest = min(self.counts.get(key, 1) for key in word.keys & shared or word.keys)
        return math.log(1 + self.lines / rarest) / math.log(1 + self.lines)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the other facts of a project say about two of them."""

    weights: _WordWeights
    peers: Mapping[tuple[str, Dimension], int]
    """Document and dimension -> how many values of it the document has."""
    days: Mapping[_Place, Set[date]]
    """Document and line -> the days that it names."""

    hours: Mapping[tuple[str, date], int]
    """Document and day -> how many hours of it the document names."""

    def are_alone(self, a: DescribedFact, b: DescribedFact) -> bool:
        """Whether two days have an hour each, not far from each other, and the documents name no other of them."""
        days = [item.fact.day for item in (a, b) if item.fact.day is not None and item.fact.day.time]
        places = [(item.fact.document, day.first) for item, day in zip((a, b), days, strict=False)]
        if len(days) < 2 or any(self.hours[place] > 1 for place in places):
            return False
        minutes = [60 * int(day.time[:2]) + int(day.time[3:]) for day in days]
        return abs(minutes[0] - minutes[1]) <= _MOST_MINUTES_ALONE

    @classmethod
    def of(cls, described: Sequence[DescribedFact]) -> "Surroundings":
        """Return what `described`, the facts of a project, say about each other."""
        peers = Counter((item.fact.document, dimension_of(item)) for item in described)
        days: dict[_Place, set[date]] = defaultdict(set)
        hours = Counter((x.fact.document, x.fact.day.first) for x in described if x.fact.day and x.fact.day.time)
        for item in described:
            if item.fact.day is not None:
                days[item.fact.document, item.fact.line].add(item.fact.day.first)
        return cls(_WordWeights.of(described), peers, days, hours)


def compare_subjects(a: DescribedFact, b: DescribedFact, around: Surroundings) -> Likeness:
    """Return how alike what two facts are of is."""
    is_foreign = a.language != b.language
    one, other = _meet(a, b, around.weights, is_foreign), _meet(b, a, around.weights, is_foreign)
    things = min((one.things + other.things) / 2, _MOST_THINGS)
    attributes = min((one.attributes + other.attributes) / 2, _MOST_ATTRIBUTES)
    shared = min(1.0, things + attributes)
    return Likeness(
        things=things,
        attributes=attributes,
        coverage=max(one.coverage, other.coverage),
        adjacent=float(bool(a.adjacent_keys & b.adjacent_keys)),
        counted=float(bool(a.counted_keys & b.counted_keys)),
        alone=sum(1 / around.peers[item.fact.document, dimension_of(item)] for item in (a, b)) / 2,
        mistyped=shared * (a.fact.quantity is not None and are_mistyped(a.fact, b.fact)),
        hours=max(shared, _ALONE_SHARE * around.are_alone(a, b)) * are_hours_of_one_day(a.fact, b.fact),
        deadlines=shared * are_deadlines(a.fact, b.fact),
        limits=shared * (_is_limit(a) or _is_limit(b)),
        doing=float(bool(a.fact.person and a.clause_concepts & b.clause_concepts & DOING)),
        roles=float(exclude_each_other(a.clause_concepts, b.clause_concepts)),
        rates=_compare_rates(a, b),
        ratio=_log_ratio(a, b),
        apart=_days_between(a, b) / _SPAN_DAYS,
        other=min(one.other, other.other, _MOST_OTHER),
        is_person=float(bool(a.fact.person)),
        is_count=float(a.fact.kind is FactKind.COUNT),
        is_day=float(a.fact.day is not None),
    )


def dimension_of(item: DescribedFact) -> Dimension:
    """Return what a value can be compared with."""
    return item.fact.quantity.dimension if item.fact.quantity is not None else item.fact.kind.value


@dataclass(frozen=True, slots=True)
class _Meeting:
    """What the words of one clause find in the other line."""

    things: float
    attributes: float
    coverage: float
    other: float


def _meet(a: DescribedFact, b: DescribedFact, weights: _WordWeights, is_foreign: bool) -> _Meeting:
    """Look up the words of `a`'s clause in `b`. A word that no table knows says nothing if it is not found in another
    language."""
    zones = (
        (1.0, b.clause_keys),
        (_REST_SHARE, b.rest_keys),
        (_ABOVE_SHARE, b.above_keys),
        (_TITLE_SHARE, b.title_keys),
    )
    things = attributes = total = other = 0.0
    for word in a.clause:
        share, keys = next(((share, keys) for share, keys in zones if word.keys & keys), (0.0, frozenset[str]()))
        weight = weights.of_word(word, keys)
        if not share and is_foreign and not word.is_comparable:
            continue
        total += weight
        if not share:
            other += weight
        elif is_common(word.keys):
            attributes += weight * share
        else:
            things += weight * share
    return _Meeting(things, attributes, (things + attributes) / total if total else 0.0, other)


def _is_limit(item: DescribedFact) -> bool:
    is_quantity = item.fact.quantity is not None
    return is_quantity and (item.marks.is_at_least or item.marks.is_at_most)


def _compare_rates(a: DescribedFact, b: DescribedFact) -> float:
    one, other = _rate_of(a), _rate_of(b)
    if one and other:
        return float(one.isdisjoint(other) and _ANYTHING not in one | other)
    return 0.5 if one or other else 0.0


def _rate_of(item: DescribedFact) -> frozenset[int]:
    """Return the concepts of what a sum is for each of."""
    if item.fact.kind is not FactKind.AMOUNT:
        return frozenset()
    behind = item.raw[item.fact.end :]
    match = _RATE.match(behind)
    concepts = concepts_of(match["of"].casefold()) & UNITS_OF_RATE if match else frozenset()
    return concepts or (frozenset({_ANYTHING}) if _EACH.match(behind) else frozenset())


def _log_ratio(a: DescribedFact, b: DescribedFact) -> float:
    if a.fact.quantity is None or b.fact.quantity is None:
        return 0.0
    low, high = sorted((abs(a.fact.quantity.base), abs(b.fact.quantity.base)))
    return math.log2(high / low) if low else 0.0


def _days_between(a: DescribedFact, b: DescribedFact) -> int:
    return abs((a.fact.day.first - b.fact.day.first).days) if a.fact.day and b.fact.day else 0
