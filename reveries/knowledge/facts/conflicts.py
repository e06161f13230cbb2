"""Facts that do not go together: one subject, two values. Pure.

Two facts are compared if they are of one kind, stand in different documents and lie near each other. What they are of
is compared by the words around them (`subject_likeness`), in one language or two. Of the lines of a document only the
likest one is taken, also where it says the same: who agrees with the note on the hall contradicts it about the bus as
little. The English embedder was tried for lines in two languages and tells nothing (a tank and its réservoir 0.44, a
tank and wine 0.32).
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final

from reveries.knowledge.facts.comparable_values import are_equal, may_conflict
from reveries.knowledge.facts.concept_families import is_common
from reveries.knowledge.facts.doers import find_doers
from reveries.knowledge.facts.fact_conflict import Certainty, FactConflict
from reveries.knowledge.facts.fact_subjects import DescribedFact, describe_facts
from reveries.knowledge.facts.model import Fact, FactKind
from reveries.knowledge.facts.other_things import are_told_apart, find_forms
from reveries.knowledge.facts.replaced_values import drop_replaced
from reveries.knowledge.facts.subject_likeness import Surroundings, compare_subjects
from reveries.knowledge.facts.totals import drop_parts, find_wrong_totals

_LEAST_SURE: Final = 0.0
_LEAST_ABOUT_ONE: Final = -1.5
_LEAST_NEAR: Final = -3.0
_MOST_NEAR: Final = 60
_MOST_SHARING: Final = 150
"""Values beside a word; one that stands beside more says nothing about which two are of one thing."""


def find_conflicts(facts: Sequence[Fact], documents: Mapping[str, str]) -> list[FactConflict]:
    """Return the pairs of `facts` that contradict each other, the surest first. `documents`: name -> text."""
    return pair_facts(facts, documents)[0]


def pair_facts(facts: Sequence[Fact], documents: Mapping[str, str]) -> tuple[list[FactConflict], list[FactConflict]]:
    """Return the pairs that contradict each other, and those that may, each the surest first. `documents`: name ->
    text."""
    comparable = [fact for fact in facts if fact.kind is not FactKind.OPEN] + find_doers(documents)
    described = describe_facts(comparable, documents)
    around = Surroundings.of(described)
    judged = _judge(described, around)
    current = drop_parts(drop_replaced(judged, comparable), comparable)
    sure = _strongest(find_wrong_totals(facts, documents) + [p for p in current if p.certainty is Certainty.SURE])
    taken = {(fact.document, fact.line) for pair in sure for fact in (pair.a, pair.b)}
    near = [pair for pair in current if not {(f.document, f.line) for f in (pair.a, pair.b)} & taken]
    near.sort(key=lambda pair: -pair.score)
    by_lines = {lines: pair for pair in reversed(near) for lines in [_lines_of(pair)]}
    return sure, list(by_lines.values())[::-1][:_MOST_NEAR]


def _judge(described: Sequence[DescribedFact], around: Surroundings) -> list[FactConflict]:
    """Return the pairs that may contradict each other: of the lines of each document the likest."""
    scored = [(a, b, compare_subjects(a, b, around).score) for a, b in _candidates(described)]
    forms = find_forms(described)
    best: dict[tuple[int, str], float] = defaultdict(lambda: float("-inf"))
    for a, b, score in scored:
        for own, other in ((a, b), (b, a)):
            place = id(own.fact), other.fact.document
            best[place] = max(best[place], score)
    return [
        FactConflict(_name_subject(a, b), a.fact, b.fact, score, _certainty_of(score))
        for a, b, score in scored
        if score >= _LEAST_NEAR
        and may_conflict(a, b)
        and not are_told_apart(a, b, around, forms)
        and score >= best[id(a.fact), b.fact.document]
        and score >= best[id(b.fact), a.fact.document]
    ]


def _candidates(described: Sequence[DescribedFact]) -> Iterator[tuple[DescribedFact, DescribedFact]]:
    """Return the pairs of two documents that share a word which is not everywhere, or an hour of one day, and differ or
    agree; each once, in order."""
    sharing: dict[tuple[FactKind, str], list[int]] = defaultdict(list)
    for place, item in enumerate(described):
        for key in item.keys:
            sharing[item.fact.kind, key].append(place)
        if item.fact.day is not None and item.fact.day.time:
            sharing[item.fact.kind, item.fact.day.first.isoformat()].append(place)
    groups = (places for places in sharing.values() if 1 < len(places) <= _MOST_SHARING)
    pairs = sorted({pair for places in groups for pair in combinations(places, 2)})
    for one, other in pairs:
        a, b = described[one], described[other]
        if a.fact.person and not _do_the_same(a, b):
            continue
        is_agreeing = not a.fact.person and are_equal(a, b)
        if a.fact.document != b.fact.document and (is_agreeing or may_conflict(a, b)):
            yield a, b


def _do_the_same(a: DescribedFact, b: DescribedFact) -> bool:
    """Whether two people are named beside something that both clauses are about."""
    shared = (word for word in a.clause if word.keys & b.clause_keys)
    return any(not is_common(word.keys) for word in shared)


def _certainty_of(score: float) -> Certainty:
    if score >= _LEAST_SURE:
        return Certainty.SURE
    return Certainty.ABOUT_ONE if score >= _LEAST_ABOUT_ONE else Certainty.NEAR


def _name_subject(a: DescribedFact, b: DescribedFact) -> str:
    shared = [word.text for word in a.clause if word.keys & (b.clause_keys | b.rest_keys)]
    return " ".join(sorted(shared)) or a.fact.text


def _lines_of(pair: FactConflict) -> tuple[str, int, str, int]:
    return pair.a.document, pair.a.line, pair.b.document, pair.b.line


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
