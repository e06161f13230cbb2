"""Lists and searches past conversations, and deletes the last exchange on request.

Reads the log, never the graph. Words are matched literally; ASCII letters match in either case.
"""

from typing import Final

from reveries.db.database import Row, Transaction
from reveries.errors import NotFoundError, UndoError
from reveries.memory.changes import ChangeSet
from reveries.memory.conversations import CHAT
from reveries.memory.model import Origin, Turn
from reveries.memory.rows import turn_of
from reveries.memory.store import MemoryStore
from reveries.protocol import PastConversation

_OPENING_CHARS: Final = 300
_FOUND_CHARS: Final = 300
_BEFORE_CHARS: Final = 60
"""Length of the excerpt before the match."""
_LONGEST_RECALLED_CHARS: Final = 20_000
"""Longer turns of the owner are not offered for reuse."""
_NOTHING_TO_TAKE_BACK: Final = "There is nothing to take back in this conversation."


class PastTalk:
    """Searches conversations, their turns and the owner's words."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def find_conversations(self, words: str, limit: int) -> list[PastConversation]:
        """Return conversations that contain `words` (all of them if it is empty), latest first."""
        named = {
            "words": words.strip().lower(),
            "limit": limit,
            "before_chars": _BEFORE_CHARS,
            "found_chars": _FOUND_CHARS,
        }
        return [_conversation_of(row) for row in await self._store.database.rows("conversations.past", named)]

    async def resolve_own_id(self, prefix: str) -> str:
        """Return the id of the one conversation whose id begins with `prefix`. Raises NotFoundError, also for an
        imported one."""
        row = await self._row(prefix)
        if row["source"] != CHAT:
            raise NotFoundError(
                "That conversation was imported. It is remembered and can be read, but not continued.",
                advice="Begin a new one: /new",
            )
        return str(row["id"])

    async def resolve_id(self, prefix: str) -> str:
        """Like `resolve_own_id`, also for imported conversations. Raises NotFoundError."""
        return str((await self._row(prefix))["id"])

    async def turns(self, conversation_id: str, before: int | None, limit: int) -> list[Turn]:
        """Load the last `limit` turns before position `before` (None: from the end), oldest first."""
        named = {"conversation_id": conversation_id, "before": 2**62 if before is None else before, "limit": limit}
        return [turn_of(row) for row in await self._store.database.rows("turns.before", named)]

    async def find_owner_words(self, words: str, limit: int) -> list[str]:
        """Return the owner's texts that contain `words`, each once, latest first."""
        named = {"words": words.strip().lower(), "limit": limit, "longest_chars": _LONGEST_RECALLED_CHARS}
        return [str(row["text"]) for row in await self._store.database.rows("turns.owner_words", named)]

    async def delete_last_exchange(self, conversation_id: str) -> list[Turn]:
        """Delete the last exchange of a conversation and its experience, unless light sleep has processed it. Returns
        the deleted turns.

        Waits for a running batch of light sleep. Raises UndoError when sleep was faster, or there is no exchange.
        """
        deleted: list[Turn] = []

        async def work(transaction: Transaction) -> ChangeSet:
            rows = await transaction.rows("turns.last_exchange", {"conversation_id": conversation_id})
            _refuse_if_too_late(rows)
            for row in rows:
                await transaction.run("undo.take_back_vectors", {"id": row["id"]})
                await transaction.run("undo.take_back_turn", {"id": row["id"]})
            await transaction.run("undo.take_back_experience", {"id": rows[0]["experience_id"]})
            deleted.extend(turn_of(row) for row in rows)
            return ChangeSet()

        async with self._store.embedding_lock:
            await self._store.commit(work)
        return deleted

    async def _row(self, prefix: str) -> Row:
        rows = await self._store.database.rows("conversations.beginning_with", {"prefix": prefix})
        if len(rows) != 1:
            raise NotFoundError(
                f"{'More than one' if rows else 'No'} conversation has an id that begins with {prefix!r}.",
                advice="List them: /resume",
            )
        return rows[0]


def _refuse_if_too_late(rows: list[Row]) -> None:
    if not rows or all(Origin(row["origin"]) is not Origin.OWNER for row in rows):
        raise UndoError(_NOTHING_TO_TAKE_BACK, advice="Say something first.")
    if rows[0]["light_slept"]:
        raise UndoError(
            _NOTHING_TO_TAKE_BACK,
            advice="Sleep has already turned it into memories. To undo a sleep pass: reveries consolidate undo",
        )


def _conversation_of(row: Row) -> PastConversation:
    return PastConversation(
        conversation_id=row["id"],
        began_at=row["began_at"],
        last_said_at=row["last_said_at"],
        source=row["source"],
        turns=row["turns"],
        opening=(row["opening"] or "")[:_OPENING_CHARS],
        found=row["found"] or "",
        is_held=False,
    )
