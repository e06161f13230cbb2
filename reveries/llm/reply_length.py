"""How long a reply may be, by the model that gives it. Pure."""

from typing import Final

from reveries.llm.choose import HOSTED_PROVIDERS
from reveries.llm.prices import Price
from reveries.llm.tier import Tier

HOSTED_TOKENS: Final = 4000
"""About 3,000 words: what people ask a hosted model for at once (a letter, a plan, a program)."""
CAPABLE_TOKENS: Final = 2000
"""For a capable model on the owner's machine, which writes 5 to 40 tokens a second."""
SMALL_TOKENS: Final = 512
"""A small model that writes more than this goes round (docs/benchmarks/talk.md)."""
_CONTEXT_SHARE: Final = 0.25
"""Most of the context that a reply may take: the rest is for what it answers."""
_DOLLARS_SHARE: Final = 0.25
"""Most of a day's dollars that one reply may reserve."""


def reply_tokens_for(
    setting: int, model_name: str, price: Price, tier: Tier, context_tokens: int, dollars_per_day: float
) -> int:
    """Return the most tokens of a reply of `model_name` ("provider/model"). `setting`: the owner's own limit, 0 for one
    that suits the model and what may be spent: each reply is reserved at its worst case, so a long one of a dear model,
    or of one whose price is not known, would be refused."""
    if setting:
        return setting
    is_hosted = model_name.partition("/")[0] in HOSTED_PROVIDERS
    wanted = HOSTED_TOKENS if is_hosted else CAPABLE_TOKENS if tier is Tier.CAPABLE else SMALL_TOKENS
    if dollars_each := price.output / 1_000_000:
        wanted = max(SMALL_TOKENS, min(wanted, int(dollars_per_day * _DOLLARS_SHARE / dollars_each)))
    return min(wanted, int(context_tokens * _CONTEXT_SHARE))
