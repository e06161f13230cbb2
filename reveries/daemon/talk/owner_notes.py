"""Notes to the owner: stored when a thought ends with one, shown when a client attaches, dismissed by the owner."""

from reveries.clock import Clock
from reveries.db.checksums import checksum
from reveries.db.database import Database, Row
from reveries.errors import NotFoundError
from reveries.monologue.notes import PastNote, extract_note, is_repeated_note, next_note_at
from reveries.monologue.thought import FinishedThought
from reveries.protocol import Note
from reveries.safe_text import plain

_LATEST_CHECKED = 20
"""The latest notes that are checked for the rate and for repetitions."""
_TALK_IS_READ_SECONDS = 86_400.0
"""A note waits no longer than this for sleep to read the talk after it."""
_REASONS = {
    "conversation": "It came of thinking about what you had said.",
    "timer": "It came of thinking about what had happened.",
    "association": "It came when a memory surfaced by itself.",
    "waking": "It came on waking.",
    "nudge": "It came when you asked it to think.",
    "step": "It came when you asked for a thought.",
}


class OwnerNotes:
    """The notes in the database. `per_day` is the setting in force, 0 for none."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def may_write(self, per_day: float) -> bool:
        """Whether a thought that begins now may end with a note."""
        at = next_note_at(per_day, _past_notes(await self._load_latest()))
        return at is not None and self._clock.now() >= at

    async def store_from(self, thought: FinishedThought, per_day: float) -> None:
        """Store the note at the end of a logged thought, if there is one and it is due and new."""
        text = extract_note(thought)
        latest = _past_notes(await self._load_latest()) if text else []
        at = next_note_at(per_day, latest)
        if not text or at is None or self._clock.now() < at or is_repeated_note(text, latest):
            return
        row = {
            "id": thought.id,
            "thought_id": thought.id,
            "written_at": thought.ended_at,
            "text": text,
            "reason": _REASONS.get(thought.why_began, "It came of a thought."),
            "checksum": checksum(text),
        }
        async with self._database.transaction() as transaction:
            await transaction.run("notes.put", row)

    async def latest(self, limit: int) -> list[Note]:
        """Return the latest notes, oldest first."""
        return [_note_from_row(row) for row in await self._database.rows("notes.latest", {"limit": limit})]

    async def show(self, per_day: float) -> list[Note]:
        """Return the notes that were not shown yet, and mark them as shown; those that the latest talk may answer wait
        until sleep has read it. None if notes are switched off; the list still has them."""
        if per_day <= 0:
            return []
        async with self._database.reading_transaction() as transaction:
            now = self._clock.now()
            rows = await transaction.rows("notes.to_show", {"talk_after": now - _TALK_IS_READ_SECONDS})
            await transaction.run_many("notes.mark_shown", [{"id": row["id"], "now": now} for row in rows])
        return [_note_from_row(row) for row in rows]

    async def dismiss(self, id_or_prefix: str) -> Note:
        """Dismiss a note, which lowers the rate of later ones. Raises NotFoundError."""
        async with self._database.transaction() as transaction:
            rows = await transaction.rows("notes.named", {"prefix": id_or_prefix})
            if len(rows) != 1:
                many = "More than one note begins" if rows else "There is no note that begins"
                raise NotFoundError(f"{many} with {id_or_prefix}.", advice="They are listed by: reveries notes")
            await transaction.run("notes.dismiss", {"id": rows[0]["id"], "now": self._clock.now()})
            (row,) = await transaction.rows("notes.named", {"prefix": rows[0]["id"]})
        return _note_from_row(row)

    async def _load_latest(self) -> list[Row]:
        return list(await self._database.rows("notes.latest", {"limit": _LATEST_CHECKED}))


def _past_notes(rows: list[Row]) -> list[PastNote]:
    return [PastNote(row["written_at"], row["text"], row["dismissed_at"] is not None) for row in rows]


def _note_from_row(row: Row) -> Note:
    return Note(
        note_id=row["id"],
        thought_id=row["thought_id"],
        written_at=row["written_at"],
        text=plain(row["text"]),
        reason=row["reason"],
        shown_at=row["shown_at"] or 0.0,
        dismissed_at=row["dismissed_at"] or 0.0,
        is_answered=row["answered_in"] is not None,
    )
