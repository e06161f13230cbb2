"""The log of thoughts: their cost, checkpoints of the running one, and the owner's marks.

A thought stays in the log for good (RA-5). `pin` and `drop` decide what memory does with it.
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
"""If a thought ended for one of these reasons without text, the request is tried again."""
_ASKED_SECONDS = 7 * 86400.0
"""Older requests of the owner are dropped at a start."""


class _RunningThought(msgspec.Struct, frozen=True):
    """A checkpoint of the running thought, with what is needed to record it after a crash."""

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
    """Stores thoughts in the database and as experiences in `memory`."""

    def __init__(self, memory: Memory, database: Database, clock: Clock) -> None:
        self._memory = memory
        self._database = database
        self._clock = clock
        self._calls_before = 0

    async def restore(self, tripped_at: float | None = None) -> SavedState:
        """Restore the state of the last run (R-172). An interrupted thought is recorded now (R-9, R-43); if the breaker
        had ended it (`tripped_at`, unix seconds), it is not continued."""
        rows = await self._database.rows("monologue_state.get")
        if not rows:
            return SavedState()
        row, context = rows[0], json.loads(rows[0]["last_context"])
        if (left := _read_interrupted(row)) is not None:
            await self._record_interrupted(row, left)
            if tripped_at is not None and tripped_at >= left.began_at:
                return SavedState()
        is_tainted, thought_id = bool(context.get("is_tainted", False)), str(context.get("thought_id", ""))
        return SavedState(str(row["last_buffer"]), bool(row["quiescent"]), is_tainted, thought_id)

    async def why_last_began(self) -> str:
        """Return why the last thought began, also an interrupted one; empty before the first."""
        rows = await self._database.rows("monologue_state.get")
        context = json.loads(rows[0]["last_context"]) if rows else {}
        return str(context.get("under_way", context).get("why_began", ""))

    async def begin(self) -> None:
        """Begin a thought: model calls from here on are counted as its cost."""
        (row,) = await self._database.rows("usage.newest")
        self._calls_before = int(row["newest"])

    async def checkpoint(self, thought: FinishedThought) -> None:
        """Store a checkpoint of the running thought."""
        under_way = _RunningThought(
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
        """Log the thought with its cost, store it as an experience, and store the state for a restart."""
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
                **await self._load_cost(self._calls_before),
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
            await self.complete_request(thought.why_began, thought.occasion)

    async def store_request(self, why: Reactivation) -> None:
        """Store a request of the owner, so that it survives a restart."""
        row = {"reason": why.reason.value, "about": why.detail, "now": self._clock.now()}
        async with self._database.transaction() as transaction:
            await transaction.run("monologue_state.put_asked", row)

    async def open_requests(self) -> list[Reactivation]:
        """Return the owner's open requests, oldest first, without old ones and without that of an interrupted thought,
        which continues by itself."""
        async with self._database.reading_transaction() as transaction:
            await transaction.run("monologue_state.forget_old_asked", {"before": self._clock.now() - _ASKED_SECONDS})
        rows = await self._database.rows("monologue_state.asked")
        asked = [Reactivation(ThinkingReason(row["reason"]), row["about"]) for row in rows]
        for row in await self._database.rows("monologue_state.get"):
            if (left := _read_interrupted(row)) is not None and left.why_began in OWNERS_WORD:
                with contextlib.suppress(ValueError):
                    asked.remove(Reactivation(ThinkingReason(left.why_began), left.occasion))
        return asked

    async def entries(self, since: float, limit: int) -> list[ThoughtEntry]:
        """Return log entries, oldest first."""
        rows = await self._database.rows("monologue_state.thoughts_since", {"since": since, "limit": limit})
        return [_entry_from_row(row, self._summary) for row in rows]

    async def last_recalled(self) -> frozenset[str]:
        """Return the ids of the episodes in the prompt of the last thought."""
        rows = await self._database.rows("monologue_state.thoughts_since", {"since": 0.0, "limit": 1})
        return frozenset(json.loads(rows[0]["recalled"])) if rows else frozenset()

    async def pin(self, id_or_prefix: str) -> str:
        """Pin a thought in memory; return its id. Raises NotFoundError, UndoError."""
        thought = await self._find_row(id_or_prefix)
        if thought["experience_id"] is not None:
            await self._memory.thought_edits.pin(thought["experience_id"])
        await self._mark_row("monologue_state.pin", thought["id"])
        return str(thought["id"])

    async def drop(self, id_or_prefix: str) -> str:
        """Drop a thought from memory; return its id. Raises NotFoundError, and UndoError if sleep has used it
        already."""
        thought = await self._find_row(id_or_prefix)
        if thought["experience_id"] is not None:
            await self._memory.thought_edits.withdraw(thought["experience_id"])
        await self._mark_row("monologue_state.drop", thought["id"])
        return str(thought["id"])

    async def paused_at(self) -> float | None:
        """Since when the owner wants no thinking; None when it may think."""
        rows = await self._database.rows("monologue_state.paused_at")
        return rows[0]["paused_at"] if rows else None

    async def store_release(self, rested: str) -> None:
        """The owner ended the rest after a trip: in the journal, so that a restart knows."""
        await SafetyJournal(self._database, self._clock).record_release(rested)

    async def store_pause(self, *, is_paused: bool) -> None:
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

    async def complete_request(self, reason: str, about: str) -> None:
        """Remove a request of the owner, because it is done."""
        async with self._database.transaction() as transaction:
            await transaction.run("monologue_state.asked_done", {"reason": reason, "about": about})

    async def _load_cost(self, calls_before: int) -> dict[str, int]:
        asked = {"id": calls_before, "role": Role.MONOLOGUE.value}
        (row,) = await self._database.rows("usage.used_after", asked)
        return {name: int(row[name]) for name in ("calls", "prompt_tokens", "completion_tokens", "microdollars")}

    async def _record_interrupted(self, row: Row, left: "_RunningThought") -> None:
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
                **await self._load_cost(left.calls_before),
            )
        )
        await self.complete_request(left.why_began, left.occasion)

    def _summary(self, episode_id: str) -> str:
        episode = self._memory.live.graph.get(episode_id)
        return one_line(episode.summary) if episode is not None else ""


def _read_interrupted(row: Row) -> _RunningThought | None:
    """Return the thought that the last run was interrupted in, if it has text."""
    under_way = json.loads(row["last_context"]).get("under_way")
    return msgspec.convert(under_way, _RunningThought) if under_way and str(row["last_buffer"]).strip() else None


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
