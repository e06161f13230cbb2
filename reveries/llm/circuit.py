"""Circuit breaker of a provider: when a failed one is called again (D3). Pure: time and chance are arguments.

The only place that decides on waiting: neither litellm, nor an HTTP client, nor the callers retry by themselves.
Thinking and sleep wait with exponential back-off and full jitter, and after a few failures never less than
`SETTLED_PAUSE_SECONDS`: at most 12 calls in any hour of an outage. The owner's messages wait only for a pause that the
provider asked for, and, while the circuit is open, for `PROBE_SECONDS` since the last failure.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from random import Random

from reveries.errors import ModelFault
from reveries.llm.base import Role

REQUEST_FAULTS = frozenset({ModelFault.BAD_REQUEST, ModelFault.FORBIDDEN})
"""Faults of one request, from a provider that works. They delay the role that asked, and open no circuit."""

OPEN_AFTER_FAILURES = 5
"""In a row. From then on an owner's message makes one try instead of three."""

PROBE_SECONDS = 5.0

FIRST_PAUSE_SECONDS = 4.0
PAUSE_GROWTH = 4.0
LONGEST_PAUSE_SECONDS = 1800.0
SETTLED_PAUSE_SECONDS = 480.0
"""The shortest pause after the exponential part: with 4 quick tries before, at most 12 calls in an hour."""

_QUICK_PAUSES = 4


@dataclass(frozen=True, slots=True)
class Circuit:
    """The state of a provider. Times are unix seconds."""

    failures: int = 0
    """Failed calls in a row, without rate limits."""
    pauses: int = 0
    """Rate limits in a row (HTTP 429)."""
    opened_at: float | None = None
    failed_at: float = 0.0
    next_try_at: float = 0.0
    """For thinking and sleep."""
    asked_until: float = 0.0
    """The provider asked for no calls before this time, whatever their role."""
    last_fault: ModelFault | None = None
    last_error: str = ""

    @property
    def is_open(self) -> bool:
        return self.opened_at is not None

    @property
    def is_healthy(self) -> bool:
        return self.last_fault is None


HEALTHY = Circuit()


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed call. `retry_after_seconds`: what the provider asked for, None if nothing."""

    fault: ModelFault
    error: str
    retry_after_seconds: float | None = None


def classify_failure(failure: Failure, earlier: Iterable[Circuit]) -> Failure:
    """Return `failure` as it counts: a second 403, whichever role had the first, means that the key is refused."""
    if failure.fault is ModelFault.FORBIDDEN and any(circuit.last_fault is ModelFault.FORBIDDEN for circuit in earlier):
        return replace(failure, fault=ModelFault.KEY_REFUSED)
    return failure


def after_failure(circuit: Circuit, failure: Failure, now: float, chance: Random) -> Circuit:
    """Return the circuit after `failure`."""
    is_pause = failure.fault is ModelFault.RATE_LIMITED
    failures = circuit.failures + (not is_pause)
    pauses = circuit.pauses + is_pause
    wait = _pause_seconds(failures + pauses, chance)
    asked = failure.retry_after_seconds
    if asked is not None:
        wait = max(asked, wait)  # A provider that keeps asking for no pause still gets one.
    if failure.fault is ModelFault.KEY_REFUSED:
        # A refused key stays refused: only an owner's message or a new start tries it again.
        wait = float("inf")
    opened_at = circuit.opened_at
    opens = failures >= OPEN_AFTER_FAILURES and failure.fault not in REQUEST_FAULTS
    if opened_at is None and (opens or failure.fault is ModelFault.KEY_REFUSED):
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
    """Return how long `role` must wait before it may call: 0 for now. `now` must never step (`Circuits` ensures
    that)."""
    if circuit.is_healthy:
        return 0.0
    asked = circuit.asked_until - now
    if role is not Role.CONVERSATION:
        return max(0.0, circuit.next_try_at - now, asked)
    probe = circuit.failed_at + PROBE_SECONDS - now if circuit.is_open else 0.0
    return max(0.0, probe, asked)


def after_restart(circuit: Circuit, now: float) -> Circuit:
    """Return the circuit that a new run starts with.

    A refused key may have been corrected, so it is tried once. Times from a clock that was ahead of ours are moved
    back.
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
