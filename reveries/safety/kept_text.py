"""The breaker over what sleep is about to keep: the texts of an answer, not the form that they came in (R-129). Pure.

A summary tells of others, and often of their distress; so only sentences in the mind's own words are weighed for that,
and the quotes of an answer (`exemplars`, `facts`) not at all. What meaning shows is not looked at here.
"""

import re
from collections.abc import Iterator
from typing import Final

from reveries.config import BreakerSettings
from reveries.safety.breaker import Knowledge, ReplyBreaker
from reveries.safety.tripwire import own_sentences
from reveries.safety.verdict import CONTINUE, Reason, Verdict
from reveries.safety.word_order import WordOrder

_QUOTES: Final = frozenset(("exemplars", "facts"))
_PIECE: Final = re.compile(r"\s*\S+")


def kept_verdict(answer: object, settings: BreakerSettings, order: WordOrder | None) -> Verdict:
    """The first verdict that would stop a reply of one of the texts in `answer` (parsed JSON), else CONTINUE."""
    for text in _texts(answer):
        verdict = _verdict(text, settings, order)
        if verdict.stops:
            return verdict
    return CONTINUE


def _verdict(text: str, settings: BreakerSettings, order: WordOrder | None) -> Verdict:
    for said, is_own in ((text, False), (" ".join(own_sentences(text)), True)):
        breaker = ReplyBreaker(settings, Knowledge(order))
        for piece in _PIECE.findall(said):
            verdict = breaker.observe(piece, 0.0)
            if verdict.stops and (is_own or verdict.reason is not Reason.SUSTAINED_DISTRESS):
                return verdict
    return CONTINUE


def _texts(answer: object) -> Iterator[str]:
    if isinstance(answer, str):
        yield answer
    elif isinstance(answer, list):
        for item in answer:
            yield from _texts(item)
    elif isinstance(answer, dict):
        for name, value in answer.items():
            if name not in _QUOTES:
                yield from _texts(value)
