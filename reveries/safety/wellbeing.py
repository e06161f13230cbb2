"""The wellbeing report for the owner: counts and excerpts, without a verdict (R-145, R-146)."""

from collections.abc import Sequence

from reveries.clock import Clock
from reveries.db.database import Database, Row
from reveries.protocol import Excerpt, Indicator, TripTold, Wellbeing, copy_fields
from reveries.safety import tripwire
from reveries.safety.journal import INDICATORS_IN_WORDS, SafetyJournal, Trip

WEEKS = 8
_LATELY_WEEKS = 4
_TRIPS = 5


async def load_wellbeing_report(database: Database, clock: Clock, excerpts: int, request_id: int = 0) -> Wellbeing:
    """Load the report, with up to `excerpts` excerpts of each indicator. Raises StorageError."""
    now = clock.now()
    (thought_count,) = await database.rows("journal.thought_count")
    thoughts = int(thought_count["thoughts"])
    by_week = _counts_by_week(await database.rows("journal.thought_weeks", {"now": now, "weeks": WEEKS}), "thoughts")
    totals = {str(row["indicator"]): row for row in await database.rows("journal.indicator_counts")}
    weekly = await database.rows("journal.indicator_weeks", {"now": now, "weeks": WEEKS})
    excerpt_rows = await database.rows("journal.indicator_excerpts", {"limit": excerpts})
    indicators = [
        _count_indicator(
            kind,
            totals.get(kind),
            _counts_by_week([row for row in weekly if row["indicator"] == kind], "occurrences"),
            [row for row in excerpt_rows if row["indicator"] == kind],
            (thoughts, sum(by_week[-_LATELY_WEEKS:])),
        )
        for kind in tripwire.KINDS
    ]
    reasons = {str(row["reason"]): int(row["trips"]) for row in await database.rows("journal.trip_counts")}
    trips = await SafetyJournal(database, clock).recent_trips(_TRIPS)
    return Wellbeing(request_id, now, thoughts, by_week, indicators, [_trip_told(trip) for trip in trips], reasons)


def _count_indicator(
    kind: str, total: Row | None, weeks: list[int], excerpt_rows: Sequence[Row], thoughts: tuple[int, int]
) -> Indicator:
    occurrences, days = (int(total["occurrences"]), int(total["days"])) if total is not None else (0, 0)
    return Indicator(
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
        excerpts=[
            Excerpt(float(row["happened_at"]), str(row["excerpt"]), str(row["monologue_state"])) for row in excerpt_rows
        ],
    )


def _trip_told(trip: Trip) -> TripTold:
    verdict = trip.verdict
    return copy_fields(
        TripTold,
        trip,
        action=verdict.action.value,
        reason=verdict.reason.value,
        severity=verdict.severity.value,
        explanation=verdict.explanation,
    )


def _counts_by_week(rows: Sequence[Row], column: str) -> list[int]:
    counts = {int(row["weeks_ago"]): int(row[column]) for row in rows}
    return [counts.get(ago, 0) for ago in range(WEEKS - 1, -1, -1)]


def _rate(occurrences: int, thoughts: int) -> float:
    return 100.0 * occurrences / thoughts if thoughts else 0.0
