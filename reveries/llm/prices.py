"""What a call may cost and did cost, in millionths of a US dollar. Pure except for reading the price lists once.

The lists are `prices.toml`, whose entries were looked up, and then that of litellm, which knows many more models. What
neither has costs what the owner says, or, unsaid, the most that any model costs.
"""

import contextlib
import importlib.util
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Final

import msgspec

from reveries.config import BudgetSettings, LlmSettings, RoleBudget
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


class _PriceEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    input: float
    output: float


class _PriceTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    version: str
    worst_case: _PriceEntry
    price: dict[str, _PriceEntry]


@cache
def _read_table() -> _PriceTable:
    source = resources.files("reveries.llm").joinpath("prices.toml").read_bytes()
    return msgspec.toml.decode(source, type=_PriceTable)


def price_table_version() -> str:
    """Return the version of the price table; each entry of the ledger stores it."""
    return _read_table().version


class _LibraryEntry(msgspec.Struct, frozen=True):
    litellm_provider: str = ""
    input_cost_per_token: float | str | None = None
    output_cost_per_token: float | str | None = None
    output_cost_per_reasoning_token: float | str | None = None


_LIBRARY_LIST: Final = "model_prices_and_context_window_backup.json"
_MILLION: Final = 1_000_000


@cache
def read_library_prices() -> dict[str, Price]:
    """Return the prices that litellm comes with, by "provider/name"; empty without it. Takes a fifth of a second once,
    so call it in a thread first. Does not import litellm."""
    spec = importlib.util.find_spec("litellm")
    folders = (spec.submodule_search_locations or []) if spec is not None else []
    entries: dict[str, _LibraryEntry] = {}
    for folder in folders:
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            source = (Path(folder) / _LIBRARY_LIST).read_bytes()
            entries = msgspec.json.decode(source, type=dict[str, _LibraryEntry])
    prices: dict[str, Price] = {}
    for key, entry in entries.items():
        dollars = (entry.input_cost_per_token, entry.output_cost_per_token)
        hidden = entry.output_cost_per_reasoning_token
        if isinstance(dollars[0], float) and isinstance(dollars[1], float) and any(dollars):
            output = max(dollars[1], hidden if isinstance(hidden, float) else 0.0)
            name = key if key.startswith(f"{entry.litellm_provider}/") else f"{entry.litellm_provider}/{key}"
            version = f"{_read_table().version}, litellm"
            prices[name] = Price(round(dollars[0] * _MILLION, 6), round(output * _MILLION, 6), version)
    return prices


def price_of(model: str, llm: LlmSettings | None = None) -> Price:
    """Return the price of `model` ("provider/name"): 0 for local providers; for unlisted models what the settings `llm`
    say, else the worst case."""
    table = _read_table()
    if model.partition("/")[0] in LOCAL_PROVIDERS:
        return Price(0.0, 0.0, table.version)
    if (entry := table.price.get(model)) is not None:
        return Price(entry.input, entry.output, table.version)
    if (listed := read_library_prices().get(model)) is not None:
        return listed
    if llm is not None and llm.unlisted_input_dollars >= 0 and llm.unlisted_output_dollars >= 0:
        return Price(llm.unlisted_input_dollars, llm.unlisted_output_dollars, "yours")
    return Price(table.worst_case.input, table.worst_case.output, table.version, is_known=False)


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
