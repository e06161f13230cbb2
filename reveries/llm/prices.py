"""What a call may cost and did cost, in millionths of a US dollar. Pure except for reading `prices.toml` once."""

from functools import cache
from importlib import resources

import msgspec

from reveries.config import BudgetSettings, RoleBudget
from reveries.llm.base import Usage

LOCAL_PROVIDERS = ("embedded", "ollama", "scripted")
"""Providers on the owner's machines are free."""


class Price(msgspec.Struct, frozen=True):
    """US dollars for a million tokens, which equals millionths of a dollar for one."""

    input: float
    output: float
    version: str = ""
    is_known: bool = True

    @property
    def is_free(self) -> bool:
        return self.input == 0 and self.output == 0

    def microdollars(self, prompt_tokens: int, completion_tokens: int) -> int:
        """Return the cost, rounded up: many small calls must not be free."""
        return -int(-(prompt_tokens * self.input + completion_tokens * self.output) // 1)

    def of(self, usage: Usage) -> int:
        """Return the cost of `usage`. Cached tokens count in full: rebates differ, and a lower bill does no harm."""
        return self.microdollars(usage.prompt_tokens, usage.completion_tokens)


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    input: float
    output: float


class _PriceTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    version: str
    worst_case: _Entry
    price: dict[str, _Entry]


@cache
def _read_table() -> _PriceTable:
    source = resources.files("reveries.llm").joinpath("prices.toml").read_bytes()
    return msgspec.toml.decode(source, type=_PriceTable)


def price_table_version() -> str:
    """Return the version of the price table; each entry of the ledger stores it."""
    return _read_table().version


def price_of(model: str) -> Price:
    """Return the price of `model` ("provider/name"): 0 for local providers, the worst case for unlisted models."""
    table = _read_table()
    if model.partition("/")[0] in LOCAL_PROVIDERS:
        return Price(0.0, 0.0, table.version)
    entry = table.price.get(model)
    if entry is None:
        return Price(table.worst_case.input, table.worst_case.output, table.version, is_known=False)
    return Price(entry.input, entry.output, table.version)


TURNS_PER_HOUR = 40
PROMPT_TOKENS_PER_TURN = 3000
"""Rules, self-model, recalled memories, and the conversation so far."""

REPLY_TOKENS_PER_TURN = 200

_MICRODOLLARS = 1_000_000


def hour_of_talk_dollars(price: Price) -> float:
    """Return the cost of an hour of conversation at `price`."""
    turn = price.microdollars(PROMPT_TOKENS_PER_TURN, REPLY_TOKENS_PER_TURN)
    return TURNS_PER_HOUR * turn / _MICRODOLLARS


def background_day_dollars(price: Price, budget: BudgetSettings) -> float:
    """Return the most that thinking, sleep and projects may cost in a day: all their tokens at the higher price, within
    the limits."""
    roles = (budget.monologue, budget.consolidation, budget.work, budget.learning, budget.reading)
    most = sum(_role_day(price, limits) for limits in roles)
    return min(most, budget.dollars_per_day * (1.0 - budget.conversation_reserve_share))


def _role_day(price: Price, limits: RoleBudget) -> float:
    dearer = max(price.input, price.output)
    return min(limits.tokens_per_day * dearer / _MICRODOLLARS, limits.dollars_per_day)
