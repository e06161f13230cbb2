"""The one choke point of money: what a call may cost at worst is reserved, durably, before it is made (G1..G4).

Settled afterwards with what it did cost. A call whose usage nobody told keeps its worst case; so does one that an
earlier run never settled. Local models cost nothing and are counted in tokens all the same. Out of budget means quiet.
"""

from dataclasses import dataclass
from datetime import datetime, tzinfo

from reveries.clock import Clock
from reveries.config import BudgetSettings, RoleBudget
from reveries.db.database import Database, Transaction
from reveries.errors import BudgetExceededError
from reveries.llm.base import Role, Usage
from reveries.llm.prices import Price

MICRODOLLARS = 1_000_000


@dataclass(frozen=True, slots=True)
class Ask:
    """A call that somebody wants to make, at its worst."""

    role: Role
    model: str
    price: Price
    prompt_tokens: int
    completion_tokens: int

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    @property
    def microdollars(self) -> int:
        return self.price.microdollars(self.prompt_tokens, self.completion_tokens)


@dataclass(frozen=True, slots=True)
class Charged:
    """What counts against the budget already."""

    role_tokens_today: int
    microdollars_today: int
    microdollars_this_month: int


@dataclass(frozen=True, slots=True)
class Reservation:
    """A call that may be made, once."""

    id: int
    ask: Ask


@dataclass(frozen=True, slots=True)
class RoleUsage:
    """A role's day. Tokens of calls that were not settled stand in `prompt_tokens`, at their worst case."""

    role: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    dollars: float
    token_limit: int


def check(ask: Ask, charged: Charged, budget: BudgetSettings) -> None:
    """Raise BudgetExceededError unless `ask` fits beside what is `charged`. Pure.

    Thinking and sleep stop while the reserve share is left; only the owner's conversation may go into it (G4).
    """
    limit = token_limit(ask.role, budget)
    if charged.role_tokens_today + ask.tokens > limit:
        raise BudgetExceededError(
            f"The {ask.role} has used {charged.role_tokens_today:,} of its {limit:,} tokens of today, "
            f"and the next call may need {ask.tokens:,}.",
            advice=f"It goes on tomorrow. The limit: reveries config get budget.{ask.role}.tokens_per_day",
        )
    if not ask.microdollars:
        return
    share = 1.0 if ask.role is Role.CONVERSATION else 1.0 - budget.conversation_reserve_share
    for spent, dollars, span, key in (
        (charged.microdollars_today, budget.dollars_per_day, "day", "dollars_per_day"),
        (charged.microdollars_this_month, budget.dollars_per_month, "month", "dollars_per_month"),
    ):
        if spent + ask.microdollars > int(dollars * share * MICRODOLLARS):
            raise BudgetExceededError(_too_dear(ask, spent, dollars, span), advice=_what_to_do(ask, span, key))


def token_limit(role: Role, budget: BudgetSettings) -> int:
    """Tokens that `role` may use in a day."""
    return role_budget(role, budget).tokens_per_day


def role_budget(role: Role, budget: BudgetSettings) -> RoleBudget:
    """The limits of `role` alone."""
    match role:
        case Role.CONVERSATION:
            return budget.conversation
        case Role.MONOLOGUE:
            return budget.monologue
        case Role.CONSOLIDATION:
            return budget.consolidation
        case Role.EMBEDDING:
            return budget.embedding


def _too_dear(ask: Ask, spent: int, dollars: float, span: str) -> str:
    unknown = "" if ask.price.is_known else f" (the price of {ask.model} is not known and counts at its worst)"
    return (
        f"The next call of the {ask.role} may cost ${ask.microdollars / MICRODOLLARS:.4f}{unknown}; "
        f"${spent / MICRODOLLARS:.2f} of the {span}'s ${dollars:.2f} are used."
    )


def _what_to_do(ask: Ask, span: str, key: str) -> str:
    reserve = "" if ask.role is Role.CONVERSATION else " What is left is kept for your own conversation."
    return f"It goes on with the next {span}. The limit: reveries config get budget.{key}.{reserve}"


class Ledger:
    """The budget as rows of the database. Every amount is reserved in the transaction that checked it."""

    def __init__(
        self, database: Database, clock: Clock, budget: BudgetSettings, *, timezone: tzinfo | None = None
    ) -> None:
        """`timezone` None: the machine's. Its midnight begins the day, the first of the month the month."""
        self._database = database
        self._clock = clock
        self._timezone = timezone
        self.budget = budget
        self._anchor: tuple[float, float] | None = None

    async def reserve(self, ask: Ask) -> Reservation:
        """Set the worst case of `ask` aside. Raises BudgetExceededError; then nothing is set aside."""
        async with self._database.transaction() as transaction:
            now = await self._time(transaction)
            check(ask, await self._charged(transaction, ask.role, now), self.budget)
            [row] = await transaction.rows(
                "usage.reserve",
                {
                    "reserved_at": now,
                    "role": ask.role.value,
                    "model": ask.model,
                    "reserved_tokens": ask.tokens,
                    "reserved_microdollars": ask.microdollars,
                    "price_version": ask.price.version,
                },
            )
        return Reservation(int(row["id"]), ask)

    @property
    def database(self) -> Database:
        """Where it is written: for what is kept beside it."""
        return self._database

    async def settle(self, reservation: Reservation, usage: Usage, outcome: str = "answered") -> None:
        """Put what was used in the place of what was set aside. A second settling changes nothing."""
        await self._settle(reservation, usage, reservation.ask.price.of(usage), outcome)

    async def release(self, reservation: Reservation) -> None:
        """The call was never made: nothing was used."""
        await self._settle(reservation, Usage(0, 0), 0, "released")

    async def leave_reserved(self, reservation: Reservation, outcome: str) -> None:
        """Nobody knows what the call used: it keeps its worst case."""
        async with self._database.transaction() as transaction:
            await transaction.run("usage.leave_reserved", {"id": reservation.id, "outcome": outcome})

    async def usage_today(self) -> list[RoleUsage]:
        """Each role's day so far, in the order of the roles."""
        async with self._database.transaction() as transaction:
            since = self._day_start(await self._time(transaction))
            rows = {str(row["role"]): row for row in await transaction.rows("usage.used_by_role", {"since": since})}
        used = []
        for role in Role:
            row = rows.get(role.value, {})
            used.append(
                RoleUsage(
                    role=role.value,
                    calls=int(row["calls"]) if row else 0,
                    prompt_tokens=int(row["prompt_tokens"]) + int(row["unsettled_tokens"]) if row else 0,
                    completion_tokens=int(row["completion_tokens"]) if row else 0,
                    dollars=int(row["microdollars"]) / MICRODOLLARS if row else 0.0,
                    token_limit=token_limit(role, self.budget),
                )
            )
        return used

    async def dollars_this_month(self) -> float:
        async with self._database.transaction() as transaction:
            since = self._month_start(await self._time(transaction))
            return await self._microdollars(transaction, since) / MICRODOLLARS

    async def _settle(self, reservation: Reservation, usage: Usage, microdollars: int, outcome: str) -> None:
        async with self._database.transaction() as transaction:
            await transaction.run(
                "usage.settle",
                {
                    "id": reservation.id,
                    "settled_at": self._clock.now(),
                    # A provider that counts below zero must not give the budget anything back.
                    "prompt_tokens": max(0, usage.prompt_tokens),
                    "cached_tokens": max(0, usage.cached_tokens),
                    "completion_tokens": max(0, usage.completion_tokens),
                    "microdollars": max(0, microdollars),
                    "outcome": outcome,
                },
            )

    async def _charged(self, transaction: Transaction, role: Role, now: float) -> Charged:
        day = self._day_start(now)
        [row] = await transaction.rows("usage.charged_tokens", {"since": day, "role": role.value})
        return Charged(
            role_tokens_today=int(row["tokens"]),
            microdollars_today=await self._microdollars(transaction, day),
            microdollars_this_month=await self._microdollars(transaction, self._month_start(now)),
        )

    async def _microdollars(self, transaction: Transaction, since: float) -> int:
        [row] = await transaction.rows("usage.charged_microdollars", {"since": since})
        return int(row["microdollars"])

    async def _time(self, transaction: Transaction) -> float:
        """The ledger's time: the wall clock's, but never back.

        When the clock was set back, it runs on from the newest row by the time that truly passes, until the clock has
        caught up: a step back opens no day for a second time, and a clock that was wrong for an hour does not close the
        budget until the year it showed.
        """
        if self._anchor is None:
            [row] = await transaction.rows("usage.last_reserved_at")
            self._anchor = (float(row["reserved_at"] or 0.0), self._clock.monotonic())
        newest, seen_at = self._anchor
        elapsed = self._clock.monotonic() - seen_at
        now = max(self._clock.now(), newest + elapsed if newest else 0.0)
        self._anchor = (now, self._clock.monotonic())
        return now

    def _day_start(self, now: float) -> float:
        local = datetime.fromtimestamp(now, self._timezone)
        return local.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()

    def _month_start(self, now: float) -> float:
        local = datetime.fromtimestamp(now, self._timezone)
        return local.replace(day=1, hour=0, minute=0, second=0, microsecond=0).timestamp()
