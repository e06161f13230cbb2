"""What shows that two values are of two things, however alike their lines are: the first delivery and the second, the
draft and the report, the account in May and in June, two filled forms. Pure."""

from collections.abc import Iterable, Sequence, Set
from functools import cache
from itertools import combinations
from typing import Final

from reveries.knowledge.facts.concept_families import MARKS, PAPERS, is_common
from reveries.knowledge.facts.fact_subjects import DescribedFact, SubjectWord, read_word
from reveries.knowledge.facts.model import FactKind
from reveries.knowledge.facts.subject_likeness import Dimension, Surroundings, dimension_of
from reveries.knowledge.facts.vocabulary import VOCABULARY

_LEAST_LABELS: Final = 3
_LABEL_SHARE: Final = 0.5
"""Of the values of a document: so many have to stand in the other one, too, each with another value."""
_MOST_TITLE_WORDS: Final = 4

_MARK_KEYS: Final = frozenset(f"={number}" for number in MARKS)

Documents = frozenset[str]


def find_forms(described: Sequence[DescribedFact]) -> Set[Documents]:
    """Return the pairs of documents that say most of the same, and other values: two filled forms, two records."""
    labels: dict[str, dict[tuple[Dimension, frozenset[str]], DescribedFact]] = {}
    for item in described:
        if item.clause:
            key = dimension_of(item), frozenset(word.text for word in item.clause)
            labels.setdefault(item.fact.document, {})[key] = item
    return {frozenset((a, b)) for a, b in combinations(sorted(labels), 2) if _are_forms(labels[a], labels[b])}


def _are_forms(
    a: dict[tuple[Dimension, frozenset[str]], DescribedFact], b: dict[tuple[Dimension, frozenset[str]], DescribedFact]
) -> bool:
    differing = sum(a[key].fact.value != b[key].fact.value for key in a.keys() & b.keys())
    return differing >= _LEAST_LABELS and differing >= _LABEL_SHARE * min(len(a), len(b))


def are_told_apart(a: DescribedFact, b: DescribedFact, around: Surroundings, forms: Set[Documents]) -> bool:
    """Whether something shows that two values are of two things. `forms`: see `find_forms`."""
    return (
        frozenset((a.fact.document, b.fact.document)) in forms
        or _are_of_two_places_in_row(a, b)
        or _are_named_apart(a.name, b.name)
        or _are_named_apart(a.heading, b.heading)
        or _are_of_other_years(a, b)
        or _are_dated_apart(a, b, around)
        or _is_of_part(a, b)
        or _is_of_part(b, a)
        or _are_two_occasions(a, b)
        or _are_named_with_two_words(a, b)
    )


def _are_of_two_places_in_row(a: DescribedFact, b: DescribedFact) -> bool:
    """The first delivery, and the second."""
    one, other = ({key for key in item.clause_keys if key.startswith("#")} for item in (a, b))
    return bool(one and other) and one.isdisjoint(other)


def _are_named_apart(one: Sequence[SubjectWord], other: Sequence[SubjectWord]) -> bool:
    """Whether the names of two files, or two headings, are of two things of one kind: "Room North" and "Room South";
    two letters may be about one thing."""
    if not (1 < len(one) <= _MOST_TITLE_WORDS and 1 < len(other) <= _MOST_TITLE_WORDS):
        return False
    is_kind = bool(one[0].keys & other[0].keys) and not one[0].keys & PAPERS
    return is_kind and _keys_of(one[1:]).isdisjoint(_keys_of(other[1:]))


def _keys_of(words: Iterable[SubjectWord]) -> frozenset[str]:
    return frozenset[str]().union(*(word.keys for word in words))


def _are_of_other_years(a: DescribedFact, b: DescribedFact) -> bool:
    """Whether one line speaks of a year that was over when it was written, and the other one of none, or another."""
    if a.fact.day is not None:
        return False
    years = (a.marks.years, b.marks.years)
    is_past = any(
        own and item.fact.written_on is not None and max(own) < item.fact.written_on.year
        for own, item in zip(years, (a, b), strict=True)
    )
    return is_past and years[0].isdisjoint(years[1])


def _are_dated_apart(a: DescribedFact, b: DescribedFact, around: Surroundings) -> bool:
    """Whether both lines name the day of what they say, and two days."""
    if a.fact.day is not None:
        return False
    one, other = (around.days.get((item.fact.document, item.fact.line), frozenset()) for item in (a, b))
    return bool(one and other) and one.isdisjoint(other)


def _is_of_part(a: DescribedFact, b: DescribedFact) -> bool:
    """Whether one clause is of a part, or of another such thing, of which the other line says nothing."""
    return any(word.keys & _MARK_KEYS and not word.keys & b.keys for word in a.clause)


def _are_two_occasions(a: DescribedFact, b: DescribedFact) -> bool:
    """Whether both lines share no more than a word for what happens often, and each says of what: the deposit of the
    hall and that of the bus."""
    occasions = _occasion_keys()
    shared = [word for word in a.clause if word.keys & b.keys]
    is_bare = bool(shared) and all(word.keys & occasions for word in shared)
    return is_bare and _says_of_what(a, b, occasions) and _says_of_what(b, a, occasions)


def _says_of_what(a: DescribedFact, b: DescribedFact, occasions: Set[str]) -> bool:
    is_foreign = a.language != b.language
    return any(
        not word.keys & (b.keys | occasions) and not is_common(word.keys) and (word.is_comparable or not is_foreign)
        for word in (*(a.clause if len(a.clause) < _MOST_TITLE_WORDS else ()), *a.heading)
    )


def _are_named_with_two_words(a: DescribedFact, b: DescribedFact) -> bool:
    """Whether two short clauses of one language share a single word for a thing, and each says which: the door of the
    kitchen, and that of the shed."""
    is_other_kind = a.fact.kind in (FactKind.PERSON, FactKind.COUNT) or a.language != b.language
    if is_other_kind or max(len(a.clause), len(b.clause)) > _MOST_TITLE_WORDS:
        return False
    shared = [word for word in a.clause if word.keys & b.keys and not is_common(word.keys)]
    return len(shared) <= 1 and all(
        any(not word.keys & other.keys and not is_common(word.keys) for word in own.clause)
        for own, other in ((a, b), (b, a))
    )


@cache
def _occasion_keys() -> frozenset[str]:
    return _keys_of(read_word(word) for word in VOCABULARY.words("occasions"))
