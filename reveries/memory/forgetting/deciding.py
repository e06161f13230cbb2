"""What goes, decided from the rows of one moment: what the owner chose, or what was erased and came back. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from reveries.db.database import Row
from reveries.errors import NotFoundError, UsageError
from reveries.memory.forgetting.gathering import Asides, Rows, holding, named, rows_within, traces
from reveries.memory.forgetting.needles import Holds, Needle
from reveries.memory.forgetting.plan import Chosen, ForgetPlan, cascade
from reveries.memory.forgetting.tombstones import Tombstones

BY_ID: Final = "id"
BY_WORDS: Final = "matching"
BY_NAME: Final = "about"
BY_TIME: Final = "time"
_SHORTEST_PREFIX = 4
_SHORTEST_WORDS = 2


@dataclass(frozen=True, slots=True)
class Selection:
    """What the owner chose: an id, words, a name, or a time (unix seconds)."""

    chosen_by: str
    text: str = ""
    since: float = float("-inf")
    until: float = float("inf")


@dataclass(slots=True)
class ForgetDecision:
    """The rows it was decided from, what goes of them, and how it is known elsewhere."""

    rows: Rows
    plan: ForgetPlan
    needle: Holds
    beside: Asides = field(default_factory=Asides)


def decision_of(rows: Rows, selection: Selection) -> ForgetDecision:
    """Raises NotFoundError, UsageError."""
    match selection.chosen_by:
        case "matching" | "about":
            if len(selection.text.strip()) < _SHORTEST_WORDS:
                raise UsageError("That is too short to be looked for.", advice="Give at least two letters.")
            by_words = selection.chosen_by == BY_WORDS
            needle = Needle(words=(selection.text,)) if by_words else Needle(names=(selection.text,))
            return ForgetDecision(rows, cascade(holding(rows, needle), rows.relations), needle)
        case "time":
            chosen = rows_within(rows, selection.since, selection.until)
        case _:
            chosen = _by_id(rows, selection.text)
    needle = traces(rows, cascade(chosen, rows.relations))
    chosen |= holding(rows, needle)
    return ForgetDecision(rows, cascade(chosen, rows.relations), needle)


def _by_id(rows: Rows, prefix: str) -> Chosen:
    found = named(rows, prefix) if len(prefix) >= _SHORTEST_PREFIX else []
    if len(found) != 1:
        many = f"{len(found)} things have an id that begins" if found else "Nothing has an id that begins"
        raise NotFoundError(f"{many} with {prefix}.", advice="Find one: reveries memory search WORDS")
    [(kind, name)] = found
    return Chosen(**{kind: frozenset({name})})


def decision_again(rows: Rows, stones: Tombstones, until: float) -> ForgetDecision:
    def ids(table: Sequence[Row]) -> frozenset[str]:
        return frozenset(row["id"] for row in table if stones.has_id(row["id"]))

    def spoken(row: Row) -> bool:
        return stones(str(row["text"]).partition(" ")[2]) or stones(row["text"])

    chosen = Chosen(
        experiences=ids(rows.experiences),
        turns=ids(rows.turns) | {row["id"] for row in rows.turns if row["at"] <= until and spoken(row)},
        thoughts=ids(rows.thoughts),
        notes=ids(rows.notes),
        claims=ids(rows.claims),
    )
    chosen |= holding(rows, stones, until)
    return ForgetDecision(rows, cascade(chosen, rows.relations), stones)
