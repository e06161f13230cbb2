"""How long a reply may be, by the model that gives it. Pure."""

from typing import Final

from reveries.llm.choose import HOSTED_PROVIDERS
from reveries.llm.tier import Tier

HOSTED_TOKENS: Final = 4000
"""About 3,000 words: what people ask a hosted model for at once (a letter, a plan, a program)."""
CAPABLE_TOKENS: Final = 2000
"""For a capable model on the owner's machine, which writes 5 to 40 tokens a second."""
SMALL_TOKENS: Final = 512
"""A small model that writes more than this goes round (docs/benchmarks/talk.md)."""
_CONTEXT_SHARE: Final = 0.25
"""Most of the context that a reply may take: the rest is for what it answers."""


def reply_tokens_for(setting: int, model_name: str, tier: Tier, context_tokens: int) -> int:
    """Return the most tokens of a reply of `model_name` ("provider/model"). `setting`: the owner's own limit, 0 for one
    that suits the model."""
    if setting:
        return setting
    is_hosted = model_name.partition("/")[0] in HOSTED_PROVIDERS
    wanted = HOSTED_TOKENS if is_hosted else CAPABLE_TOKENS if tier is Tier.CAPABLE else SMALL_TOKENS
    return min(wanted, int(context_tokens * _CONTEXT_SHARE))
