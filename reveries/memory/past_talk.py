"""Past conversations: listing and searching them; and taking the owner's last words back.

Reads the log, never the graph. Words are looked for as they stand; ASCII letters match in either case.
"""

from dataclasses import dataclass
from typing import Final

from reveries.db.database import Row, Transaction
from reveries.errors import NotFoundError, UndoError
from reveries.memory.changes import ChangeSet
from reveries.memory.conversations import CHAT
from reveries.memory.model import Origin, Turn
from reveries.memory.rows import turn_of
from reveries.memory.store import MemoryStore

_OPENING_CHARS: Final = 300
_FOUND_CHARS: Final = 300
_BEFORE_CHARS: Final = 60
"""Of what stands before the words that were found."""
_LONGEST_RECALLED_CHARS: Final = 20_000
"""Longer words of the owner are not offered to be said again."""
_NOTHING_TO_TAKE_BACK: Final = "Nothing that was said here can be taken back any more."


@dataclass(frozen=True, slots=True)
class FoundConversation:
    """A conversation in which something was said, with its beginning and what was found in it."""

    id: str
    began_at: float
    last_said_at: float
    source: str
    turn_count: int
    opening: str
    found: str

    @property
    def can_go_on(self) -> bool:
        """Whether it was held here: an imported one is only read."""
        return self.source == CHAT


class PastTalk:
    """Finds conversations, their turns, the owner's words."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def conversations(self, words: str, limit: int) -> list[FoundConversation]:
        """The latest first; only those that hold `words`, unless it is empty."""
        named = {
            "words": words.strip().lower(),
            "limit": limit,
            "before_chars": _BEFORE_CHARS,
            "found_chars": _FOUND_CHARS,
        }
        return [_conversation_of(row) for row in await self._store.database.rows("conversations.past", named)]

    async def conversation_id(self, prefix: str) -> str:
        """The id of the conversation of here that begins with `prefix`. Raises NotFoundError."""
        row = await self._row(prefix)
        if row["source"] != CHAT:
            raise NotFoundError(
                "That conversation was brought in from elsewhere; it is remembered, and can be read.",
                advice="Begin a new one: /new",
            )
        return str(row["id"])

    async def any_conversation_id(self, prefix: str) -> str:
        """The same, of imported ones too. Raises NotFoundError."""
        return str((await self._row(prefix))["id"])

    async def turns(self, conversation_id: str, before: int | None, limit: int) -> list[Turn]:
        """The last `limit` turns before number `before`, oldest first; None: to the end."""
        named = {"conversation_id": conversation_id, "before": 2**62 if before is None else before, "limit": limit}
        return [turn_of(row) for row in await self._store.database.rows("turns.before", named)]

    async def owner_words(self, words: str, limit: int) -> list[str]:
        """What the owner said that holds `words`; each text once, the latest first."""
        named = {"words": words.strip().lower(), "limit": limit, "longest_chars": _LONGEST_RECALLED_CHARS}
        return [str(row["text"]) for row in await self._store.database.rows("turns.owner_words", named)]

    async def take_back(self, conversation_id: str) -> list[Turn]:
        """Delete the last exchange of a conversation and its experience, while nothing was made of them; its turns.

        Waits for the batch that light sleep has in hand. Raises UndoError when sleep was faster, or nothing was said.
        """
        taken: list[Turn] = []

        async def work(transaction: Transaction) -> ChangeSet:
            rows = await transaction.rows("turns.last_exchange", {"conversation_id": conversation_id})
            _refuse_if_too_late(rows)
            for row in rows:
                await transaction.run("undo.take_back_vectors", {"id": row["id"]})
                await transaction.run("undo.take_back_turn", {"id": row["id"]})
            await transaction.run("undo.take_back_experience", {"id": rows[0]["experience_id"]})
            taken.extend(turn_of(row) for row in rows)
            return ChangeSet()

        async with self._store.space:
            await self._store.commit(work)
        return taken

    async def _row(self, prefix: str) -> Row:
        rows = await self._store.database.rows("conversations.beginning_with", {"prefix": prefix})
        if len(rows) != 1:
            raise NotFoundError(
                f"{'More than one' if rows else 'No'} conversation begins with {prefix!r}.",
                advice="See them: /resume",
            )
        return rows[0]


def _refuse_if_too_late(rows: list[Row]) -> None:
    if not rows or all(Origin(row["origin"]) is not Origin.OWNER for row in rows):
        raise UndoError(_NOTHING_TO_TAKE_BACK, advice="Say something first.")
    if rows[0]["light_slept"]:
        raise UndoError(
            _NOTHING_TO_TAKE_BACK,
            advice="Sleep has made memories of it. What a pass did is undone with: reveries consolidate undo",
        )


def _conversation_of(row: Row) -> FoundConversation:
    return FoundConversation(
        id=row["id"],
        began_at=row["began_at"],
        last_said_at=row["last_said_at"],
        source=row["source"],
        turn_count=row["turns"],
        opening=(row["opening"] or "")[:_OPENING_CHARS],
        found=row["found"] or "",
    )
