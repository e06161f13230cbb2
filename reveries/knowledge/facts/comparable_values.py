"""Whether two values may be one thing told twice: of one kind, different, and near enough to be mixed up. Pure."""

import math
import re
from typing import Final

from reveries.knowledge.facts.comparable_days import are_comparable_days
from reveries.knowledge.facts.fact_subjects import DescribedFact
from reveries.knowledge.facts.model import Bound, Fact, Quantity

_MOST_RATIO: Final = 2.0
"""Of two values of one subject; beyond it they are mostly two things: people mix up 54 and 45, not 54 and 5,000."""
_SAME: Final = 0.005
"""Two measures that differ by no more are one, rounded."""
_SAME_CONVERTED: Final = 0.012
"""Of a foot or a pound and a metric unit: 57 ft is 17.4 m."""
_SAME_ABOUT: Final = 0.06
"""Of two values of which one is said to be about right."""
_MOST_HOURS: Final = 3.0
_IMPERIAL: Final = frozenset({"ft", "in", "mi", "lb"})
_TWO: Final = re.compile(r"(?<![\w.,:/])2(?![\w.,:/])|(?<!\w)(?:two|zwei|deux|dos|due|twee|to)(?!\w)", re.IGNORECASE)


def may_conflict(a: DescribedFact, b: DescribedFact) -> bool:
    """Whether two facts of two documents are comparable, differ, and lie near enough to be one value told twice."""
    one, other = a.fact, b.fact
    if one.kind is not other.kind or one.document == other.document:
        return False
    if one.quantity is not None and other.quantity is not None:
        return _are_near_quantities(a, one.quantity, b, other.quantity)
    if one.day is not None and other.day is not None:
        return are_comparable_days(one, other)
    if one.time and other.time:
        return 0 < abs(_hour_of(one.time) - _hour_of(other.time)) <= _MOST_HOURS
    return bool(one.person and other.person) and one.person != other.person


def are_equal(a: DescribedFact, b: DescribedFact) -> bool:
    """Whether two facts say the same value."""
    one, other = a.fact, b.fact
    if one.kind is not other.kind:
        return False
    if one.quantity is not None and other.quantity is not None:
        is_near = math.isclose(one.quantity.base, other.quantity.base, rel_tol=_tolerance(a, b))
        return is_near and _are_of_one_unit(a, b)
    return one.value == other.value


def are_mistyped(a: Fact, b: Fact) -> bool:
    """Whether two values have the same digits in another order: 157 and 175 are mostly one number."""
    digits = [sorted(sign for sign in fact.value if sign.isdecimal()) for fact in (a, b)]
    return digits[0] == digits[1] and len(digits[0]) > 1


def are_hours_of_one_day(a: Fact, b: Fact) -> bool:
    """Whether both name one day, and may name two hours of it."""
    return a.day is not None and b.day is not None and a.day.first == b.day.first


def are_deadlines(a: Fact, b: Fact) -> bool:
    """Whether both days are latest ones."""
    return a.day is not None and b.day is not None and a.day.bound is b.day.bound is Bound.BY


def _hour_of(time: str) -> float:
    return int(time[:2]) + int(time[3:]) / 60


def _are_of_one_unit(a: DescribedFact, b: DescribedFact) -> bool:
    """Whether two quantities can be compared. Money is never converted; a sum whose line names no currency may be of
    any."""
    one, other = a.fact.quantity, b.fact.quantity
    if one is None or other is None or one.dimension != other.dimension:
        return False
    return one.dimension != "money" or one.unit == other.unit or not (a.marks.has_currency and b.marks.has_currency)


def _tolerance(a: DescribedFact, b: DescribedFact) -> float:
    if a.marks.is_about or b.marks.is_about:
        return _SAME_ABOUT
    units = {a.fact.unit, b.fact.unit}
    return _SAME_CONVERTED if len(units) > 1 and units & _IMPERIAL else _SAME


def _are_near_quantities(a: DescribedFact, one: Quantity, b: DescribedFact, other: Quantity) -> bool:
    low, high = sorted((abs(one.base), abs(other.base)))
    if one.dimension != other.dimension or not low > 0 or high / low > _MOST_RATIO or are_equal(a, b):
        return False
    is_double = math.isclose(high, 2 * low) and _TWO.search(f"{a.raw} {b.raw}") is not None
    is_kept = _keeps_limit(a, one, other) or _keeps_limit(b, other, one)
    return _are_of_one_unit(a, b) and not is_double and not is_kept and not _is_share(a, b, low / high)


def _keeps_limit(item: DescribedFact, limit: Quantity, other: Quantity) -> bool:
    """Whether one value is a limit that the other one keeps: "at most 20 minutes" and a film of 18."""
    is_more, is_less = other.base >= limit.base, other.base <= limit.base
    return (item.marks.is_at_least and is_more) or (item.marks.is_at_most and is_less)


def _is_share(a: DescribedFact, b: DescribedFact, ratio: float) -> bool:
    """Whether a line names the share that one value is of the other: 4,480 of 6,400, "70 % in advance"."""
    shares = a.marks.shares | b.marks.shares
    return any(math.isclose(ratio, part, rel_tol=0.01) for share in shares for part in (share, 1 - share))
