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


@dataclass(frozen=True, slots=True)
class WakeReport:
    reason: RestReason
    message: str
    tasks_ended: int
    wait_seconds: float = 0.0
    """So long nothing will be other than it is: the budget's day, a provider's pause."""
    last_word: int = 0
    """The log's number of the owner's last word that the wake looked at before it ended."""


NOTHING_TO_DO: Final = frozenset({RestReason.DONE, RestReason.WAITING, RestReason.STUCK})
"""After these only a word of the owner gives a project something to do."""
