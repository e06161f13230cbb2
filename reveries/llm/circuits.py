"""The circuits of all providers, kept over restarts so that a new run does not flood a failing one (D3)."""

from collections.abc import Collection
from dataclasses import asdict
from datetime import datetime
from random import Random

import structlog

from reveries.clock import Clock
from reveries.db.database import Database, Row
from reveries.errors import DiskFullError, ModelFault
from reveries.llm.base import Role
from reveries.llm.circuit import (
    HEALTHY,
    REQUEST_FAULTS,
    Circuit,
    Failure,
    after_failure,
    after_restart,
    classify_failure,
    wait_seconds,
)
from reveries.llm.faults import fault_sentence
from reveries.notifier import Notifier

log = structlog.get_logger("models")


class Circuits:
    """Created by `open_circuits`. Updated in memory first, then in the database: an unsaved circuit still protects."""

    def __init__(self, database: Database, clock: Clock, chance: Random, circuits: dict[str, Circuit]) -> None:
        self._database = database
        self._clock = clock
        self._chance = chance
        self._known = circuits
        self._origin = (clock.now(), clock.monotonic())
        self.recovered: Notifier[[str]] = Notifier()
        """Notified of a provider that answers again, so that callers stop waiting for it."""

    def get(self, provider: str) -> Circuit:
        return self._known.get(provider, HEALTHY)

    def find_blocking(self, provider: str, role: Role) -> Circuit:
        """Return the circuit that blocks `role` longest: the provider's, or that of the role's own requests."""
        both = (self.get(provider), self.get(_request_circuit(provider, role)))
        now = self._now()
        return max(both, key=lambda circuit: (wait_seconds(circuit, role, now), not circuit.is_healthy))

    def wait_seconds(self, provider: str, role: Role) -> float:
        """Return how long `role` must wait before it may call `provider`; 0 for now."""
        return wait_seconds(self.find_blocking(provider, role), role, self._now())

    async def record_failure(self, provider: str, failure: Failure, role: Role | None = None) -> None:
        """Record a failed call of `provider`. A fault of the request delays only the `role` that made it."""
        of_questions = [self.get(_request_circuit(provider, other_role)) for other_role in Role]
        failure = classify_failure(failure, of_questions)
        is_of_question = role is not None and failure.fault in REQUEST_FAULTS
        name = _request_circuit(provider, role) if role is not None and is_of_question else provider
        before = self.get(name)
        circuit = after_failure(before, failure, self._now(), self._chance)
        self._known[name] = circuit
        if circuit.is_open and not before.is_open:
            log.warning("provider.circuit_opened", provider=provider, fault=failure.fault.value)
        await self._store(name, circuit)

    async def record_answer(self, provider: str, role: Role | None = None) -> None:
        """Record an answered call of `provider` for `role` (None: any): its faults are over."""
        over = [name for name in self._names(provider) if self._is_over(name, provider, role)]
        for name in over:
            del self._known[name]
        if not over:
            return
        log.info("provider.recovered", provider=provider)
        self.recovered.notify(provider)
        for name in over:
            await self._store(name, None)

    def _names(self, provider: str) -> list[str]:
        return [
            name for name in (provider, *(_request_circuit(provider, role) for role in Role)) if name in self._known
        ]

    def _is_over(self, name: str, provider: str, role: Role | None) -> bool:
        """Whether an answer to `role` clears the circuit: a 403 of another role is no longer repeated."""
        is_its_own = role is None or name in (provider, _request_circuit(provider, role))
        return is_its_own or self._known[name].last_fault is ModelFault.FORBIDDEN

    def problems(self, in_use: Collection[str] | None = None) -> list[str]:
        """Return a sentence for each failing provider and what happens next; `in_use` limits them to the configured
        ones."""
        return [
            self._describe_problem(name, circuit)
            for name, circuit in sorted(self._known.items())
            if in_use is None or name.partition(" (")[0] in in_use
        ]

    @property
    def refusing(self) -> list[tuple[str, str]]:
        """Return each provider that refused its key, with a sentence."""
        circuits = sorted(self._known.items())
        refused = ModelFault.KEY_REFUSED
        return [
            (name, self._describe_problem(name, circuit)) for name, circuit in circuits if circuit.last_fault is refused
        ]

    def _describe_problem(self, provider: str, circuit: Circuit) -> str:
        since = _time_text(circuit.opened_at or circuit.failed_at)
        if circuit.last_fault is ModelFault.KEY_REFUSED:
            after = "Put the key or the account right; your next message tries it again."
        elif circuit.next_try_at <= self._now():
            after = "It is tried again when there is something to ask."
        else:
            after = (
                f"Thinking and sleep try it again at {_time_text(circuit.next_try_at)}, your next message before that."
            )
        return f"{provider} fails since {since}: {circuit.last_error} {after}"

    def _now(self) -> float:
        """Return unix seconds counted from the start by the monotonic clock."""
        wall, monotonic = self._origin
        return wall + self._clock.monotonic() - monotonic

    async def _store(self, provider: str, circuit: Circuit | None) -> None:
        try:
            async with self._database.transaction() as transaction:
                if circuit is None:
                    await transaction.run("circuits.forget", {"provider": provider})
                else:
                    # Not the provider's words: they may quote the prompt, which may be off the record.
                    row = asdict(circuit) | {"last_error": _kept_words(provider, circuit.last_fault)}
                    await transaction.run("circuits.put", {"provider": provider, **row})
        except DiskFullError:
            log.warning("provider.circuit_store_failed", provider=provider)


async def open_circuits(database: Database, clock: Clock, chance: Random) -> Circuits:
    """Load the circuits of the last run."""
    rows = await database.rows("circuits.all")
    circuits = {str(row["provider"]): after_restart(_circuit_from_row(row), clock.now()) for row in rows}
    return Circuits(database, clock, chance, circuits)


def _kept_words(provider: str, fault: ModelFault | None) -> str:
    return fault_sentence(provider, fault, None) if fault is not None else ""


def _request_circuit(provider: str, role: Role) -> str:
    """Return the name of the circuit for faults of `role`'s requests to `provider`."""
    return f"{provider} ({role.value})"


def _circuit_from_row(row: Row) -> Circuit:
    return Circuit(
        failures=int(row["failures"]),
        pauses=int(row["pauses"]),
        opened_at=None if row["opened_at"] is None else float(row["opened_at"]),
        failed_at=float(row["failed_at"]),
        next_try_at=float(row["next_try_at"]),
        asked_until=float(row["asked_until"]),
        last_fault=ModelFault(row["last_fault"]),
        last_error=str(row["last_error"]),
    )


def _time_text(unix_seconds: float) -> str:
    return datetime.fromtimestamp(unix_seconds).astimezone().strftime("%H:%M")
