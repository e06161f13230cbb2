"""The silences between conversations (R-74..R-77): one opens when a conversation rests, the next word closes it.

What a silence means is decided by rule and in plain words (R-75, RA-17): its length against the owner's own rhythm, and
what stood before it: words that felt strongly, a question without an answer, something put off. RA-17 asks a model when
a silence ends; at that moment the owner waits for a reply. The rule says as much, and reads nothing from the disk."""

import re
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from reveries.db.database import Database, Transaction
from reveries.memory.model import Gap, Origin, Turn
from reveries.memory.rows import gap_of
from reveries.memory.text.appraisal import valence_of

LONG_SECONDS = 24 * 3600.0
"""From here on a silence may mean something by its length alone."""
TENSE_SECONDS = 6 * 3600.0
"""From here on where what was said before it weighs."""
STRONG_VALENCE = 0.4
UNUSUAL = 2.0
"""So many times as long as usual is unusual."""
COUNTED_SECONDS = 3600.0
"""Shorter silences are pauses of one talk, and say nothing of the owner's rhythm."""
COUNTED = 20
_FEWEST = 3
_PUT_OFF = re.compile(
    r"\b(?:tomorrow|tonight|later|soon|next (?:time|week|month)|to be continued|let you know|get back to you"
    r"|wish me luck|fingers crossed|(?:will|'ll) (?:tell|see|ask|decide|find out))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class RestedConversation:
    """How a conversation stood when it came to rest."""

    felt: float = 0.0
    """Valence of the owner's last words, -1 to 1."""
    is_open: bool = False
    """A question stayed without an answer, or something was put off."""


def leaving_of(turns: Sequence[Turn]) -> RestedConversation:
    """How the conversation stands whose last turns these are, oldest first."""
    own = [turn for turn in turns if turn.origin is Origin.OWNER]
    if not own:
        return RestedConversation()
    felt = valence_of("\n".join(turn.text for turn in own))
    last = turns[-1]
    unanswered = last.origin is Origin.OWNER and "?" in last.text
    broken_off = last.origin is Origin.SELF and last.is_partial and "?" in own[-1].text
    return RestedConversation(felt, unanswered or broken_off or bool(_PUT_OFF.search(own[-1].text)))


def usual_of(lengths: Sequence[float]) -> float | None:
    """The usual silence, in seconds, out of the latest ones; None while too few are known."""
    counted = [seconds for seconds in lengths if seconds >= COUNTED_SECONDS][-COUNTED:]
    return median(counted) if len(counted) >= _FEWEST else None


def meaning_of(seconds: float, usual_seconds: float | None = None, leaving: RestedConversation | None = None) -> str:
    """What a silence of this length means, in plain words; empty for one that means nothing."""
    leaving = leaving or RestedConversation()
    is_tense = leaving.is_open or abs(leaving.felt) >= STRONG_VALENCE
    is_unusual = usual_seconds is not None and seconds >= UNUSUAL * usual_seconds
    is_long = seconds >= LONG_SECONDS and (usual_seconds is None or is_unusual)
    if not is_long and not (is_tense and seconds >= max(TENSE_SECONDS, usual_seconds or 0.0)):
        return ""
    phrase = f"{silence_length(seconds)} of silence"
    if is_unusual and usual_seconds is not None:
        phrase += f", where {silence_length(usual_seconds)} is usual"
    return phrase + what_was_left(leaving)


def what_was_left(leaving: RestedConversation) -> str:
    """How it stood before the silence, to be added to a phrase; empty when there is nothing to say."""
    phrase = ""
    if abs(leaving.felt) >= STRONG_VALENCE:
        phrase += f", after words that felt {'good' if leaving.felt > 0 else 'bad'}"
    if leaving.is_open:
        phrase += ", with something left open"
    return phrase


def silence_length(seconds: float) -> str:
    """A length in whole days, or in hours below one and a half."""
    days = round(seconds / LONG_SECONDS)
    if seconds < 1.5 * LONG_SECONDS:
        hours = round(seconds / 3600.0)
        return "a day" if hours >= 23 else "an hour" if hours <= 1 else f"{hours} hours"
    return f"{days} days"


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

    async def start_gap(
        self, transaction: Transaction, conversation_id: str, now: float, leaving: RestedConversation
    ) -> Gap:
        """Open a gap (R-76), or give the one that is open already. Call `set_open_gap` after COMMIT."""
        if self._open is not None:
            return self._open
        gap = Gap(self._new_id(), conversation_id, now, felt=leaving.felt, is_left_open=leaving.is_open)
        named = {"id": gap.id, "conversation_id": conversation_id, "started_at": now}
        await transaction.run("gaps.open", named | {"felt": gap.felt, "left_open": int(gap.is_left_open)})
        return gap

    async def end_gap(self, transaction: Transaction, now: float) -> None:
        """Close the open gap, if there is one, with its length and what it means. Call `set_open_gap` after COMMIT."""
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

    def set_open_gap(self, gap: Gap | None) -> None:
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
