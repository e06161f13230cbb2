"""What the loop stands between: the sources of thoughts on one side, what others see of it on the other."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from reveries.monologue.cool_down import Rest
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
    """The owner paused it, it is within the quiet hours, or the machine runs on its battery."""
    TRIPPED = "tripped"
    """It rests after a trip of the breaker, until the cool-down is over or the owner releases it."""
    FAILING = "failing"


@dataclass(frozen=True, slots=True)
class SavedState:
    """What survives a restart (R-151): the last buffer, as the next thought's "previous" (R-172)."""

    last_buffer: str = ""
    is_quiescent: bool = True
    is_tainted: bool = False
    """Somebody else than the owner and the mind had a hand in it."""
    thought_id: str = ""
    """Of which thought the buffer is."""
    rest: Rest | None = None
    """After a trip, when the last life ended in it."""


class ThoughtSources(Protocol):
    """Where thoughts get their inputs and leave their results: the daemon's side of the monologue."""

    async def restore(self) -> SavedState: ...

    async def has_something_to_process(self) -> bool:
        """The free question before every thought: no model is asked (RA-9)."""
        ...

    async def gather(self, why: Reactivation, previous: str, *, comfort: bool) -> ThoughtInputs:
        """R-32's five inputs; with `comfort`, a calming ambient text beside them (R-138)."""
        ...

    async def record(self, thought: FinishedThought, state: SavedState) -> None:
        """Keep the thought as a raw experience with its log entry (R-41), and the state for a restart."""
        ...

    async def checkpoint(self, thought: FinishedThought) -> None:
        """Keep how far a thought has come, for a restart in its middle (R-9); `record` follows sooner or later."""
        ...

    async def record_trip(self, verdict: Verdict, so_far: str, response: str, *, is_tainted: bool) -> None:
        """Keep what the breaker did; `is_tainted` says whether the thought was."""
        ...

    async def association(self) -> Reactivation:
        """Waits until a memory comes up by itself (R-61); may wait for ever."""
        ...

    async def calendar(self) -> Reactivation:
        """Waits until something in the calendar is near (R-60); for ever without a calendar."""
        ...
