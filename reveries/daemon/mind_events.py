"""Events of the mind that clients are notified of, whichever part caused them."""

from dataclasses import dataclass, field

from reveries.memory.model import Turn
from reveries.notifier import Notifier


@dataclass(frozen=True, slots=True)
class MindEvents:
    """Created first and passed to every part; the clients subscribe."""

    turn_stored: Notifier[[Turn]] = field(default_factory=Notifier)
    state_changed: Notifier[[str, str]] = field(default_factory=Notifier)
    """The state, and a short detail."""
    problems_changed: Notifier[[list[str]]] = field(default_factory=Notifier)
    """All current problems."""
    work_progressed: Notifier[[str, int, int]] = field(default_factory=Notifier)
    """The kind of work, steps done, steps in total."""
