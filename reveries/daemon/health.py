"""What is degraded, in words for the owner."""

from reveries.daemon.calendar_watch import Calendar
from reveries.daemon.mind_parts import MindParts
from reveries.daemon.room_keeper import RoomKeeper
from reveries.daemon.watchdog import Watchdog
from reveries.db.backups import Looked

_TRACES = (
    "What was erased is deleted, but traces of it may be left in the memory's file: it could not be written anew. Free "
    "some room, or end the program that reads it; the next wake tries again: reveries sleep, reveries wake"
)


class Health:
    """Asks each part for its problems, and keeps those that a finished piece of work left."""

    def __init__(self, parts: MindParts, *, room: RoomKeeper, watchdog: Watchdog, calendar: Calendar) -> None:
        self._parts = parts
        self._room = room
        self._vitals = watchdog
        self._calendar = calendar
        self._changed_texts: tuple[str, ...] = ()
        self._no_backup = ""
        self.has_traces = False
        """Whether the memory's file may hold what was erased: it could not be written anew."""

    def backup_made(self, looked: Looked) -> None:
        """A copy was made, and looked at: texts in it may not be what was written."""
        self._no_backup, self._changed_texts = "", looked.rotten

    def backup_failed(self, why: str) -> None:
        """The last backup could not be made."""
        self._no_backup = why

    @property
    def is_running_normally(self) -> bool:
        """Whether nothing is known to be in trouble."""
        return not self.problems()

    def problems(self) -> list[str]:
        """What is degraded, a sentence or two each."""
        by_words, waits = self._parts.memory.by_words_because, self._parts.memory.reembedding.progress.waits
        found = [self._parts.safe_because, *self._room.problems(), *self._parts.models.problems()]
        if by_words and not self._parts.safe_because:
            found.append(f"Recall goes by words alone. {by_words}")
        if waits and waits != by_words:
            found.append(f"What is new has no vectors yet. {waits}")
        found += [self._parts.database.notice, self._no_backup]
        if self.has_traces:
            found.append(_TRACES)
        if self._changed_texts:
            texts = " ".join(self._changed_texts)
            found.append(f"The disk changed what was written. {texts} See: reveries backup verify")
        return [one for one in (*found, *self._vitals.problems(), *self._calendar.problems) if one]
