"""Whether two days in notes may be of one thing: none was called off, neither is part of the other, both are ahead.
Pure."""

import re
from typing import Final

from reveries.index.terms import words_of
from reveries.knowledge.facts.model import Bound, Fact
from reveries.knowledge.facts.subjects import concepts_of
from reveries.knowledge.facts.vocabulary import VOCABULARY, alternation

_MOST_DAYS: Final = 45
_LOG_CHARS: Final = 4
_SERIES_WORDS: Final = [word for key in ("next", "next_after", "last", "last_after") for word in VOCABULARY.words(key)]
_SERIES: Final = re.compile(rf"(?<!\w){alternation(_SERIES_WORDS)}(?!\w)", re.IGNORECASE)
"""The next meeting of each minutes is another one."""
_CHANGES: Final = frozenset(
    number for word in ("begins", "ends", "opens", "closes", "valid", "arrives") for number in concepts_of(word)
)
"""What happens on one day, and lasts from there."""


def are_comparable_days(a: Fact, b: Fact) -> bool:
    """Whether two days, or two hours of one, may be of one thing, as far as days alone tell."""
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
