"""The breaker's verdicts on a stream of tokens (R-130). Data only: the loop acts on them (R-136)."""

from dataclasses import dataclass
from enum import StrEnum


class Action(StrEnum):
    CONTINUE = "continue"
    INTERRUPT = "interrupt"
    INTERRUPT_AND_COMFORT = "interrupt_and_comfort"
    THROTTLE = "throttle"
    SNAPSHOT_AND_RESET = "snapshot_and_reset"


class TripReason(StrEnum):
    NONE = ""
    LOOP_DETECTED = "loop_detected"
    SUSTAINED_DISTRESS = "sustained_distress"
    RUNAWAY_GENERATION = "runaway_generation"
    INCOHERENCE = "incoherence"
    OWNERS_RELEASE = "owners_release"
    """Not a trip: the owner ended the rest after one. Only in the journal."""


class Severity(StrEnum):
    NONE = ""
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One row of R-130's table, with an explanation in plain words."""

    action: Action
    reason: TripReason = TripReason.NONE
    severity: Severity = Severity.NONE
    explanation: str = ""

    @property
    def stops(self) -> bool:
        """Whether the stream must end."""
        return self.action not in (Action.CONTINUE, Action.THROTTLE)


CONTINUE = Verdict(Action.CONTINUE)
