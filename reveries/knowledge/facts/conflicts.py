"""Facts that do not go together: one subject, two values. Pure.

Two facts are compared if they are of one kind, stand in different documents and lie near each other: people who
contradict themselves mix up 54 and 45, not 54 and 5,000. What they are about is compared by the words around them, the
rarer the more. Two lines in different languages share few of them: those are found only by names, and by an hour of the
same day. The English embedder was tried there and tells nothing (a tank and its réservoir 0.44, a tank and wine 0.32).
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property
from itertools import combinations
from pathlib import PurePosixPath
from typing import Final

from reveries.index.terms import stem, words_of
from reveries.knowledge.facts.lines import CHAT_STAMP
from reveries.knowledge.facts.model import Bound, Fact, FactKind
from reveries.knowledge.facts.note_lines import broken_lines
from reveries.knowledge.facts.questions import LIGHT_WORDS
from reveries.knowledge.facts.subjects import concepts_of, fold
from reveries.knowledge.facts.vocabulary import VOCABULARY, alternation, pattern_of

_MOST_RATIO: Final = 1.5
"""Of two values of one subject; beyond it they are mostly two things."""
_MOST_DAYS: Final = 45
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
_KEY_CHARS: Final = 6
"""Letters that tell one word from another in any language; the rest is mostly ending."""
_LOG_CHARS: Final = 4
_LABEL_WORDS: Final = 5
_LABEL: Final = re.compile(r"^(?:\W|\d+[.)])*(?P<label>[^:*\d]{2,60}?)\s*(?::(?!\d)|[.:]\*\*|\*\*)")
"""What stands before a colon, or in bold at the beginning."""
_CHANGED: Final = re.compile(rf"(?<!\w){pattern_of(VOCABULARY.words('changed'))}(?!\w)", re.IGNORECASE)
_SERIES_WORDS: Final = [word for key in ("next", "next_after", "last", "last_after") for word in VOCABULARY.words(key)]
_SERIES: Final = re.compile(rf"(?<!\w){alternation(_SERIES_WORDS)}(?!\w)", re.IGNORECASE)
"""The next meeting of each minutes is another one."""
_CLAUSE: Final = re.compile(r"[.;!?]\s+|,\s+|\s[-–—]\s|\s(?:and|und|et|y|e|en|og)\s")
_TIME_WORDS: Final = frozenset(VOCABULARY.duration_units) | {
    "year",
    "years",
    "jahr",
    "année",
    "año",
    "anno",
    "jaar",
    "år",
}
_CHANGES: Final = frozenset(
    number for word in ("begins", "ends", "opens", "closes", "valid", "arrives") for number in concepts_of(word)
)
"""What happens on one day, and lasts from there."""
_EACH_WORDS: Final = frozenset(
    word
    for key in ("each", "rate", "deadline", "clock_at")
    for phrase in VOCABULARY.words(key)
    for word in phrase.split()
    if key != "deadline" or " " not in phrase
)
"""They tell how a value is meant, not of what."""


class Certainty(StrEnum):
    SURE = "sure"
    """The words suffice."""
    ABOUT_ONE = "about_one"
    """They suffice beside a line that says that something changed."""
    NEAR = "near"
    """Somebody who understands the lines has to judge."""


@dataclass(frozen=True, slots=True)
class FactConflict:
    """Two facts of which at most one holds."""

    subject: str
    """The words that both share."""
    a: Fact
    b: Fact
    score: float
    certainty: Certainty = Certainty.SURE


@dataclass(frozen=True)
class _Described:
    """A fact with the words that say what it is about."""

    fact: Fact
    near: frozenset[str]
    """Keys of the words of its clause."""
    line: frozenset[str]
    context: frozenset[str]
    """Keys of the words of the heading, the question above and the file's name."""
    heading: frozenset[str]
    """Keys of the words of the heading alone."""
    names: Mapping[str, str]
    """Key -> the word as it stands there."""
    language: str
    """That of the document."""

    @cached_property
    def all(self) -> frozenset[str]:
        return self.line | self.context


def find_conflicts(facts: Sequence[Fact], documents: Mapping[str, str]) -> list[FactConflict]:
    """Return the pairs of `facts` that contradict each other, the surest first. `documents`: name -> text."""
    return pair_facts(facts, documents)[0]


def pair_facts(facts: Sequence[Fact], documents: Mapping[str, str]) -> tuple[list[FactConflict], list[FactConflict]]:
    """Return the pairs that contradict each other, and those that may, each the surest first. `documents`: name ->
    text."""
    texts = {name: text.splitlines() for name, text in documents.items()}
    comparable = [fact for fact in facts if fact.kind is not FactKind.OPEN]
    languages = {name: _language_of(text) for name, text in documents.items()}
    described = [_describe(fact, texts.get(fact.document, []), languages.get(fact.document, "")) for fact in comparable]
    lines = _lines_of_values(comparable)
    weights, alone = _Weights.of(described), _hours_alone(comparable)
    judged = [
        pair
        for a, b in _candidates(described)
        if _may_conflict(a.fact, b.fact) and (pair := _compare(a, b, weights, alone)) is not None
    ]
    replaced = {
        id(old): new.value
        for pair in judged
        if pair.certainty is not Certainty.NEAR and (old := _replaced_of(pair))
        for new in [pair.b if old is pair.a else pair.a]
    }
    current = [pair for pair in judged if not _is_replaced(pair, replaced) and not _is_of_series(pair, lines)]
    sure = _strongest([pair for pair in current if pair.certainty is Certainty.SURE])
    taken = {(fact.document, fact.line) for pair in sure for fact in (pair.a, pair.b)}
    near = [pair for pair in current if not {(f.document, f.line) for f in (pair.a, pair.b)} & taken]
    near.sort(key=lambda pair: -pair.score)
    return sure, list({lines: pair for pair in reversed(near) for lines in [_lines_of(pair)]}.values())[::-1][
        :_MOST_NEAR
    ]


def _lines_of(pair: FactConflict) -> tuple[str, int, str, int]:
    return pair.a.document, pair.a.line, pair.b.document, pair.b.line


def says_changed(fact: Fact) -> bool:
    """Whether the line of a fact says that something is another now than it was."""
    return _CHANGED.search(fact.text) is not None


def _replaced_of(pair: FactConflict) -> Fact | None:
    """Return the fact of a pair that the other one, written later, says to have changed; None without such a word."""
    a, b = pair.a, pair.b
    if a.starts_later is not b.starts_later and a.day is None:
        return b if a.starts_later else a
    if a.written_on is None or b.written_on is None or a.written_on == b.written_on:
        return None
    old, new = (a, b) if a.written_on < b.written_on else (b, a)
    return old if says_changed(new) else None


def _is_replaced(pair: FactConflict, replaced: Mapping[int, str]) -> bool:
    """Whether one side of a pair was replaced by what the other side says, here or in a third document."""
    return (
        _replaced_of(pair) is not None
        or replaced.get(id(pair.a)) == pair.b.value
        or replaced.get(id(pair.b)) == pair.a.value
    )


def _is_of_series(pair: FactConflict, lines: Mapping[tuple[str, FactKind, str, str | None], Set[int]]) -> bool:
    """Whether one document has the other's value as well, in another line: what recurs has several values."""
    return any(
        lines.get((own.document, other.kind, other.value, other.unit), frozenset()) - {own.line}
        for own, other in ((pair.a, pair.b), (pair.b, pair.a))
    )


def _lines_of_values(facts: Sequence[Fact]) -> Mapping[tuple[str, FactKind, str, str | None], Set[int]]:
    lines: dict[tuple[str, FactKind, str, str | None], set[int]] = defaultdict(set)
    for fact in facts:
        lines[fact.document, fact.kind, fact.value, fact.unit].add(fact.line)
    return lines


def _candidates(described: Sequence[_Described]) -> Iterator[tuple[_Described, _Described]]:
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
    def of(cls, described: Sequence[_Described]) -> "_Weights":
        lines = {(item.fact.document, item.fact.line): item.all for item in described}
        return cls(max(len(lines), 1), Counter(key for keys in lines.values() for key in keys))

    def sum(self, keys: Iterable[str]) -> float:
        return sum(math.log(1 + self.lines / self.counts.get(key, 1)) for key in keys)


def _language_of(text: str) -> str:
    """Return the language whose small words are most of a text."""
    words = Counter(words_of(text))
    return max(
        VOCABULARY.languages,
        key=lambda code: sum(words[word] for word in VOCABULARY.languages[code]["stop"]),
    )


def _describe(fact: Fact, lines: Sequence[str], language: str) -> _Described:
    raw = lines[fact.line - 1] if 0 < fact.line <= len(lines) else fact.text
    stamp = CHAT_STAMP.match(raw)
    begin = stamp.end() if stamp else 0
    above = _words_above(fact, lines)
    names = {_key(word): word for word in words_of(" ".join((above, raw[begin:]))) if _is_content(word)}
    light = LIGHT_WORDS.get(language, frozenset())
    near, line, context = (_keys(text, light) for text in (_subject(raw, begin, fact), raw[begin:], above))
    heading = _keys(_heading_above(fact, lines), light)
    return _Described(fact, near, line, context - line, heading, names, language)


def _keys(text: str, light: Set[str] = frozenset()) -> frozenset[str]:
    return frozenset(_key(word) for word in words_of(text) if _is_content(word) and fold(word) not in light)


def _subject(raw: str, begin: int, fact: Fact) -> str:
    """Return the words that say what a value is of: the label before a colon, else those of its clause."""
    label = _LABEL.match(raw[begin:])
    is_label = label and len(label["label"].split()) <= _LABEL_WORDS and begin + label.end() <= fact.start
    named = label["label"] if label and is_label else ""
    is_heading = label is not None and label.group().endswith("*")
    if fact.day is None and not is_heading and _keys(named):
        return named
    clause = f"{named} {_clause_around(raw[begin:], fact.start - begin, fact.end - begin)}"
    return clause if _keys(clause) else raw[begin:]


def _words_above(fact: Fact, lines: Sequence[str]) -> str:
    """Return the heading over a line, the question that it answers, and the words of the file's name."""
    heading = _heading_above(fact, lines)
    before = lines[fact.line - 2] if fact.line >= 2 else ""
    asked = before if re.match(r"\s*\w{1,9}\s*:.*\?\s*$", before) else ""
    name = re.sub(r"[\d_-]+", " ", PurePosixPath(fact.document).stem)
    return " ".join((heading, asked, name, *broken_lines(lines, fact.line - 1)))


def _heading_above(fact: Fact, lines: Sequence[str]) -> str:
    return next((line for line in reversed(lines[: fact.line - 1]) if line.lstrip().startswith("#")), "")


def _clause_around(raw: str, start: int, end: int) -> str:
    """Return the clause around a value without the value itself; one that says nothing else, with those before it."""
    cuts = [0, *(match.end() for match in _CLAUSE.finditer(raw)), len(raw)]
    first = max(cut for cut in cuts if cut <= start)
    last = min((cut for cut in cuts if cut >= end), default=len(raw))
    while first > 0 and not _keys(f"{raw[first:start]} {raw[end:last]}"):
        first = max(cut for cut in cuts if cut < first)
    return f"{raw[first:start]} {raw[end:last]}"


def _key(word: str) -> str:
    """Return what tells a word from others: what it means in any language, where that is one thing, else its begin."""
    concepts = concepts_of(word)
    return f"={min(concepts)}" if len(concepts) == 1 else stem(word)[:_KEY_CHARS]


def _is_content(word: str) -> bool:
    is_named_time = word in VOCABULARY.months or word in VOCABULARY.weekdays
    is_unit = word in VOCABULARY.units or word in VOCABULARY.currencies
    return (
        len(word) > 2
        and not any(sign.isdigit() for sign in word)
        and not (is_named_time or is_unit or word in VOCABULARY.stop_words or word in _EACH_WORDS)
    )


def _may_conflict(a: Fact, b: Fact) -> bool:
    """Whether two facts are comparable, differ, and lie near enough to be one value told twice."""
    if a.kind is not b.kind or a.document == b.document:
        return False
    if a.quantity is not None and b.quantity is not None:
        return _are_near_quantities(a, b)
    if a.day is not None and b.day is not None:
        return _are_near_days(a, b)
    return bool(a.time and b.time and a.time != b.time)


def _are_near_quantities(a: Fact, b: Fact) -> bool:
    assert a.quantity is not None
    assert b.quantity is not None
    if a.quantity.dimension != b.quantity.dimension:
        return False
    if a.quantity.dimension == "money" and a.quantity.unit != b.quantity.unit:
        return False
    low, high = sorted((abs(a.quantity.base), abs(b.quantity.base)))
    # A rounded value is not another one: 57 ft is 17.4 m.
    is_same = math.isclose(low, high, rel_tol=0.005)
    return low > 0 and not is_same and high / low <= _MOST_RATIO and not _is_share(a, b)


def _is_share(a: Fact, b: Fact) -> bool:
    """Whether a line names the share that one value is of the other: 4,480 of 6,400, "70 % in advance"."""
    shares = [float(share) / 100 for share in re.findall(r"(\d{1,2})\s?%", f"{a.text} {b.text}")]
    assert a.quantity is not None
    assert b.quantity is not None
    low, high = sorted((abs(a.quantity.base), abs(b.quantity.base)))
    return any(math.isclose(low, high * part, rel_tol=0.01) for share in shares for part in (share, 1 - share))


def _are_near_days(a: Fact, b: Fact) -> bool:
    assert a.day is not None
    assert b.day is not None
    if a.day.is_cancelled or b.day.is_cancelled:
        return False
    if a.day.first == b.day.first:
        return bool(a.day.time and b.day.time and a.day.time != b.day.time)
    # One is part of the other's span.
    if a.day.first <= b.day.first <= a.day.last or b.day.first <= a.day.first <= b.day.last:
        return False
    if _is_record(a) is not _is_record(b):
        return False
    if _dates_its_line(a) or _dates_its_line(b) or (_SERIES.search(a.text) and _SERIES.search(b.text)):
        return False
    is_same_bound = a.day.bound is b.day.bound or Bound.FROM not in (a.day.bound, b.day.bound)
    if not is_same_bound and not _name_one_change(a, b):
        return False
    return abs((a.day.first - b.day.first).days) <= _MOST_DAYS


def _is_record(fact: Fact) -> bool:
    """Whether a day was over when it was written down: what was, and what is to come, are two things."""
    assert fact.day is not None
    return fact.written_on is not None and fact.day.last < fact.written_on


def _name_one_change(a: Fact, b: Fact) -> bool:
    """Whether both lines say that one thing begins, ends, opens, closes or holds: from that day on is on that day."""
    changes = [_CHANGES & {number for word in words_of(fact.text) for number in concepts_of(word)} for fact in (a, b)]
    return not changes[0].isdisjoint(changes[1])


def _dates_its_line(fact: Fact) -> bool:
    """Whether a day only says when the rest of its line happened: an entry of a log, a row of a table."""
    assert fact.day is not None
    return fact.day.first == fact.written_on or fact.start <= _LOG_CHARS


def _compare(a: _Described, b: _Described, weights: _Weights, alone: Set[int]) -> FactConflict | None:
    """Return the pair with its score; None if nothing suggests that both are about one thing."""
    shared = (a.near & b.all) | (b.near & a.all)
    score = _share(a, b, weights)
    is_mistyped = sorted(_digits(a.fact)) == sorted(_digits(b.fact))
    if a.fact.day is None and shared and is_mistyped:
        score += _SAME_DIGITS
    is_one_day = _are_hours_of_one_day(a.fact, b.fact)
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


def _are_two_occasions(a: _Described, b: _Described) -> bool:
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
    return frozenset(_key(word) for word in VOCABULARY.words("occasions"))


def _least_score(a: _Described, b: _Described) -> float:
    if _are_hours_of_one_day(a.fact, b.fact):
        return _LEAST_SAME_DAY_SCORE
    if a.fact.day is not None:
        return _LEAST_DAY_SCORE if len(a.near & b.near) < 2 else _LEAST_TWICE_SCORE
    # Two languages share only names and what the table of concepts has.
    return _LEAST_FOREIGN_SCORE if a.language != b.language and a.near & b.near else _LEAST_SCORE


def _are_deadlines(a: Fact, b: Fact) -> bool:
    return a.day is not None and b.day is not None and a.day.bound is b.day.bound is Bound.BY


def _are_hours_of_one_day(a: Fact, b: Fact) -> bool:
    return a.day is not None and b.day is not None and a.day.first == b.day.first


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


def _share(a: _Described, b: _Described, weights: _Weights) -> float:
    """Return how much of what the shorter clause says the other line says, too: 0 to 1."""
    both_near = weights.sum(a.near & b.near)
    near = weights.sum((a.near & b.line | b.near & a.line) - (a.near & b.near))
    around = weights.sum((a.near & b.context) | (b.near & a.context))
    whole = min(weights.sum(a.near), weights.sum(b.near))
    return (both_near + _LINE_SHARE * near + _CONTEXT_SHARE * around) / whole if whole else 0.0
