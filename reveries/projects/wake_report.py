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


NOTHING_TO_DO: Final = frozenset({RestReason.DONE, RestReason.WAITING, RestReason.STUCK, RestReason.KEPT})
"""After these a project has nothing to do until the owner says something."""
