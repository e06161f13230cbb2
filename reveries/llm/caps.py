"""The cost of a call, and whether it fits every limit: by role and in total, day and month, tokens and money.

Pure: current usage and the ends of day and month are arguments. The ledger (`budget`) applies it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from enum import StrEnum

from reveries.config import BudgetSettings, RoleBudget
from reveries.errors import BudgetExceededError
from reveries.llm.base import CHAT_ROLES, PROJECT_ROLES, Role
from reveries.llm.prices import Price

MICRODOLLARS = 1_000_000
_SAME_MINUTE_SECONDS = 60.0
UNKNOWN_PRICE_ADVICE = (
    "Say what it costs, in dollars for a million tokens (0 and 0 for your own server): "
    "reveries config set llm.unlisted_input_dollars N, and reveries config set llm.unlisted_output_dollars N"
)
LIMITED_TOGETHER = frozenset((*CHAT_ROLES, *PROJECT_ROLES))
"""These roles share a token limit. Vectors are computed by the million on the owner's machine and count apart."""


class Span(StrEnum):
    """The period of a limit."""

    DAY = "day"
    MONTH = "month"


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call to be made, at its worst-case cost."""

    role: Role
    model: str
    price: Price
    prompt_tokens: int
    completion_tokens: int
    project_id: str = ""
    """The project the call is for; empty for none."""

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    @property
    def microdollars(self) -> int:
        return self.price.microdollars(self.prompt_tokens, self.completion_tokens)


@dataclass(frozen=True, slots=True)
class Charged:
    """What counts against the limits of one span already."""

    role_tokens: int
    role_microdollars: int
    tokens: int
    microdollars: int


@dataclass(frozen=True, slots=True)
class BudgetPeriod:
    """A day or a month: from its first second (unix seconds, by the ledger's time) to the first of the next."""

    span: Span
    since: float
    until: float
    seconds_left: float
    renews_at: float
    """`until` by the wall clock, which the ledger's time may be ahead of."""
    renews_words: str


@dataclass(frozen=True, slots=True)
class Cap:
    """One limit as it applies to one call. Amounts are tokens, or millionths of a dollar where `is_money`."""

    key: str
    """The setting, e.g. "budget.monologue.tokens_per_day"."""
    is_of_role: bool
    is_money: bool
    full: int
    usable: int
    """Less than `full` where a part is reserved for the owner's conversation."""
    used: int
    asked: int

    @property
    def fits(self) -> bool:
        return self.used + self.asked <= self.usable


def check_limits(
    ask: PlannedCall, charged: Mapping[Span, Charged], periods: Mapping[Span, BudgetPeriod], budget: BudgetSettings
) -> None:
    """Raise BudgetExceededError unless `ask` fits every limit on top of what is `charged`.

    Near the total limits thinking stops first, then work and reading, then learning, then sleep; the last share is
    reserved for conversation (G4).
    """
    for span, period in periods.items():
        for cap in caps(ask, span, charged[span], budget):
            if not cap.fits:
                raise _budget_error(ask, cap, period)


def caps(ask: PlannedCall, span: Span, charged: Charged, budget: BudgetSettings) -> Iterator[Cap]:
    """Yield every limit of `span` that applies to `ask`, its role's own first. Free calls have no money limits."""
    role, own, name = ask.role, role_budget(ask.role, budget), ask.role.value
    tokens = own.tokens_per_day if span is Span.DAY else own.tokens_per_month
    yield Cap(f"budget.{name}.tokens_per_{span}", True, False, tokens, tokens, charged.role_tokens, ask.tokens)
    share = usable_share(role, budget)
    if role in LIMITED_TOGETHER:
        full = budget.tokens_per_day if span is Span.DAY else budget.tokens_per_month
        yield Cap(f"budget.tokens_per_{span}", False, False, full, int(full * share), charged.tokens, ask.tokens)
    if not ask.microdollars:
        return
    dollars = own.dollars_per_day if span is Span.DAY else own.dollars_per_month
    cents, asked = int(dollars * MICRODOLLARS), ask.microdollars
    yield Cap(f"budget.{name}.dollars_per_{span}", True, True, cents, cents, charged.role_microdollars, asked)
    full = int((budget.dollars_per_day if span is Span.DAY else budget.dollars_per_month) * MICRODOLLARS)
    yield Cap(f"budget.dollars_per_{span}", False, True, full, int(full * share), charged.microdollars, asked)


def usable_share(role: Role, budget: BudgetSettings) -> float:
    """Return the share of the total limits that `role` may use: thinking stops first, then work and reading, then
    learning, which judges what they did, then sleep (G4)."""
    match role:
        case Role.MONOLOGUE:
            return max(0.0, 1.0 - 2 * budget.conversation_reserve_share)
        case Role.WORK | Role.READING:
            return max(0.0, 1.0 - 1.5 * budget.conversation_reserve_share)
        case Role.LEARNING:
            return max(0.0, 1.0 - 1.25 * budget.conversation_reserve_share)
        case Role.CONSOLIDATION:
            return 1.0 - budget.conversation_reserve_share
        case Role.CONVERSATION | Role.EMBEDDING:
            # Embedding serves the conversation, so it may use as much.
            return 1.0


def role_budget(role: Role, budget: BudgetSettings) -> RoleBudget:
    """Return the limits of `role` alone."""
    match role:
        case Role.CONVERSATION:
            return budget.conversation
        case Role.MONOLOGUE:
            return budget.monologue
        case Role.CONSOLIDATION:
            return budget.consolidation
        case Role.WORK:
            return budget.work
        case Role.LEARNING:
            return budget.learning
        case Role.READING:
            return budget.reading
        case Role.EMBEDDING:
            return budget.embedding


def periods_at(now: float, timezone: tzinfo | None, ahead_seconds: float = 0.0) -> dict[Span, BudgetPeriod]:
    """Return the day and the month that contain `now`, from midnight to midnight in `timezone`.

    `now` is the ledger's time, which is `ahead_seconds` ahead of the wall clock after that was set back.
    """
    day = datetime.fromtimestamp(now, timezone).replace(tzinfo=None, hour=0, minute=0, second=0, microsecond=0)
    month = day.replace(day=1)
    next_month = (month + timedelta(days=32)).replace(day=1)
    return {
        Span.DAY: _period(Span.DAY, day, day + timedelta(days=1), now, timezone, ahead_seconds),
        Span.MONTH: _period(Span.MONTH, month, next_month, now, timezone, ahead_seconds),
    }


def _period(
    span: Span, first: datetime, last: datetime, now: float, timezone: tzinfo | None, ahead_seconds: float
) -> BudgetPeriod:
    # Through naive wall time, not by adding 24 hours: a day has 23 or 25 when the clocks change.
    since, until = (moment.replace(tzinfo=timezone).timestamp() for moment in (first, last))
    # A smaller difference is clock drift, and would turn midnight into 23:59.
    renews_at = until - ahead_seconds if ahead_seconds > _SAME_MINUTE_SECONDS else until
    renews = datetime.fromtimestamp(renews_at, timezone)
    words = f"{renews:%a} {renews.day} {renews:%b}, {renews:%H:%M}"
    return BudgetPeriod(span, since, until, max(0.0, until - now), renews_at, words)


def _budget_error(ask: PlannedCall, cap: Cap, period: BudgetPeriod) -> BudgetExceededError:
    message = _dollar_limit_message(ask, cap, period) if cap.is_money else _token_limit_message(ask, cap, period)
    if cap.is_money and not ask.price.is_known:
        left_seconds = None if cap.asked > cap.usable else period.seconds_left
        return BudgetExceededError(message, advice=UNKNOWN_PRICE_ADVICE, goes_on_after_seconds=left_seconds)
    if cap.asked > cap.usable:
        advice = f"A single call is more than the limit. To raise it: reveries config set {cap.key} N"
        return BudgetExceededError(message, advice=advice)
    kept = " The rest is reserved for your own conversation." if cap.usable < cap.full else ""
    advice = (
        f"It continues with the next {period.span} ({period.renews_words}). "
        f"To see the limit: reveries config get {cap.key}."
    )
    return BudgetExceededError(message, advice=advice + kept, goes_on_after_seconds=period.seconds_left)


def _token_limit_message(ask: PlannedCall, cap: Cap, period: BudgetPeriod) -> str:
    who = f"The {ask.role} has used" if cap.is_of_role else "All roles together have used"
    whose = "its" if cap.is_of_role else "their"
    return (
        f"{who} {cap.used:,} of {whose} {cap.full:,} tokens of this {period.span}, "
        f"and the next call of the {ask.role} may need {cap.asked:,}."
    )


def _dollar_limit_message(ask: PlannedCall, cap: Cap, period: BudgetPeriod) -> str:
    unknown = (
        "" if ask.price.is_known else f" (the price of {ask.model} is unknown, so the dearest of any model is assumed)"
    )
    whose = f"the {ask.role}'s ${cap.full / MICRODOLLARS:.2f} of this {period.span}" if cap.is_of_role else (
        f"the {period.span}'s ${cap.full / MICRODOLLARS:.2f}"
    )  # fmt: skip
    return (
        f"The next call of the {ask.role} may cost ${cap.asked / MICRODOLLARS:.4f}{unknown}; "
        f"${cap.used / MICRODOLLARS:.2f} of {whose} are used."
    )
