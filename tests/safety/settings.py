"""The breaker's settings as they ship, and how its tests cut text into pieces."""

import re
from typing import Final

import msgspec

from reveries.config import BreakerSettings, load_settings
from reveries.safety.breaker import NO_KNOWLEDGE, Breaker, Knowledge
from reveries.safety.verdict import CONTINUE, Verdict

SHIPPED: Final = load_settings(None).circuit_breaker
SECONDS_A_PIECE: Final = 0.2
"""The pace of a thought: five tokens a second."""


def changed(**changes: object) -> BreakerSettings:
    return msgspec.structs.replace(SHIPPED, **changes)


def thought_breaker(settings: BreakerSettings = SHIPPED, knowledge: Knowledge = NO_KNOWLEDGE) -> Breaker:
    """The breaker that the mind's thoughts go through."""
    return Breaker(settings, knowledge, max_pace=settings.max_tokens_per_second)


def reply_breaker(settings: BreakerSettings = SHIPPED, knowledge: Knowledge = NO_KNOWLEDGE) -> Breaker:
    """The breaker that chat replies go through."""
    return Breaker(settings, knowledge, max_pace=None)


def pieces_of(text: str) -> list[str]:
    """About as a model would cut it: words with the space before them, signs apart."""
    return re.findall(r"\s?\w{1,8}|\s?[^\w\s]|\s+", text)


def verdicts_on(text: str, breaker: Breaker) -> list[Verdict]:
    """What is said after each piece, at the pace of a thought."""
    return [breaker.observe(piece, n * SECONDS_A_PIECE) for n, piece in enumerate(pieces_of(text))]


def first_trip(text: str, breaker: Breaker) -> Verdict:
    """The first verdict that is not CONTINUE; else CONTINUE."""
    return next((verdict for verdict in verdicts_on(text, breaker) if verdict != CONTINUE), CONTINUE)
