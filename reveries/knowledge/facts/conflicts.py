"""Facts that do not go together: one subject, two values. Pure.

Two facts are compared if they are of one kind, stand in different documents and lie near each other: people who
contradict themselves mix up 54 and 45, not 54 and 5,000. What they are about is compared by the words around them, the
rarer the more. Two lines in different languages share few of them: those are found only by names, and by an hour of the
same day. Embedders were tried there and tell nothing apart (docs/benchmarks/projects.md).
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Final

from reveries.index.terms import words_of
from reveries.knowledge.facts.comparable_values import are_hours_of_one_day, may_conflict
from reveries.knowledge.facts.fact_conflict import Certainty, FactConflict
from reveries.knowledge.facts.fact_subjects import DescribedFact, describe_facts, key_of
from reveries.knowledge.facts.model import Bound, Fact, FactKind
from reveries.knowledge.facts.replaced_values import drop_replaced
from reveries.knowledge.facts.vocabulary import VOCABULARY

_LEAST_SCORE: Final = 0.5
_LEAST_DAY_SCORE: Final = 0.6
"""For two days of one thing: more than one thing happens to everything."""
_LEAST_TWICE_SCORE: Final = 0.45
"""For two days beside which two words agree: what it is about, and what happens to it."""
_LEAST_FOREIGN_SCORE: Final = 0.35
_LEAST_SAME_DAY_SCORE: Final = 0.1
"""For two hours of one day."""
_MOST_NEAR: Final = 60
_LEAST_NEAR_SCORE: Final = 0.05
_LEAST_REPLACED_SCORE: Final = 0.25
"""For a line that says that something changed, and what it changed."""
_MOST_HOURS: Final = 2.0
"""Between two hours of one day in two documents that name no other hour of it: one appointment, told twice."""
_LINE_SHARE, _CONTEXT_SHARE = 0.7, 0.5
"""What a word counts that only the line has, or the heading and the file's name, beside one of the clause."""
_SAME_DIGITS: Final = 0.3
"""Added where both values have the same digits in another order: 157 and 175 are mostly one number, mistyped."""
_MOST_SHARING: Final = 150
"""Values beside a word; one that stands beside more says nothing about which two are of one thing."""


def find_conflicts(facts: Sequence[Fact], documents: Mapping[str, str]) -> list[FactConflict]:
    """Return the pairs of `facts` that contradict each other, the surest first. `documents`: name -> text."""
    return pair_facts(facts, documents)[0]


def pair_facts(facts: Sequence[Fact], documents: Mapping[str, str]) -> tuple[list[FactConflict], list[FactConflict]]:
    """Return the pairs that contradict each other, and those that may, each the surest first. `documents`: name ->
    text."""
    comparable = [fact for fact in facts if fact.kind is not FactKind.OPEN]
    described = describe_facts(comparable, documents)
    weights, alone = _Weights.of(described), _hours_alone(comparable)
    judged = [
        pair
        for a, b in _candidates(described)
        if may_conflict(a.fact, b.fact) and (pair := _compare(a, b, weights, alone)) is not None
    ]
    current = drop_replaced(judged, comparable)
    sure = _strongest([pair for pair in current if pair.certainty is Certainty.SURE])
    taken = {(fact.document, fact.line) for pair in sure for fact in (pair.a, pair.b)}
    near = [pair for pair in current if not {(f.document, f.line) for f in (pair.a, pair.b)} & taken]
    near.sort(key=lambda pair: -pair.score)
    by_lines = {lines: pair for pair in reversed(near) for lines in [_lines_of(pair)]}
    return sure, list(by_lines.values())[::-1][:_MOST_NEAR]


def _lines_of(pair: FactConflict) -> tuple[str, int, str, int]:
    return pair.a.document, pair.a.line, pair.b.document, pair.b.line


def _candidates(described: Sequence[DescribedFact]) -> Iterator[tuple[DescribedFact, DescribedFact]]:
    """Return the pairs that share a word which is not everywhere, or an hour of one day; each once, in order."""
    sharing: dict[tuple[FactKind, str], list[int]] = defaultdict(list)
    for place, item in enumerate(described):
        for key in item.all:
            sharing[item.fact.kind, key].append(place)
        if item.fact.day is not None and item.fact.day.time:
            sharing[item.fact.kind, item.fact.day.first.isoformat()].append(place)
    groups = (places for places in sharing.values() if 1 < len(places) <= _MOST_SHARING)
    pairs = {pair for places in groups for pair in combinations(places, 2)}
    return ((described[a], described[b]) for a, b in sorted(pairs))


def _strongest(pairs: Sequence[FactConflict]) -> list[FactConflict]:
    """Keep each line in its surest pair: what was copied into three notes is one conflict."""
    kept: list[FactConflict] = []
    taken: set[tuple[str, int]] = set()
    for pair in sorted(
        pairs, key=lambda pair: (-pair.score, pair.a.document, pair.a.line, pair.b.document, pair.b.line)
    ):
        places = {(fact.document, fact.line) for fact in (pair.a, pair.b)}
        if not places & taken:
            kept.append(pair)
            taken |= places
    return kept


@dataclass(frozen=True, slots=True)
class _Weights:
    """How much a word says about what a line is about: the rarer, the more."""

    lines: int
    counts: Mapping[str, int]

    @classmethod
    def of(cls, described: Sequence[DescribedFact]) -> "_Weights":
        lines = {(item.fact.document, item.fact.line): item.all for item in described}
        return cls(max(len(lines), 1), Counter(key for keys in lines.values() for key in keys))

    def sum(self, keys: Iterable[str]) -> float:
        return sum(math.log(1 + self.lines / self.counts.get(key, 1)) for key in keys)


def _compare(a: DescribedFact, b: DescribedFact, weights: _Weights, alone: Set[int]) -> FactConflict | None:
    """Return the pair with its score; None if nothing suggests that both are about one thing."""
    shared = (a.near & b.all) | (b.near & a.all)
    score = _share(a, b, weights)
    is_mistyped = sorted(_digits(a.fact)) == sorted(_digits(b.fact))
    if a.fact.day is None and shared and is_mistyped:
        score += _SAME_DIGITS
    is_one_day = are_hours_of_one_day(a.fact, b.fact)
    if is_one_day and {id(a.fact), id(b.fact)} <= alone and _hours_between(a.fact, b.fact) <= _MOST_HOURS:
        score = max(score, _LEAST_SAME_DAY_SCORE)
    is_about_one = bool(a.near & b.near) or len(shared) >= 2 or bool(shared and is_mistyped) or is_one_day
    if a.fact.day is not None and not is_one_day:
        is_about_one = bool(a.near & b.near) and (len(shared) >= 2 or _are_deadlines(a.fact, b.fact))
    least = _least_score(a, b)
    if score < _LEAST_NEAR_SCORE:
        return None
    is_about_one = is_about_one and not _are_two_occasions(a, b)
    is_enough = is_about_one and score >= min(_LEAST_REPLACED_SCORE, least)
    certainty = Certainty.ABOUT_ONE if is_enough else Certainty.NEAR
    if is_enough and score >= least:
        certainty = Certainty.SURE
    words = [a.names.get(key) or b.names.get(key, key) for key in shared]
    return FactConflict(" ".join(sorted(words)) or a.fact.text, a.fact, b.fact, score, certainty)


def _are_two_occasions(a: DescribedFact, b: DescribedFact) -> bool:
    """Whether both lines share no more than a word for what happens often, and each says of what: the deposit of the
    hall and that of the bus, the first delivery and the second."""
    places = [
        {VOCABULARY.ordinals[word] for word in words_of(item.fact.text) if word in VOCABULARY.ordinals}
        for item in (a, b)
    ]
    if all(places) and places[0].isdisjoint(places[1]):
        return True
    shared, occasions = a.all & b.all, _occasion_keys()
    if not shared or not shared <= occasions:
        return False
    return bool((a.line | a.heading) - b.all - occasions) and bool((b.line | b.heading) - a.all - occasions)


@cache
def _occasion_keys() -> frozenset[str]:
    return frozenset(key_of(word) for word in VOCABULARY.words("occasions"))


def _least_score(a: DescribedFact, b: DescribedFact) -> float:
    if are_hours_of_one_day(a.fact, b.fact):
        return _LEAST_SAME_DAY_SCORE
    if a.fact.day is not None:
        return _LEAST_DAY_SCORE if len(a.near & b.near) < 2 else _LEAST_TWICE_SCORE
    # Two languages share only names and what the table of concepts has.
    return _LEAST_FOREIGN_SCORE if a.language != b.language and a.near & b.near else _LEAST_SCORE


def _are_deadlines(a: Fact, b: Fact) -> bool:
    return a.day is not None and b.day is not None and a.day.bound is b.day.bound is Bound.BY


def _hours_between(a: Fact, b: Fact) -> float:
    assert a.day is not None
    assert b.day is not None
    hours = [int(fact.time[:2]) + int(fact.time[3:]) / 60 for fact in (a.day, b.day)]
    return abs(hours[0] - hours[1])


def _hours_alone(facts: Sequence[Fact]) -> Set[int]:
    """Return the ids of the facts that alone give a day an hour in their document."""
    timed = [fact for fact in facts if fact.day is not None and fact.day.time]
    counts = Counter((fact.document, fact.day.first) for fact in timed if fact.day is not None)
    return {id(fact) for fact in timed if fact.day is not None and counts[fact.document, fact.day.first] == 1}


def _digits(fact: Fact) -> str:
    return "".join(sign for sign in fact.value if sign.isdecimal())


def _share(a: DescribedFact, b: DescribedFact, weights: _Weights) -> float:
    """Return how much of what the shorter clause says the other line says, too: 0 to 1."""
    both_near = weights.sum(a.near & b.near)
    near = weights.sum((a.near & b.line | b.near & a.line) - (a.near & b.near))
    around = weights.sum((a.near & b.context) | (b.near & a.context))
    whole = min(weights.sum(a.near), weights.sum(b.near))
    return (both_near + _LINE_SHARE * near + _CONTEXT_SHARE * around) / whole if whole else 0.0
