"""How a wake of a project ended."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class RestReason(StrEnum):
    """Why a wake of a project ended."""

    DONE = "done"
    WAITING = "waiting for you"
    BUDGET = "budget"
    RESTED = "rested"
    INTERRUPTED = "interrupted"
    NO_MODEL = "no model"
    STUCK = "stuck"
    KEPT = "keeps order"
    """With a small model: notes are read, and nothing is done by itself."""


@dataclass(frozen=True, slots=True)
class WakeReport:
    reason: RestReason
    message: str
    tasks_ended: int
    wait_seconds: float = 0.0
    """How long another wake would end the same way: until the budget resets or the provider is back."""
    last_word: int = 0
    """Log id of the owner's last entry that the wake took into account."""

    def describe(self) -> str:
        """Return it in words; where a sentence says all, without the name of the reason."""
        if self.message and self.reason in _SAID_BY_MESSAGE:
            return self.message
        return f"{self.reason.value}: {self.message}" if self.message else self.reason.value


_SAID_BY_MESSAGE: Final = frozenset({RestReason.KEPT, RestReason.WAITING})


NOTHING_TO_DO: Final = frozenset({RestReason.DONE, RestReason.WAITING, RestReason.STUCK, RestReason.KEPT})
"""After these a project has nothing to do until the owner says something."""
