"""Which of two values is history: the line of the other one says so, or it holds from a later day. Pure."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from typing import Final

from reveries.knowledge.facts.fact_conflict import Certainty, FactConflict
from reveries.knowledge.facts.model import Fact, FactKind
from reveries.knowledge.facts.vocabulary import VOCABULARY, pattern_of

_CHANGED: Final = re.compile(rf"(?<!\w){pattern_of(VOCABULARY.words('changed'))}(?!\w)", re.IGNORECASE)

ValueLines = Mapping[tuple[str, FactKind, str, str | None], Set[int]]
"""Document and value -> the lines that say it."""


def says_changed(fact: Fact) -> bool:
    """Whether the line of a fact says that something is another now than it was."""
    return _CHANGED.search(fact.text) is not None


def drop_replaced(pairs: Sequence[FactConflict], facts: Sequence[Fact]) -> list[FactConflict]:
    """Return the pairs of which neither side was replaced by the other, here or in a third document, and neither
    document says both values: what recurs has several."""
    replaced = {
        id(old): new.value
        for pair in pairs
        if pair.certainty is not Certainty.NEAR and (old := _replaced_of(pair))
        for new in [pair.b if old is pair.a else pair.a]
    }
    lines = _lines_of_values(facts)
    return [pair for pair in pairs if not _is_replaced(pair, replaced) and not _is_of_series(pair, lines)]


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
    return (
        _replaced_of(pair) is not None
        or replaced.get(id(pair.a)) == pair.b.value
        or replaced.get(id(pair.b)) == pair.a.value
    )


def _is_of_series(pair: FactConflict, lines: ValueLines) -> bool:
    return any(
        lines.get((own.document, other.kind, other.value, other.unit), frozenset()) - {own.line}
        for own, other in ((pair.a, pair.b), (pair.b, pair.a))
    )


def _lines_of_values(facts: Sequence[Fact]) -> ValueLines:
    lines: dict[tuple[str, FactKind, str, str | None], set[int]] = defaultdict(set)
    for fact in facts:
        lines[fact.document, fact.kind, fact.value, fact.unit].add(fact.line)
    return lines
