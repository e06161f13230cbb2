"""Budget ledger: the worst-case cost of a call is reserved, durably, before it is made (G1..G4).

Afterwards it is settled with the actual cost. A call of unknown usage keeps its worst case; so does one that was never
settled and can no longer be running (it expires: counted in full, and shown as unknown). Local models cost nothing, but
their tokens count too. Without budget left, no calls are made.
"""

import asyncio
import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

import structlog

from reveries.clock import Clock
from reveries.config import BudgetSettings
from reveries.db.database import Database, Transaction
from reveries.db.failpoints import Step, reach_step
from reveries.errors import BudgetExceededError, StorageError
from reveries.llm.base import Role, Usage
from reveries.llm.caps import (
    MICRODOLLARS,
    BudgetPeriod,
    Charged,
    PlannedCall,
    Span,
    caps,
    check_limits,
    periods_at,
    role_budget,
)
from reveries.llm.prices import Price
from reveries.protocol import UsageLimit, UsageToday, UsedDay, UsedModel

log = structlog.get_logger("budget")

LONGEST_CALL_SECONDS = 660.0
"""The default limit on a whole call (`llm.limits.total_seconds`) with a margin."""
CALL_MARGIN_SECONDS = 60.0
_PAID = Price(1.0, 1.0)
"""A price for which every limit applies."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """Permission for one call."""

    id: int
    ask: PlannedCall
    reserved_at: float
    """By the ledger's time, which never goes back: it decides which day pays."""


class Ledger:
    """The budget as rows of the database. Every amount is reserved in the transaction that checked it."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        budget: Callable[[], BudgetSettings],
        *,
        timezone: tzinfo | None = None,
        longest_call_seconds: float = LONGEST_CALL_SECONDS,
    ) -> None:
        """`timezone` None: the machine's. Days begin at its midnight, months on their first day.

        A call older than `longest_call_seconds` can no longer be running.
        """
        self._database = database
        self._clock = clock
        self._timezone = timezone
        self._longest_call_seconds = longest_call_seconds
        self.budget = budget
        """Returns the limits of the next call."""
        self._anchor: tuple[float, float] | None = None

    async def reserve(self, ask: PlannedCall) -> Reservation:
        """Reserve the worst case of `ask`. Raises BudgetExceededError; then, or if cancelled, nothing is reserved."""
        reservation: Reservation | None = None
        try:
            async with self._database.transaction() as transaction:
                reservation = await self._insert_reservation(transaction, ask)
        except asyncio.CancelledError:
            # The COMMIT goes on without its caller, who then knows of no call to settle.
            if reservation is not None:
                with contextlib.suppress(StorageError):
                    await self.release(reservation)
            raise
        reach_step(Step.CALL_RESERVED)
        return reservation

    async def _insert_reservation(self, transaction: Transaction, ask: PlannedCall) -> Reservation:
        now = await self._check(transaction, ask)
        [row] = await transaction.rows(
            "usage.reserve",
            {
                "reserved_at": now,
                "role": ask.role.value,
                "model": ask.model,
                "reserved_tokens": ask.tokens,
                "reserved_microdollars": ask.microdollars,
                "price_version": ask.price.version,
                "project_id": ask.project_id or None,
            },
        )
        return Reservation(int(row["id"]), ask, now)

    async def require_room(self, asks: Sequence[PlannedCall]) -> None:
        """Raise the first one's BudgetExceededError unless one of `asks` could be reserved now. Nothing is reserved."""
        errors: list[BudgetExceededError] = []
        async with self._database.reading_transaction() as transaction:
            for ask in asks:
                try:
                    await self._check(transaction, ask)
                except BudgetExceededError as error:
                    errors.append(error)
        if errors and len(errors) == len(asks):
            raise errors[0]

    @property
    def database(self) -> Database:
        """The ledger's database, for data that is stored with it."""
        return self._database

    async def settle(self, reservation: Reservation, usage: Usage, outcome: str = "answered") -> None:
        """Replace the reserved amount by the actual usage. Settling again changes nothing."""
        await self._settle(reservation, usage, reservation.ask.price.of(usage), outcome)

    async def release(self, reservation: Reservation) -> None:
        """Release the reservation of a call that was never made."""
        await self._settle(reservation, Usage(0, 0), 0, "released")

    async def leave_reserved(self, reservation: Reservation) -> None:
        """Keep the worst case of a call whose usage is unknown."""
        async with self._database.transaction() as transaction:
            await transaction.run("usage.leave_reserved", {"id": reservation.id, "outcome": "usage unknown"})

    async def record(self, role: Role, model: str, prompt_tokens: int, price_version: str) -> None:
        """Count usage that costs nothing and is never refused: vectors computed on this machine."""
        async with self._database.transaction() as transaction:
            now = await self._time(transaction)
            counted = {"role": role.value, "model": model, "prompt_tokens": prompt_tokens}
            await transaction.run("usage.record", {"now": now, "price_version": price_version, **counted})

    async def usage_today(self) -> list[UsageToday]:
        """Return each role's usage today, in the order of the roles."""
        rows = await self.usage_since(Span.DAY)
        return [_sum_role_usage(role, rows, role_budget(role, self.budget()).tokens_per_day) for role in Role]

    async def usage_since(self, span: Span) -> list[UsedModel]:
        """Return the usage of this day or month so far, by role and model."""
        async with self._database.reading_transaction() as transaction:
            since = periods_at(await self._time(transaction), self._timezone)[span].since
            rows = await transaction.rows("usage.used_by_role_and_model", {"since": since})
        fields = (
            "calls", "prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens", "unsettled_tokens",
        )  # fmt: skip
        calls = ("running_calls", "worst_case_calls")
        return [
            UsedModel(
                role=str(row["role"]),
                model=str(row["model"]),
                dollars=int(row["microdollars"]) / MICRODOLLARS,
                worst_case_dollars=int(row["worst_case_microdollars"]) / MICRODOLLARS,
                **{name: int(row[name]) for name in (*fields, *calls)},
            )
            for row in rows
        ]

    async def usage_by_day(self, days: int) -> list[UsedDay]:
        """Return the last `days` local days, today last: language models only."""
        used = []
        async with self._database.reading_transaction() as transaction:
            today = datetime.fromtimestamp(await self._time(transaction), self._timezone).replace(tzinfo=None, hour=12)
            for back in reversed(range(days)):
                noon = (today - timedelta(days=back)).replace(tzinfo=self._timezone)
                day = periods_at(noon.timestamp(), self._timezone)[Span.DAY]
                [row] = await transaction.rows("usage.used_between", {"since": day.since, "until": day.until})
                dollars = int(row["microdollars"]) / MICRODOLLARS
                used.append(UsedDay(f"{noon:%Y-%m-%d}", int(row["calls"]), int(row["tokens"]), dollars))
        return used

    async def limits(self) -> list[UsageLimit]:
        """Return every limit with its usage: those of all roles together first, then each role's."""
        async with self._database.reading_transaction() as transaction:
            now = await self._time(transaction)
            periods = periods_at(now, self._timezone, now - self._clock.now())
            charged = {role: await self._read_charged(transaction, role, periods) for role in Role}
        together: list[UsageLimit] = []
        apart: list[UsageLimit] = []
        for role in Role:
            for span, period in periods.items():
                for cap in caps(PlannedCall(role, "", _PAID, 0, 1), span, charged[role][span], self.budget()):
                    unit = MICRODOLLARS if cap.is_money else 1
                    of = role.value if cap.is_of_role else ""
                    use = UsageLimit(
                        cap.key, of, span, cap.is_money, cap.full / unit, cap.used / unit, period.renews_at
                    )
                    (apart if cap.is_of_role else together).append(use)
        return [*{use.key: use for use in together}.values(), *apart]

    async def now(self) -> float:
        """Return the ledger's time, which decides the day and month."""
        async with self._database.reading_transaction() as transaction:
            return await self._time(transaction)

    async def dollars_this_month(self) -> float:
        return sum(used.dollars for used in await self.usage_since(Span.MONTH))

    async def _check(self, transaction: Transaction, ask: PlannedCall) -> float:
        """Return the ledger's time. Raises BudgetExceededError unless `ask` fits every limit."""
        now = await self._time(transaction)
        periods = periods_at(now, self._timezone, now - self._clock.now())
        if ask.project_id and ask.microdollars:
            await _check_goal(transaction, ask)
        check_limits(ask, await self._read_charged(transaction, ask.role, periods), periods, self.budget())
        return now

    async def _settle(self, reservation: Reservation, usage: Usage, microdollars: int, outcome: str) -> None:
        async with self._database.transaction() as transaction:
            await transaction.run(
                "usage.settle",
                {
                    "id": reservation.id,
                    "settled_at": await self._time(transaction),
                    # A provider that counts below zero must not give the budget anything back.
                    "prompt_tokens": max(0, usage.prompt_tokens),
                    "cached_tokens": max(0, usage.cached_tokens),
                    "completion_tokens": max(0, usage.completion_tokens),
                    "reasoning_tokens": max(0, usage.reasoning_tokens),
                    "microdollars": max(0, microdollars),
                    "outcome": outcome,
                },
            )

    async def _read_charged(
        self, transaction: Transaction, role: Role, periods: Mapping[Span, BudgetPeriod]
    ) -> dict[Span, Charged]:
        charged = {}
        for span, period in periods.items():
            asked = {"since": period.since, "role": role.value, "longest_call_seconds": self._longest_call_seconds}
            [row] = await transaction.rows("usage.charged", asked)
            charged[span] = Charged(
                role_tokens=int(row["role_tokens"]),
                role_microdollars=int(row["role_microdollars"]),
                tokens=int(row["tokens"]),
                microdollars=int(row["microdollars"]),
            )
        return charged

    async def _expire(self, transaction: Transaction, before: float) -> None:
        """Expire calls that can no longer be running. They keep their worst case, shown to the owner as unknown."""
        expired = await transaction.rows("usage.expire", {"before": before})
        if expired:
            log.warning("usage.expired", calls=len(expired))

    async def _time(self, transaction: Transaction) -> float:
        """Return the ledger's time: the wall clock's, but never going back.

        After the clock was set back it continues from the newest row at the speed of the monotonic clock, until the
        wall clock has caught up: no day is opened twice, and a clock that was wrong for an hour does not block the
        budget until the date it showed.
        """
        is_first = self._anchor is None
        if self._anchor is None:
            [row] = await transaction.rows("usage.last_reserved_at")
            self._anchor = (float(row["reserved_at"] or 0.0), self._clock.monotonic())
        newest, seen_at = self._anchor
        elapsed = self._clock.monotonic() - seen_at
        now = max(self._clock.now(), newest + elapsed if newest else 0.0)
        self._anchor = (now, self._clock.monotonic())
        # Calls that an earlier run left open cannot be running, however recent.
        await self._expire(transaction, math.inf if is_first else now - self._longest_call_seconds)
        return now


async def _check_goal(transaction: Transaction, ask: PlannedCall) -> None:
    """Raise BudgetExceededError unless `ask` fits under the limit of the project's goal."""
    for row in await transaction.rows("usage.charged_to_goal", {"project_id": ask.project_id}):
        if row["dollars_limit"] is not None and row["microdollars"] + ask.microdollars > int(
            row["dollars_limit"] * MICRODOLLARS
        ):
            raise BudgetExceededError(
                f"The goal's limit of ${row['dollars_limit']:.2f} is used up.",
                advice="Give it more, with the same text: reveries project goal PROJECT TEXT --limit DOLLARS",
            )


def _sum_role_usage(role: Role, rows: list[UsedModel], token_limit: int) -> UsageToday:
    own = [row for row in rows if row.role == role.value]
    return UsageToday(
        role=role.value,
        calls=sum(row.calls for row in own),
        prompt_tokens=sum(row.prompt_tokens + row.unsettled_tokens for row in own),
        completion_tokens=sum(row.completion_tokens for row in own),
        dollars=sum(row.dollars for row in own),
        token_limit=token_limit,
    )
