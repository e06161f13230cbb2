"""The wellbeing report for the owner: counts and excerpts, without a verdict (R-145, R-146)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reveries.clock import Clock
from reveries.db.database import Database, Row
from reveries.safety import tripwire
from reveries.safety.journal import INDICATORS_IN_WORDS, SafetyJournal, Trip

WEEKS = 8
_LATELY_WEEKS = 4
_TRIPS = 5


@dataclass(frozen=True, slots=True)
class ThoughtExcerpt:
    """One sentence, its time, and how its thought ended."""

    happened_at: float
    text: str
    thought_ended: str


@dataclass(frozen=True, slots=True)
class IndicatorCounts:
    """The counts of one indicator. `weeks`: the last eight, oldest first."""

    kind: str
    what: str
    occurrences: int
    days: int
    first_at: float | None
    last_at: float | None
    weeks: tuple[int, ...]
    per_100_thoughts: float
    per_100_thoughts_lately: float
    is_consistent: bool
    excerpts: tuple[ThoughtExcerpt, ...]


@dataclass(frozen=True, slots=True)
class WellbeingReport:
    """All counts, as of `now`."""

    now: float
    thoughts: int
    thoughts_by_week: tuple[int, ...]
    indicators: tuple[IndicatorCounts, ...]
    trips: tuple[Trip, ...]
    trips_by_reason: Mapping[str, int]


async def load_wellbeing_report(database: Database, clock: Clock, excerpts: int) -> WellbeingReport:
    """Load the report, with up to `excerpts` excerpts of each indicator. Raises StorageError."""
    now = clock.now()
    (thought_count,) = await database.rows("journal.thought_count")
    thoughts = int(thought_count["thoughts"])
    by_week = _counts_by_week(await database.rows("journal.thought_weeks", {"now": now, "weeks": WEEKS}), "thoughts")
    totals = {str(row["indicator"]): row for row in await database.rows("journal.indicator_counts")}
    weekly = await database.rows("journal.indicator_weeks", {"now": now, "weeks": WEEKS})
    excerpt_rows = await database.rows("journal.indicator_excerpts", {"limit": excerpts})
    indicators = tuple(
        _count_indicator(
            kind,
            totals.get(kind),
            _counts_by_week([row for row in weekly if row["indicator"] == kind], "occurrences"),
            [row for row in excerpt_rows if row["indicator"] == kind],
            (thoughts, sum(by_week[-_LATELY_WEEKS:])),
        )
        for kind in tripwire.KINDS
    )
    reasons = {str(row["reason"]): int(row["trips"]) for row in await database.rows("journal.trip_counts")}
    trips = await SafetyJournal(database, clock).recent_trips(_TRIPS)
    return WellbeingReport(now, thoughts, by_week, indicators, tuple(trips), reasons)


def _count_indicator(
    kind: str, total: Row | None, weeks: tuple[int, ...], excerpt_rows: Sequence[Row], thoughts: tuple[int, int]
) -> IndicatorCounts:
    occurrences, days = (int(total["occurrences"]), int(total["days"])) if total is not None else (0, 0)
    return IndicatorCounts(
        kind=kind,
        what=INDICATORS_IN_WORDS[kind],
        occurrences=occurrences,
        days=days,
        first_at=float(total["first_at"]) if total is not None else None,
        last_at=float(total["last_at"]) if total is not None else None,
        weeks=weeks,
        per_100_thoughts=_rate(occurrences, thoughts[0]),
        per_100_thoughts_lately=_rate(sum(weeks[-_LATELY_WEEKS:]), thoughts[1]),
        is_consistent=tripwire.is_consistent(occurrences, days),
        excerpts=tuple(
            ThoughtExcerpt(float(row["happened_at"]), str(row["excerpt"]), str(row["monologue_state"]))
            for row in excerpt_rows
        ),
    )


def _counts_by_week(rows: Sequence[Row], column: str) -> tuple[int, ...]:
    counts = {int(row["weeks_ago"]): int(row[column]) for row in rows}
    return tuple(counts.get(ago, 0) for ago in range(WEEKS - 1, -1, -1))


def _rate(occurrences: int, thoughts: int) -> float:
    return 100.0 * occurrences / thoughts if thoughts else 0.0
