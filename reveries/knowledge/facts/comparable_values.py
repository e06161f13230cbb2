"""Whether two facts may be one value told twice: of one kind, different, and near each other. Pure."""

import math
import re
from typing import Final

from reveries.index.terms import words_of
from reveries.knowledge.facts.model import Bound, Fact
from reveries.knowledge.facts.subjects import concepts_of
from reveries.knowledge.facts.vocabulary import VOCABULARY, alternation

_MOST_RATIO: Final = 1.5
"""Of two values of one subject; beyond it they are mostly two things."""
_MOST_DAYS: Final = 45
_LOG_CHARS: Final = 4
"""A day that begins so early in its line heads it."""
_SERIES_WORDS: Final = [word for key in ("next", "next_after", "last", "last_after") for word in VOCABULARY.words(key)]
_SERIES: Final = re.compile(rf"(?<!\w){alternation(_SERIES_WORDS)}(?!\w)", re.IGNORECASE)
"""The next meeting of each minutes is another one."""
_CHANGES: Final = frozenset(
    number for word in ("begins", "ends", "opens", "closes", "valid", "arrives") for number in concepts_of(word)
)
"""What happens on one day, and lasts from there."""


def may_conflict(a: Fact, b: Fact) -> bool:
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


def are_hours_of_one_day(a: Fact, b: Fact) -> bool:
    return a.day is not None and b.day is not None and a.day.first == b.day.first
