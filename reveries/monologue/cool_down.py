"""The cool-down after the breaker ended a thought (R-136): how long, why, and how thinking starts again.

It is measured by the monotonic clock, so setting the system clock neither ends nor extends it. Over a restart only the
system clock continues; the remaining time is then limited to the full cool-down.
"""

from dataclasses import dataclass
from datetime import datetime, tzinfo

from reveries.clock import Clock
from reveries.monologue.permission import ThinkingHold
from reveries.monologue.thought import Reactivation, ThinkingReason
from reveries.safe_text import one_line
from reveries.safety.verdict import Action, Verdict

_WHY_CHARS = 200
RESTART_REASONS = (ThinkingReason.COMFORT, ThinkingReason.FRESH_START)
"""The special ways in which thinking starts again after a trip."""


@dataclass(frozen=True, slots=True)
class RemainingCoolDown:
    """A cool-down that was not over when the daemon stopped."""

    seconds: float
    because: str
    """The breaker's explanation."""
    then: ThinkingReason | None
    """How thinking starts again; None: as usual."""


class CoolDown:
    """The cool-down, at most one at a time. `release` ends it on the owner's request."""

    def __init__(self, clock: Clock, seconds: float, zone: tzinfo | None = None) -> None:
        """`seconds` is the length of a new cool-down. `zone` None: the machine's."""
        self._clock = clock
        self._seconds = seconds
        self._zone = zone
        self._ends_at = 0.0
        self.because = ""
        """The breaker's explanation of the last cool-down."""

    def begin(self, because: str) -> None:
        """Begin a cool-down after a trip."""
        self._begin(self._seconds, because)

    def restore(self, remaining: RemainingCoolDown) -> None:
        """Continue a cool-down after a restart."""
        self._begin(remaining.seconds, remaining.because)

    def release(self) -> None:
        """End the cool-down on the owner's request."""
        self._ends_at = 0.0

    def current_hold(self) -> ThinkingHold | None:
        """Return the reason and the remaining time of the cool-down; None if there is none."""
        seconds = self._ends_at - self._clock.monotonic()
        if not self.because or seconds <= 0:
            return None
        until = datetime.fromtimestamp(self._clock.now() + seconds, self._zone)
        why = f"After a trip of the breaker it rests until {until:%H:%M:%S}: {self.because}"
        return ThinkingHold(f"{why} To end it earlier: reveries monologue release", seconds)

    def _begin(self, seconds: float, because: str) -> None:
        self.because = one_line(because, _WHY_CHARS) or "a thought was ended."
        self._ends_at = self._clock.monotonic() + seconds


def choose_restart_reason(action: Action, why_began: str) -> ThinkingReason | None:
    """Return how thinking starts again after a trip (R-136); None: as usual, also if a restart itself tripped."""
    if why_began in RESTART_REASONS:
        return None
    match action:
        case Action.INTERRUPT_AND_COMFORT:
            return ThinkingReason.COMFORT
        case Action.SNAPSHOT_AND_RESET:
            return ThinkingReason.FRESH_START
        case _:
            return None


def describe_response(verdict: Verdict, why: Reactivation) -> str:
    """Return what is done about a trip, in plain words for the journal (R-135)."""
    if verdict.action is Action.THROTTLE:
        return "thinking was slowed down"
    match choose_restart_reason(verdict.action, why.reason):
        case ThinkingReason.COMFORT:
            return "the thought was ended; the next begins with something calming"
        case ThinkingReason.FRESH_START:
            return "the thought was ended and kept; the next begins without it"
        case _:
            return "the thought was ended"


def remaining_cool_down_seconds(tripped_at: float, now: float, whole_seconds: float) -> float:
    """Return what is left of a cool-down that began at `tripped_at` (both unix seconds), 0 if it is over. A clock that
    was set back since does not extend it beyond its full length."""
    return max(0.0, min(whole_seconds, tripped_at + whole_seconds - now))
