"""The silences between conversations (R-74..R-77): one opens when a conversation rests, the next word closes it.

What it means is decided in `silence`, out of what is in memory: the word that ends it reads nothing for that."""

from collections import deque
from collections.abc import Callable
from dataclasses import replace

from reveries.db.database import Database, Transaction
from reveries.memory.model import Gap
from reveries.memory.rows import gap_of
from reveries.memory.silence import COUNTED, RestedConversation, meaning_of, usual_of


class Gaps:
    """Holds the gap that is open now, and writes each change of it in the caller's transaction."""

    def __init__(self, database: Database, new_id: Callable[[], str]) -> None:
        self._database = database
        self._new_id = new_id
        self._open: Gap | None = None
        self._closing: Gap | None = None
        self._lengths: deque[float] = deque(maxlen=4 * COUNTED)
        self.last: Gap | None = None
        """The one that ended last, in this life."""

    @property
    def open_gap(self) -> Gap | None:
        """The silence that lasts; None during a conversation (R-77)."""
        return self._open

    async def hydrate(self) -> None:
        rows = await self._database.rows("gaps.still_open")
        self._open = gap_of(rows[0]) if rows else None
        lengths = await self._database.rows("gaps.lengths", {"limit": self._lengths.maxlen})
        self._lengths.extend(row["duration_seconds"] for row in reversed(lengths))

    async def start(
        self, transaction: Transaction, conversation_id: str, now: float, leaving: RestedConversation
    ) -> Gap:
        """Open a gap (R-76), or give the one that is open already. Call `is_now` after COMMIT."""
        if self._open is not None:
            return self._open
        gap = Gap(self._new_id(), conversation_id, now, felt=leaving.felt, is_left_open=leaving.is_open)
        named = {"id": gap.id, "conversation_id": conversation_id, "started_at": now}
        await transaction.run("gaps.open", named | {"felt": gap.felt, "left_open": int(gap.is_left_open)})
        return gap

    async def end(self, transaction: Transaction, now: float) -> None:
        """Close the open gap, if there is one, with its length and what it means. Call `is_now` after COMMIT."""
        self._closing = None
        if self._open is None:
            return
        seconds = max(0.0, now - self._open.started_at)
        leaving = RestedConversation(self._open.felt, self._open.is_left_open)
        significance = meaning_of(seconds, usual_of(self._lengths), leaving)
        await transaction.run(
            "gaps.close",
            {"id": self._open.id, "ended_at": now, "duration_seconds": seconds, "significance": significance},
        )
        self._closing = replace(self._open, ended_at=now, significance=significance)

    def is_now(self, gap: Gap | None) -> None:
        """What was written last is committed: this gap is open now, or none is."""
        self._open = gap
        if gap is None and self._closing is not None and self._closing.ended_at is not None:
            self.last = self._closing
            self._lengths.append(self._closing.ended_at - self._closing.started_at)
            self._closing = None


async def gaps_ended_between(transaction: Transaction, first: float, last: float) -> dict[float, Gap]:
    """Closed gaps by the moment of their end, which is when the owner's next word was said."""
    rows = await transaction.rows("gaps.ended_between", {"first": first, "last": last})
    return {row["ended_at"]: gap_of(row) for row in rows}
