"""The gaps between conversations (R-74..R-77): a gap opens when a conversation becomes idle, the next word closes it.

What a gap means is decided by a rule (R-75, RA-17): its length against the owner's usual rhythm, and how the
conversation ended: strongly felt words, an unanswered question, something put off. RA-17 asks a model when a gap ends,
but at that moment the owner is waiting for a reply. The rule says as much without reading the disk."""

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
"""A silence this long may mean something by its length alone."""
TENSE_SECONDS = 6 * 3600.0
"""A silence this long may mean something after a tense or open ending."""
STRONG_VALENCE = 0.4
UNUSUAL = 2.0
"""A silence is unusual from this multiple of the usual length."""
COUNTED_SECONDS = 3600.0
"""Shorter silences are pauses within a conversation and do not count for the owner's rhythm."""
COUNTED = 20
_FEWEST = 3
_PUT_OFF = re.compile(
    r"\b(?:tomorrow|tonight|later|soon|next (?:time|week|month)|to be continued|let you know|get back to you"
    r"|wish me luck|fingers crossed|(?:will|'ll) (?:tell|see|ask|decide|find out))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ConversationEnding:
    """How a conversation ended when it became idle."""

    felt: float = 0.0
    """Valence of the owner's last words, -1 to 1."""
    is_open: bool = False
    """Whether a question was left unanswered or something was put off."""


def assess_ending(turns: Sequence[Turn]) -> ConversationEnding:
    """Assess how a conversation ended from its last turns, oldest first."""
    own = [turn for turn in turns if turn.origin is Origin.OWNER]
    if not own:
        return ConversationEnding()
    felt = valence_of("\n".join(turn.text for turn in own))
    last = turns[-1]
    unanswered = last.origin is Origin.OWNER and "?" in last.text
    broken_off = last.origin is Origin.SELF and last.is_partial and "?" in own[-1].text
    return ConversationEnding(felt, unanswered or broken_off or bool(_PUT_OFF.search(own[-1].text)))


def usual_silence_seconds(lengths: Sequence[float]) -> float | None:
    """Return the median of the latest silences in seconds; None while too few are known."""
    counted = [seconds for seconds in lengths if seconds >= COUNTED_SECONDS][-COUNTED:]
    return median(counted) if len(counted) >= _FEWEST else None


def silence_significance(
    seconds: float, usual_seconds: float | None = None, ending: ConversationEnding | None = None
) -> str:
    """Return what a silence of this length means, in plain words; empty if it means nothing."""
    ending = ending or ConversationEnding()
    is_tense = ending.is_open or abs(ending.felt) >= STRONG_VALENCE
    is_unusual = usual_seconds is not None and seconds >= UNUSUAL * usual_seconds
    is_long = seconds >= LONG_SECONDS and (usual_seconds is None or is_unusual)
    if not is_long and not (is_tense and seconds >= max(TENSE_SECONDS, usual_seconds or 0.0)):
        return ""
    phrase = f"{format_silence(seconds)} of silence"
    if is_unusual and usual_seconds is not None:
        phrase += f", where {format_silence(usual_seconds)} is usual"
    return phrase + describe_ending(ending)


def describe_ending(ending: ConversationEnding) -> str:
    """Describe how the conversation ended, to be appended to a phrase; empty if there is nothing to say."""
    phrase = ""
    if abs(ending.felt) >= STRONG_VALENCE:
        phrase += f", after words that felt {'good' if ending.felt > 0 else 'bad'}"
    if ending.is_open:
        phrase += ", with something left open"
    return phrase


def format_silence(seconds: float) -> str:
    """Format a length in whole days, or in hours below one and a half days."""
    days = round(seconds / LONG_SECONDS)
    if seconds < 1.5 * LONG_SECONDS:
        hours = round(seconds / 3600.0)
        return "a day" if hours >= 23 else "an hour" if hours <= 1 else f"{hours} hours"
    return f"{days} days"


class Gaps:
    """Keeps the currently open gap, and writes its changes in the caller's transaction."""

    def __init__(self, database: Database, new_id: Callable[[], str]) -> None:
        self._database = database
        self._new_id = new_id
        self._open: Gap | None = None
        self._closing: Gap | None = None
        self._lengths: deque[float] = deque(maxlen=4 * COUNTED)
        self.last: Gap | None = None
        """The gap that ended last since the daemon started."""

    @property
    def open_gap(self) -> Gap | None:
        """The current gap; None during a conversation (R-77)."""
        return self._open

    async def hydrate(self) -> None:
        rows = await self._database.rows("gaps.still_open")
        self._open = gap_of(rows[0]) if rows else None
        lengths = await self._database.rows("gaps.lengths", {"limit": self._lengths.maxlen})
        self._lengths.extend(row["duration_seconds"] for row in reversed(lengths))

    async def start_gap(
        self, transaction: Transaction, conversation_id: str, now: float, ending: ConversationEnding
    ) -> Gap:
        """Open a gap (R-76), or return the one that is already open. Call `set_open_gap` after COMMIT."""
        if self._open is not None:
            return self._open
        gap = Gap(self._new_id(), conversation_id, now, felt=ending.felt, is_left_open=ending.is_open)
        named = {"id": gap.id, "conversation_id": conversation_id, "started_at": now}
        await transaction.run("gaps.open", named | {"felt": gap.felt, "left_open": int(gap.is_left_open)})
        return gap

    async def end_gap(self, transaction: Transaction, now: float) -> None:
        """Close the open gap, if any, with its length and significance. Call `set_open_gap` after COMMIT."""
        self._closing = None
        if self._open is None:
            return
        seconds = max(0.0, now - self._open.started_at)
        ending = ConversationEnding(self._open.felt, self._open.is_left_open)
        significance = silence_significance(seconds, usual_silence_seconds(self._lengths), ending)
        await transaction.run(
            "gaps.close",
            {"id": self._open.id, "ended_at": now, "duration_seconds": seconds, "significance": significance},
        )
        self._closing = replace(self._open, ended_at=now, significance=significance)

    def set_open_gap(self, gap: Gap | None) -> None:
        """Record after COMMIT that `gap` is open now, or none."""
        self._open = gap
        if gap is None and self._closing is not None and self._closing.ended_at is not None:
            self.last = self._closing
            self._lengths.append(self._closing.ended_at - self._closing.started_at)
            self._closing = None


async def gaps_ended_between(transaction: Transaction, first: float, last: float) -> dict[float, Gap]:
    """Load closed gaps by their end time, which is the time of the owner's next turn."""
    rows = await transaction.rows("gaps.ended_between", {"first": first, "last": last})
    return {row["ended_at"]: gap_of(row) for row in rows}
