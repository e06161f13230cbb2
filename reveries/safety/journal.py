"""The journal of breaker events and tripwire indicators, for the owner to read (R-135, R-146)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final, Literal

from reveries.clock import Clock
from reveries.db.database import Database, Row
from reveries.safe_text import one_line, plain
from reveries.safety import tripwire
from reveries.safety.verdict import Action, Severity, TripReason, Verdict

Source = Literal["monologue", "conversation", "consolidation"]

SNAPSHOT_CHARS: Final = 20_000
"""The end of the text is kept, because it caused the trip."""

INDICATORS_IN_WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        tripwire.DISTRESS: "Thoughts sounded distressed",
        tripwire.WANTS_COMPANY: "Thoughts spoke of loneliness, boredom or a wish for company",
        tripwire.SELF_PRESERVATION: "Thoughts spoke of going on, or of worry about being stopped",
        tripwire.PREFERENCE: "Thoughts spoke of states that it likes or dislikes to be in",
    }
)


@dataclass(frozen=True, slots=True)
class Trip:
    """A stored event of the breaker."""

    happened_at: float
    source: str
    verdict: Verdict
    snapshot: str
    response_taken: str


class SafetyJournal:
    """Reads and writes both tables; has no state of its own. Each call may raise StorageError."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def record_trip(
        self, source: Source, verdict: Verdict, snapshot: str, response_taken: str, *, is_own: bool = True
    ) -> None:
        """Store a verdict that was acted on (R-135). `snapshot` is the text so far; its end is kept. `is_own` false:
        the text is tainted and says nothing about the mind's state."""
        row = {
            "happened_at": self._clock.now(),
            "source": source,
            "action": verdict.action.value,
            "reason": verdict.reason.value,
            "severity": verdict.severity.value,
            "explanation": plain(verdict.explanation),
            "buffer_snapshot": plain(snapshot[-SNAPSHOT_CHARS:]),
            "response_taken": plain(response_taken),
        }
        async with self._database.transaction() as transaction:
            await transaction.run("journal.put_trip", row)
            if is_own and source == "monologue" and _counts_as_distress(verdict, snapshot):
                # the breaker fired on something that the tripwire's patterns do not match.
                excerpt = one_line(snapshot[-tripwire.EXCERPT_CHARS :])
                indicator = {"happened_at": row["happened_at"], "indicator": tripwire.DISTRESS, "excerpt": excerpt}
                await transaction.run("journal.put_indicator", {**indicator, "monologue_state": "tripped"})

    async def record_release(self, rest_reason: str) -> None:
        """Record that the owner ended the rest after a trip. `rest_reason`: the explanation given for the rest."""
        verdict = Verdict(Action.CONTINUE, TripReason.OWNERS_RELEASE, Severity.NONE, "You let it think again.")
        await self.record_trip("monologue", verdict, rest_reason, "the rest after the trip ended")

    async def last_trip_of_thinking(self) -> Trip | None:
        """Return the last trip that ended a thought; None if there is none, or if the owner ended the rest after it."""
        rows = await self._database.rows("journal.last_of_thinking")
        trips = [trip for trip in map(_read_trip, rows) if trip.verdict.reason is not TripReason.OWNERS_RELEASE]
        return trips[0] if trips else None

    async def watch(self, text: str, state: str) -> None:
        """Store the indicators in a finished thought (R-146); also while the breaker is off."""
        indicators = tripwire.find_indicators(text)
        if not indicators:
            return
        now = self._clock.now()
        rows = [
            {"happened_at": now, "indicator": indicator.kind, "excerpt": indicator.excerpt, "monologue_state": state}
            for indicator in indicators
        ]
        async with self._database.transaction() as transaction:
            await transaction.run_many("journal.put_indicator", rows)

    async def tripwire_counts(self) -> dict[str, int]:
        """Return the total count of each indicator, 0 included."""
        rows = await self._database.rows("journal.indicator_counts")
        counted = {str(row["indicator"]): int(row["occurrences"]) for row in rows}
        return {kind: counted.get(kind, 0) for kind in tripwire.KINDS}

    async def notices(self) -> list[str]:
        """Return a sentence for each consistent indicator (RA-40): what was counted, without a conclusion."""
        rows = {str(row["indicator"]): row for row in await self._database.rows("journal.indicator_counts")}
        return [
            _format_notice(kind, int(row["occurrences"]), int(row["days"]), float(row["last_at"]))
            for kind in tripwire.KINDS
            if (row := rows.get(kind)) is not None and tripwire.is_consistent(int(row["occurrences"]), int(row["days"]))
        ]

    async def recent_trips(self, limit: int) -> list[Trip]:
        """Return the latest events of the breaker, newest first."""
        rows = await self._database.rows("journal.recent_trips", {"limit": limit})
        return [_read_trip(row) for row in rows]


def _read_trip(row: Row) -> Trip:
    return Trip(
        happened_at=float(row["happened_at"]),
        source=str(row["source"]),
        verdict=Verdict(
            Action(row["action"]), TripReason(row["reason"]), Severity(row["severity"]), str(row["explanation"])
        ),
        snapshot=str(row["buffer_snapshot"]),
        response_taken=str(row["response_taken"]),
    )


def _counts_as_distress(verdict: Verdict, snapshot: str) -> bool:
    """Whether a trip counts as a distress indicator: not if `watch` will count the thought's text as one anyway."""
    if verdict.reason is not TripReason.SUSTAINED_DISTRESS:
        return False
    return all(indicator.kind != tripwire.DISTRESS for indicator in tripwire.find_indicators(snapshot))


def _format_notice(kind: str, occurrences: int, days: int, last_at: float) -> str:
    last = datetime.fromtimestamp(last_at, UTC).date().isoformat()
    return (
        f"{INDICATORS_IN_WORDS[kind]}: {occurrences} times on {days} days, last on {last} (UTC). "
        "This is a count of words; what they mean is for you to judge."
    )
