"""What a hosted provider would cost its owner, roughly, before it is chosen. Pure; every assumption has a name."""

from reveries.config import BudgetSettings, RoleBudget
from reveries.llm.prices import Price

TURNS_PER_HOUR = 40
PROMPT_TOKENS_PER_TURN = 3000
"""Rules, self-model, what is recalled, and the conversation so far."""

REPLY_TOKENS_PER_TURN = 200

_MICRODOLLARS = 1_000_000


def hour_of_talk_dollars(price: Price) -> float:
    """Of an hour of conversation at `price`."""
    turn = price.microdollars(PROMPT_TOKENS_PER_TURN, REPLY_TOKENS_PER_TURN)
    return TURNS_PER_HOUR * turn / _MICRODOLLARS


def background_day_dollars(price: Price, budget: BudgetSettings) -> float:
    """What thinking and sleep may use of a day at the most: all their tokens at the dearer price, within the caps."""
    most = _role_day(price, budget.monologue) + _role_day(price, budget.consolidation)
    return min(most, budget.dollars_per_day * (1.0 - budget.conversation_reserve_share))


def _role_day(price: Price, limits: RoleBudget) -> float:
    dearer = max(price.input, price.output)
    return min(limits.tokens_per_day * dearer / _MICRODOLLARS, limits.dollars_per_day)
