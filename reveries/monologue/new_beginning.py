"""How thinking begins again after the breaker ended a thought. Pure."""

from reveries.monologue.thought import Reactivation, Reason
from reveries.safety.verdict import Action, Verdict


def new_beginning(verdict: Verdict, why: Reactivation) -> Reason | None:
    """How thinking begins again after a trip (R-136). None: it rests, as it does when a new beginning tripped."""
    if why.reason in (Reason.COMFORT, Reason.FRESH_START):
        return None
    match verdict.action:
        case Action.INTERRUPT_AND_COMFORT:
            return Reason.COMFORT
        case Action.SNAPSHOT_AND_RESET:
            return Reason.FRESH_START
        case _:
            return None


def response(verdict: Verdict, why: Reactivation) -> str:
    """What is done about a trip, in plain words for the journal (R-135)."""
    if verdict.action is Action.THROTTLE:
        return "thinking was slowed down"
    match new_beginning(verdict, why):
        case Reason.COMFORT:
            return "the thought was ended; the next begins with something calming"
        case Reason.FRESH_START:
            return "the thought was ended and kept; the next begins without it"
        case _:
            return "the thought was ended"
