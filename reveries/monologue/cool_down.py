"""The rest after the breaker ended a thought (R-136): how long, why, and how thinking begins again.

It is counted by the monotonic clock: setting the clock on the wall neither ends it nor draws it out. Over a restart
only the clock on the wall goes on; what is left is then never more than the whole.
"""

from dataclasses import dataclass
from datetime import datetime, tzinfo

from reveries.clock import Clock
from reveries.monologue.permission import HeldBack
from reveries.monologue.thought import Reactivation, ThinkingReason
from reveries.safe_text import one_line
from reveries.safety.verdict import Action, Verdict

_WHY_CHARS = 200
NEW_BEGINNINGS = (ThinkingReason.COMFORT, ThinkingReason.FRESH_START)
"""How thinking begins again after a trip that asks for it."""


@dataclass(frozen=True, slots=True)
class Rest:
    """What a restart needs of a rest that is not over."""

    seconds: float
    because: str
    """What the breaker said."""
    then: ThinkingReason | None
    """How thinking begins again; None: with whatever comes."""


class CoolDown:
    """The one rest there may be. `release` ends it on the owner's word."""

    def __init__(self, clock: Clock, seconds: float, zone: tzinfo | None = None) -> None:
        """`seconds`: of a new rest. `zone` None: the machine's."""
        self._clock = clock
        self._seconds = seconds
        self._zone = zone
        self._ends_at = 0.0
        self.because = ""
        """What the breaker said, of the last rest."""

    def begin(self, because: str) -> None:
        """After a trip."""
        self._begin_rest(self._seconds, because)

    def restore(self, rest: Rest) -> None:
        """Of the last life."""
        self._begin_rest(rest.seconds, rest.because)

    def release(self) -> None:
        """The owner lets it think again."""
        self._ends_at = 0.0

    def held(self) -> HeldBack | None:
        """Why it rests and how much longer; None when it does not."""
        seconds = self._ends_at - self._clock.monotonic()
        if not self.because or seconds <= 0:
            return None
        until = datetime.fromtimestamp(self._clock.now() + seconds, self._zone)
        why = f"After a trip of the breaker it rests until {until:%H:%M:%S}: {self.because}"
        return HeldBack(f"{why} Before that: reveries monologue release", seconds)

    def _begin_rest(self, seconds: float, because: str) -> None:
        self.because = one_line(because, _WHY_CHARS) or "a thought was ended."
        self._ends_at = self._clock.monotonic() + seconds


def new_beginning(action: Action, why_began: str) -> ThinkingReason | None:
    """How thinking begins again after a trip (R-136). None: with whatever comes, as when a new beginning tripped."""
    if why_began in NEW_BEGINNINGS:
        return None
    match action:
        case Action.INTERRUPT_AND_COMFORT:
            return ThinkingReason.COMFORT
        case Action.SNAPSHOT_AND_RESET:
            return ThinkingReason.FRESH_START
        case _:
            return None


def response(verdict: Verdict, why: Reactivation) -> str:
    """What is done about a trip, in plain words for the journal (R-135)."""
    if verdict.action is Action.THROTTLE:
        return "thinking was slowed down"
    match new_beginning(verdict.action, why.reason):
        case ThinkingReason.COMFORT:
            return "the thought was ended; the next begins with something calming"
        case ThinkingReason.FRESH_START:
            return "the thought was ended and kept; the next begins without it"
        case _:
            return "the thought was ended"


def rest_after(tripped_at: float, now: float, whole_seconds: float) -> float:
    """What is left of a rest that began at `tripped_at` (both unix seconds), 0 when it is over. A clock that was set
    back since does not make it longer than the whole."""
    return max(0.0, min(whole_seconds, tripped_at + whole_seconds - now))
