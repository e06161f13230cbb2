"""Interfaces of the loop: the port for a thought's inputs and results, and the states that are shown."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from reveries.monologue.cool_down import RemainingCoolDown
from reveries.monologue.thought import FinishedThought, Reactivation, ThoughtInputs
from reveries.safety.verdict import Verdict


class ThoughtState(StrEnum):
    OFF = "not thinking"
    WAITING = "waiting"
    THINKING = "thinking"
    SETTLED = "settled"
    PAUSED = "paused"
    QUIET = "quiet"
    """Its budget for today is used up."""
    HELD = "held"
    """The owner paused it, it is within the quiet hours, or the machine runs on battery power."""
    TRIPPED = "tripped"
    """In the cool-down after a trip of the breaker, until it ends or the owner releases it."""
    FAILING = "failing"


@dataclass(frozen=True, slots=True)
class SavedState:
    """The state that survives a restart (R-151): the last buffer is the next thought's "previous" (R-172)."""

    last_buffer: str = ""
    is_quiescent: bool = True
    is_tainted: bool = False
    """Untrusted text influenced the buffer."""
    thought_id: str = ""
    """The thought of the buffer."""
    cool_down: RemainingCoolDown | None = None
    """A cool-down that was running when the daemon stopped."""


class ThoughtSources(Protocol):
    """The daemon's side of the monologue: provides inputs of thoughts and stores their results."""

    async def restore(self) -> SavedState: ...

    async def has_something_to_process(self) -> bool:
        """Whether there is anything new to think about; checked before every thought without a model (RA-9)."""
        ...

    async def gather(self, why: Reactivation, previous: str, *, comfort: bool) -> ThoughtInputs:
        """Gather R-32's five inputs; with `comfort`, also a calming ambient text (R-138)."""
        ...

    async def record(self, thought: FinishedThought, state: SavedState) -> None:
        """Store the thought as a raw experience with its log entry (R-41), and the state for a restart."""
        ...

    async def checkpoint(self, thought: FinishedThought) -> None:
        """Store the thought so far, in case of a restart (R-9); `record` follows when it ends."""
        ...

    async def record_trip(self, verdict: Verdict, so_far: str, response: str, *, is_tainted: bool) -> None:
        """Store a trip of the breaker; `is_tainted` is the taint of the thought."""
        ...

    async def association(self) -> Reactivation:
        """Wait until a memory surfaces by itself (R-61); possibly forever."""
        ...

    async def calendar(self) -> Reactivation:
        """Wait until an event of the calendar is near (R-60); forever without a calendar."""
        ...
