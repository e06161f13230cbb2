"""When a provider that failed is asked again (D3). Pure: time and chance are arguments.

The one place that knows of waiting: neither litellm, nor an HTTP client, nor the callers try again by themselves.
Thinking and sleep wait with exponential back-off and full jitter, and after a few failures never less than
`SETTLED_PAUSE_SECONDS`: at most 12 calls in any hour of an outage. The owner's own word waits for nothing but a
provider that asked for a pause, and, while the circuit is open, for the `PROBE_SECONDS` since the last failure.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from random import Random

from reveries.errors import ModelFault
from reveries.llm.base import Role

REQUEST_FAULTS = frozenset({ModelFault.BAD_REQUEST, ModelFault.FORBIDDEN})
"""What a provider that is well says of one question. It delays the role that asked, and opens no circuit."""

OPEN_AFTER_FAILURES = 5
"""In a row. From then on the owner's word makes one try instead of three."""

PROBE_SECONDS = 5.0

FIRST_PAUSE_SECONDS = 4.0
PAUSE_GROWTH = 4.0
LONGEST_PAUSE_SECONDS = 1800.0
SETTLED_PAUSE_SECONDS = 480.0
"""The shortest pause once the exponential part is over: with 4 quick tries before, at most 12 calls in an hour."""

_QUICK_PAUSES = 4


@dataclass(frozen=True, slots=True)
class Circuit:
    """What is known of a provider. Times are unix seconds."""

    failures: int = 0
    """Calls in a row that failed; pauses that it asked for do not count."""
    pauses: int = 0
    """Times in a row that it asked for a pause (429)."""
    opened_at: float | None = None
    failed_at: float = 0.0
    next_try_at: float = 0.0
    """For thinking and sleep."""
    asked_until: float = 0.0
    """Until then the provider asked us not to come, whoever wants to."""
    last_fault: ModelFault | None = None
    last_error: str = ""

    @property
    def is_open(self) -> bool:
        return self.opened_at is not None

    @property
    def is_well(self) -> bool:
        return self.last_fault is None


HEALTHY = Circuit()


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed call. `retry_after_seconds`: what the provider asked for, None if nothing."""

    fault: ModelFault
    error: str
    retry_after_seconds: float | None = None


def classify_failure(failure: Failure, earlier: Iterable[Circuit]) -> Failure:
    """`failure` as it is to be counted: a 403 that follows one is of the key, whichever role had the first."""
    if failure.fault is ModelFault.FORBIDDEN and any(one.last_fault is ModelFault.FORBIDDEN for one in earlier):
        return replace(failure, fault=ModelFault.KEY_REFUSED)
    return failure


def after_failure(circuit: Circuit, failure: Failure, now: float, chance: Random) -> Circuit:
    """The circuit after `failure`."""
    is_pause = failure.fault is ModelFault.RATE_LIMITED
    failures = circuit.failures + (not is_pause)
    pauses = circuit.pauses + is_pause
    wait = _pause_seconds(failures + pauses, chance)
    asked = failure.retry_after_seconds
    if asked is not None:
        wait = max(asked, wait)  # Who asks for no time at all, again and again, is not asked at once for ever.
    if failure.fault is ModelFault.KEY_REFUSED:
        # A key does not become right by itself: nothing but the owner's word, or a new wake, asks again.
        wait = float("inf")
    opened_at = circuit.opened_at
    is_ill = failures >= OPEN_AFTER_FAILURES and failure.fault not in REQUEST_FAULTS
    if opened_at is None and (is_ill or failure.fault is ModelFault.KEY_REFUSED):
        opened_at = now
    return Circuit(
        failures=failures,
        pauses=pauses,
        opened_at=opened_at,
        failed_at=now,
        next_try_at=now + wait,
        asked_until=now + asked if asked is not None else circuit.asked_until,
        last_fault=failure.fault,
        last_error=failure.error,
    )


def wait_seconds(circuit: Circuit, role: Role, now: float) -> float:
    """How long `role` must wait before it may ask: 0 for now. `now` must never step (`Circuits` sees to it)."""
    if circuit.is_well:
        return 0.0
    asked = circuit.asked_until - now
    if role is not Role.CONVERSATION:
        return max(0.0, circuit.next_try_at - now, asked)
    probe = circuit.failed_at + PROBE_SECONDS - now if circuit.is_open else 0.0
    return max(0.0, probe, asked)


def after_restart(circuit: Circuit, now: float) -> Circuit:
    """What a new run makes of the circuit that the last one left.

    A refused key may have been put right meanwhile, so it is tried once. A clock that runs behind the one that wrote it
    is not waited for.
    """
    if circuit.last_fault is ModelFault.KEY_REFUSED:
        return replace(circuit, next_try_at=now, failed_at=min(circuit.failed_at, now))
    if circuit.failed_at > now:
        early = circuit.failed_at - now
        return replace(
            circuit,
            failed_at=now,
            next_try_at=circuit.next_try_at - early,
            asked_until=circuit.asked_until - early,
        )
    return circuit


def _pause_seconds(failures: int, chance: Random) -> float:
    if failures <= _QUICK_PAUSES:
        return chance.uniform(0.0, FIRST_PAUSE_SECONDS * PAUSE_GROWTH ** (failures - 1))
    return chance.uniform(SETTLED_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS)
