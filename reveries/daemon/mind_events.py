"""What happens in the mind and is shown to clients, whichever part caused it."""

from dataclasses import dataclass, field

from reveries.memory.model import Turn
from reveries.notifier import Notifier


@dataclass(frozen=True, slots=True)
class MindEvents:
    """Made first and given to every part; the clients subscribe."""

    turn_stored: Notifier[[Turn]] = field(default_factory=Notifier)
    state_changed: Notifier[[str, str]] = field(default_factory=Notifier)
    """The state, and a few words more."""
    problems_changed: Notifier[[list[str]]] = field(default_factory=Notifier)
    """All problems there are now."""
    work_progressed: Notifier[[str, int, int]] = field(default_factory=Notifier)
    """What is done, how much of it, of how much."""
