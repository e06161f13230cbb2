"""Lists what is degraded, in sentences for the owner."""

from reveries.daemon.lifecycle.room_keeper import RoomKeeper
from reveries.daemon.lifecycle.watchdog import Watchdog
from reveries.daemon.mind_parts import MindParts
from reveries.daemon.senses.calendar_watch import Calendar
from reveries.db.backups import VerificationResult

_TRACES = (
    "What you erased is deleted, but traces of it may remain in the memory file: it could not be rewritten. "
    "Free some disk space, or close the program that reads it. The next wake tries again: reveries sleep, reveries wake"
)


class Health:
    """Collects the problems of all parts, and remembers those that finished jobs reported."""

    def __init__(self, parts: MindParts, *, room: RoomKeeper, watchdog: Watchdog, calendar: Calendar) -> None:
        self._parts = parts
        self._room = room
        self._watchdog = watchdog
        self._calendar = calendar
        self._changed_texts: tuple[str, ...] = ()
        self._no_backup = ""
        self.has_traces = False
        """Whether the memory file may still hold erased text because it could not be rewritten."""

    def note_backup(self, looked: VerificationResult) -> None:
        """Record a verified backup, with the texts in it that the disk changed."""
        self._no_backup, self._changed_texts = "", looked.rotten

    def note_failed_backup(self, why: str) -> None:
        """Record that the last backup failed."""
        self._no_backup = why

    @property
    def is_running_normally(self) -> bool:
        """Whether there are no known problems."""
        return not self.problems()

    def problems(self) -> list[str]:
        """Return all current problems, a sentence or two each."""
        by_words, waits = self._parts.memory.no_vector_reason, self._parts.memory.reembedding.progress.waiting_reason
        problems = [self._parts.safe_because, *self._room.problems(), *self._parts.models.problems()]
        if by_words and not self._parts.safe_because:
            problems.append(f"Recall searches by words only. {by_words}")
        if waits and waits != by_words:
            problems.append(f"New memories have no vectors yet. {waits}")
        problems += [self._parts.database.notice, self._no_backup]
        if self.has_traces:
            problems.append(_TRACES)
        if self._changed_texts:
            texts = " ".join(self._changed_texts)
            problems.append(f"The disk changed stored text. {texts} See: reveries backup verify")
        return [problem for problem in (*problems, *self._watchdog.problems(), *self._calendar.problems) if problem]
