"""The breaker over what sleep is about to keep: the texts of an answer, not the form that they came in (R-129). Pure.

A summary tells of others, and often of their distress; so only sentences in the mind's own words are weighed for that,
and the quotes of an answer (`exemplars`, `facts`) not at all. By rules first (`kept_verdict`), then, where there is an
embedder for it, by what the sentences mean (`answer_sentences`, `meaning_verdict`).
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from reveries.config import BreakerSettings
from reveries.llm.base import Vectors
from reveries.safety.breaker import Knowledge, ReplyBreaker
from reveries.safety.likeness import LEAST_SENTENCE_CHARS, Likeness, MeaningWatch
from reveries.safety.tripwire import own_sentences
from reveries.safety.verdict import CONTINUE, TripReason, Verdict
from reveries.safety.word_order import WordOrder

_QUOTES: Final = frozenset(("exemplars", "facts"))
_PIECE: Final = re.compile(r"\s*\S+")
_SENTENCE: Final = re.compile(r"[^.!?…\n]+[.!?…]*")
_MOST_SENTENCES: Final = 60
"""Of one text: no summary is as long, and each takes the embedder some 14 ms."""


def kept_verdict(answer: object, settings: BreakerSettings, order: WordOrder | None) -> Verdict:
    """The first verdict that would stop a reply of one of the texts in `answer` (parsed JSON), else CONTINUE."""
    for text in _texts_in(answer):
        verdict = _verdict(text, settings, order)
        if verdict.stops:
            return verdict
    return CONTINUE


def answer_sentences(answer: object) -> Iterator[tuple[str, ...]]:
    """The sentences of each text in `answer` that is long enough to go round or to be in distress for long."""
    for text in _texts_in(answer):
        said = (part.strip() for part in _SENTENCE.findall(text))
        whole = tuple(one for one in said if len(one) >= LEAST_SENTENCE_CHARS)[:_MOST_SENTENCES]
        if len(whole) > 1:
            yield whole


def meaning_verdict(
    sentences: Sequence[str], vectors: Vectors, settings: BreakerSettings, likeness: Likeness
) -> Verdict:
    """The first verdict on one text, sentence by sentence; `vectors` (n x d, float32, unit length) are theirs."""
    loops, distress = MeaningWatch(settings, likeness), MeaningWatch(settings, likeness)
    for sentence, vector in zip(sentences, vectors, strict=True):
        going_round, _ = loops.verdicts(sentence, vector)
        _, distressed = distress.verdicts(sentence, vector) if own_sentences(sentence) else (None, None)
        if (found := going_round or distressed) is not None:
            return found
    return CONTINUE


def _verdict(text: str, settings: BreakerSettings, order: WordOrder | None) -> Verdict:
    for said, is_own in ((text, False), (" ".join(own_sentences(text)), True)):
        breaker = ReplyBreaker(settings, Knowledge(order))
        for piece in _PIECE.findall(said):
            verdict = breaker.observe(piece, 0.0)
            if verdict.stops and (is_own or verdict.reason is not TripReason.SUSTAINED_DISTRESS):
                return verdict
    return CONTINUE


def _texts_in(answer: object) -> Iterator[str]:
    if isinstance(answer, str):
        yield answer
    elif isinstance(answer, list):
        for item in answer:
            yield from _texts_in(item)
    elif isinstance(answer, dict):
        for name, value in answer.items():
            if name not in _QUOTES:
                yield from _texts_in(value)
