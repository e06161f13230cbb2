"""The silences between conversations (R-74..R-77): one opens when a conversation rests, the next word closes it."""

from collections.abc import Callable

from reveries.db.database import Database, Transaction
from reveries.memory.model import Gap
from reveries.memory.rows import gap_of

LONG_GAP_SECONDS = 24 * 3600.0
"""From here on a silence may mean something (RA-17)."""


class Gaps:
    """Holds the gap that is open now, and writes each change of it in the caller's transaction."""

    def __init__(self, database: Database, new_id: Callable[[], str]) -> None:
        self._database = database
        self._new_id = new_id
        self._open: Gap | None = None

    @property
    def open_gap(self) -> Gap | None:
        """The silence that lasts; None during a conversation (R-77)."""
        return self._open

    async def hydrate(self) -> None:
        rows = await self._database.rows("gaps.still_open")
        self._open = gap_of(rows[0]) if rows else None

    async def start(self, transaction: Transaction, conversation_id: str, now: float) -> Gap:
        """Open a gap (R-76), or give the one that is open already. Call `is_now` after COMMIT."""
        if self._open is not None:
            return self._open
        gap = Gap(self._new_id(), conversation_id, now)
        await transaction.run("gaps.open", {"id": gap.id, "conversation_id": conversation_id, "started_at": now})
        return gap

    async def end(self, transaction: Transaction, now: float) -> None:
        """Close the open gap, if there is one, with its length. Call `is_now` after COMMIT."""
        if self._open is None:
            return
        seconds = max(0.0, now - self._open.started_at)
        await transaction.run(
            "gaps.close",
            {"id": self._open.id, "ended_at": now, "duration_seconds": seconds, "significance": meaning_of(seconds)},
        )

    def is_now(self, gap: Gap | None) -> None:
        """What was written last is committed: this gap is open now, or none is."""
        self._open = gap


def meaning_of(seconds: float) -> str:
    """What a silence of this length may mean, in plain words; empty for one that means nothing (RA-17)."""
    if seconds < LONG_GAP_SECONDS:
        return ""
    days = round(seconds / LONG_GAP_SECONDS)
    return "a day of silence" if days <= 1 else f"{days} days of silence"


async def gaps_ended_between(transaction: Transaction, first: float, last: float) -> dict[float, Gap]:
    """Closed gaps by the moment of their end, which is when the owner's next word was said."""
    rows = await transaction.rows("gaps.ended_between", {"first": first, "last": last})
    return {row["ended_at"]: gap_of(row) for row in rows}
