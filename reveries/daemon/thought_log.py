"""The log of thoughts: what each cost, how far the running one has come, and the owner's word on them.

A thought is in the log for good (RA-5). `pin` and `drop` say what memory makes of it: the most, or nothing.
"""

import contextlib
import json
from collections.abc import Callable, Sequence

import msgspec

from reveries.clock import Clock
from reveries.db.database import Database, Row
from reveries.errors import NotFoundError, UndoError
from reveries.llm.base import Role
from reveries.llm.caps import MICRODOLLARS
from reveries.memory.conversations import Thought
from reveries.memory.memory import Memory
from reveries.monologue.ports import SavedState
from reveries.monologue.thought import OWNERS_WORD, FinishedThought, Reactivation, ThinkingReason
from reveries.protocol import ThoughtEntry
from reveries.safe_text import one_line
from reveries.safety.journal import SafetyJournal

_BROKEN_OFF = "The daemon ended in the middle of it."
_CAME_TO_NOTHING = ("paused", "failed", "budget")
"""A thought that ended so without a word is taken up again."""
_ASKED_SECONDS = 7 * 86400.0
"""What the owner asked for longer ago is not thought about any more when the mind wakes."""


class _UnderWay(msgspec.Struct, frozen=True):
    """A thought as it is kept while it goes on: enough to record it when it can't."""

    id: str
    began_at: float
    why_began: str
    occasion: str
    tokens: int
    model: str
    recalled: tuple[str, ...]
    shown: tuple[str, ...]
    is_tainted: bool
    calls_before: int


class ThoughtLog:
    """Writes thoughts down, in the database and as experiences of `memory`."""

    def __init__(self, memory: Memory, database: Database, clock: Clock) -> None:
        self._memory = memory
        self._database = database
        self._clock = clock
        self._calls_before = 0

    async def restore(self, tripped_at: float | None = None) -> SavedState:
        """What is left of the last life (R-172). A thought that it died in is recorded now (R-9, R-43); where the
        breaker had ended that (`tripped_at`, unix seconds), it leads no other."""
        rows = await self._database.rows("monologue_state.get")
        if not rows:
            return SavedState()
        row, context = rows[0], json.loads(rows[0]["last_context"])
        if (left := _broken_off_in(row)) is not None:
            await self._record_broken_off(row, left)
            if tripped_at is not None and tripped_at >= left.began_at:
                return SavedState()
        is_tainted, thought_id = bool(context.get("is_tainted", False)), str(context.get("thought_id", ""))
        return SavedState(str(row["last_buffer"]), bool(row["quiescent"]), is_tainted, thought_id)

    async def why_last_began(self) -> str:
        """Why the last thought began, also one that the last life died in; empty before the first."""
        rows = await self._database.rows("monologue_state.get")
        context = json.loads(rows[0]["last_context"]) if rows else {}
        return str(context.get("under_way", context).get("why_began", ""))

    async def begin(self) -> None:
        """A thought begins: what is asked of the model from here on is for it."""
        (row,) = await self._database.rows("usage.newest")
        self._calls_before = int(row["newest"])

    async def checkpoint(self, thought: FinishedThought) -> None:
        """How far the running thought has come."""
        under_way = _UnderWay(
            id=thought.id,
            began_at=thought.began_at,
            why_began=thought.why_began,
            occasion=thought.occasion,
            tokens=thought.tokens,
            model=thought.model,
            recalled=tuple(memory.episode_id for memory in thought.memories),
            shown=thought.shown,
            is_tainted=thought.is_tainted,
            calls_before=self._calls_before,
        )
        context = {
            "thought_id": thought.id,
            "is_tainted": thought.is_tainted,
            "under_way": msgspec.to_builtins(under_way),
        }
        await self._put_state(thought.text, context, is_quiescent=False, at=thought.ended_at)

    async def record(self, thought: FinishedThought, state: SavedState) -> None:
        """Log it with its cost, keep it as an experience, and the state for a restart."""
        await self._memory.conversations.record_thought(
            Thought(
                id=thought.id,
                began_at=thought.began_at,
                ended_at=thought.ended_at,
                why_began=thought.why_began,
                why_ended=thought.why_ended,
                text=thought.text,
                tokens=thought.tokens,
                model=thought.model,
                recalled_ids=tuple(memory.episode_id for memory in thought.memories),
                is_partial=thought.is_partial,
                is_tainted=thought.is_tainted,
                shown=thought.shown,
                is_kept=not thought.unkept_because,
                explanation=thought.explanation,
                occasion=thought.occasion,
                **await self._cost(self._calls_before),
            )
        )
        context = {
            "thought_id": state.thought_id,
            "why_began": thought.why_began,
            "why_ended": thought.why_ended,
            "is_tainted": state.is_tainted,
        }
        await self._put_state(state.last_buffer, context, is_quiescent=state.is_quiescent, at=thought.ended_at)
        if thought.why_began in OWNERS_WORD and (thought.text.strip() or thought.why_ended not in _CAME_TO_NOTHING):
            await self.asked_done(thought.why_began, thought.occasion)

    async def put_asked(self, why: Reactivation) -> None:
        """What the owner asked for is thought about in the next life, if not in this one."""
        row = {"reason": why.reason.value, "about": why.detail, "now": self._clock.now()}
        async with self._database.transaction() as transaction:
            await transaction.run("monologue_state.put_asked", row)

    async def asked(self) -> list[Reactivation]:
        """What the owner asked for and no thought came of, oldest first; not what was asked for long ago, and not what
        the last life died in, which is taken up again by itself."""
        async with self._database.look() as transaction:
            await transaction.run("monologue_state.forget_old_asked", {"before": self._clock.now() - _ASKED_SECONDS})
        rows = await self._database.rows("monologue_state.asked")
        asked = [Reactivation(ThinkingReason(row["reason"]), row["about"]) for row in rows]
        for row in await self._database.rows("monologue_state.get"):
            if (left := _broken_off_in(row)) is not None and left.why_began in OWNERS_WORD:
                with contextlib.suppress(ValueError):
                    asked.remove(Reactivation(ThinkingReason(left.why_began), left.occasion))
        return asked

    async def entries(self, since: float, limit: int) -> list[ThoughtEntry]:
        """The log, oldest first."""
        rows = await self._database.rows("monologue_state.thoughts_since", {"since": since, "limit": limit})
        return [_entry_from_row(row, self._summary) for row in rows]

    async def last_recalled(self) -> frozenset[str]:
        """The episodes that the last thought had before it."""
        rows = await self._database.rows("monologue_state.thoughts_since", {"since": 0.0, "limit": 1})
        return frozenset(json.loads(rows[0]["recalled"])) if rows else frozenset()

    async def pin(self, id_or_prefix: str) -> str:
        """Let memory hold on to a thought. Its id. Raises NotFoundError, UndoError."""
        thought = await self._find_row(id_or_prefix)
        if thought["experience_id"] is not None:
            await self._memory.thought_edits.pin(thought["experience_id"])
        await self._mark_row("monologue_state.pin", thought["id"])
        return str(thought["id"])

    async def drop(self, id_or_prefix: str) -> str:
        """Let memory make nothing of a thought. Its id. Raises NotFoundError, and UndoError when sleep has worked it
        into something else."""
        thought = await self._find_row(id_or_prefix)
        if thought["experience_id"] is not None:
            await self._memory.thought_edits.withdraw(thought["experience_id"])
        await self._mark_row("monologue_state.drop", thought["id"])
        return str(thought["id"])

    async def paused_at(self) -> float | None:
        """Since when the owner wants no thinking; None when it may think."""
        rows = await self._database.rows("monologue_state.paused_at")
        return rows[0]["paused_at"] if rows else None

    async def put_release(self, rested: str) -> None:
        """The owner ended the rest after a trip: in the journal, so that a restart knows."""
        await SafetyJournal(self._database, self._clock).record_release(rested)

    async def put_paused(self, *, is_paused: bool) -> None:
        at = self._clock.now() if is_paused else None
        async with self._database.transaction() as transaction:
            await transaction.run("monologue_state.put_paused", {"paused_at": at})
            if is_paused:
                await transaction.run("monologue_state.forget_asked")

    async def _find_row(self, id_or_prefix: str) -> Row:
        rows = await self._database.rows("monologue_state.thoughts_named", {"prefix": id_or_prefix})
        if len(rows) != 1:
            many = "More than one thought begins" if rows else "There is no thought that begins"
            raise NotFoundError(f"{many} with {id_or_prefix}.", advice="They are listed by: reveries monologue history")
        marks = await self._database.rows("monologue_state.marks_of", {"thought_id": rows[0]["id"]})
        if marks and marks[0]["dropped_at"] is not None:
            raise UndoError(f"The thought {rows[0]['id']} was dropped already.", advice="Nothing is left to do.")
        return rows[0]

    async def _mark_row(self, statement: str, thought_id: str) -> None:
        now = self._clock.now()
        async with self._database.transaction() as transaction:
            await transaction.run(statement, {"thought_id": thought_id, "now": now})
            if statement == "monologue_state.drop":
                await transaction.run("notes.drop_of_thought", {"thought_id": thought_id, "now": now})
                await transaction.run("monologue_state.forget_buffer", {"thought_id": thought_id})

    async def _put_state(self, buffer: str, context: dict[str, object], *, is_quiescent: bool, at: float) -> None:
        row = {"last_buffer": buffer, "last_context": json.dumps(context), "quiescent": is_quiescent, "updated_at": at}
        async with self._database.transaction() as transaction:
            await transaction.run("monologue_state.put", row)

    async def asked_done(self, reason: str, about: str) -> None:
        """What the owner asked for waits no more."""
        async with self._database.transaction() as transaction:
            await transaction.run("monologue_state.asked_done", {"reason": reason, "about": about})

    async def _cost(self, calls_before: int) -> dict[str, int]:
        asked = {"id": calls_before, "role": Role.MONOLOGUE.value}
        (row,) = await self._database.rows("usage.used_after", asked)
        return {name: int(row[name]) for name in ("calls", "prompt_tokens", "completion_tokens", "microdollars")}

    async def _record_broken_off(self, row: Row, left: "_UnderWay") -> None:
        if await self._database.rows("monologue_state.thoughts_named", {"prefix": left.id}):
            return
        await self._memory.conversations.record_thought(
            Thought(
                id=left.id,
                began_at=left.began_at,
                ended_at=row["updated_at"],
                why_began=left.why_began,
                why_ended="broken_off",
                text=str(row["last_buffer"]),
                tokens=left.tokens,
                model=left.model,
                recalled_ids=left.recalled,
                is_partial=True,
                is_tainted=left.is_tainted,
                shown=left.shown,
                is_kept=True,
                explanation=_BROKEN_OFF,
                occasion=left.occasion,
                **await self._cost(left.calls_before),
            )
        )
        await self.asked_done(left.why_began, left.occasion)

    def _summary(self, episode_id: str) -> str:
        episode = self._memory.live.graph.get(episode_id)
        return one_line(episode.summary) if episode is not None else ""


def _broken_off_in(row: Row) -> _UnderWay | None:
    """The thought that the last life died in, when something of it was kept."""
    under_way = json.loads(row["last_context"]).get("under_way")
    return msgspec.convert(under_way, _UnderWay) if under_way and str(row["last_buffer"]).strip() else None


def _entry_from_row(row: Row, summary_of: Callable[[str], str]) -> ThoughtEntry:
    recalled: Sequence[str] = json.loads(row["recalled"])
    return ThoughtEntry(
        thought_id=row["id"],
        began_at=row["began_at"],
        ended_at=row["ended_at"],
        why_began=row["why_began"],
        why_ended=row["why_ended"],
        text=row["text"],
        tokens=row["tokens"],
        recalled=list(recalled),
        explanation=row["explanation"],
        occasion=row["occasion"],
        calls=row["calls"],
        prompt_tokens=row["prompt_tokens"],
        completion_tokens=row["completion_tokens"],
        dollars=row["microdollars"] / MICRODOLLARS,
        recalled_summaries=[summary_of(name) for name in recalled],
        is_tainted=bool(row["tainted"]),
        is_pinned=row["pinned_at"] is not None,
        is_dropped=row["dropped_at"] is not None,
    )
