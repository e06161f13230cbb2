"""The breaker for texts that sleep is about to store: the texts in a model's JSON answer (R-129). Pure.

A summary reports about others, often about their distress; so distress is evaluated only in sentences in the mind's own
words, and not at all in the quotes of an answer (`exemplars`, `facts`). First by rules (`kept_verdict`), then, if there
is a suitable embedder, by meaning (`answer_sentences`, `meaning_verdict`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from reveries.config import BreakerSettings
from reveries.llm.base import Vectors
from reveries.safety.breaker import Breaker, Knowledge
from reveries.safety.likeness import LEAST_SENTENCE_CHARS, MeaningWatch, TextLikeness
from reveries.safety.tripwire import own_sentences
from reveries.safety.verdict import CONTINUE, TripReason, Verdict
from reveries.safety.word_order import WordOrder

_QUOTES: Final = frozenset(("exemplars", "facts", "quote", "quotes", "changed"))
_STEP: Final = re.compile(r'\s*(?:```\w*\s*)?\{\s*"steps"\s*:')
_FINISH: Final = "finish"
_STATED: Final = ("outcome", "learnings", "question")
"""Fields of the step that ends a task, which are told to the owner or kept."""
_PIECE: Final = re.compile(r"\s*\S+")
_SENTENCE: Final = re.compile(r"[^.!?…\n]+[.!?…]*")
_MOST_SENTENCES: Final = 60
"""Limit for one text: no summary is as long, and embedding a sentence takes some 14 ms."""


def is_step(text: str) -> bool:
    """Whether a text that has begun is an answer to the tool loop."""
    return _STEP.match(text) is not None


def stated_by(answer: Mapping[str, object]) -> object:
    """Return what of an answer is said, learned or concluded: all of it, but of steps of the tool loop only the
    texts that end a task. The arguments of a tool are file texts, edits and commands."""
    steps = answer.get("steps")
    if not isinstance(steps, list):
        return answer
    ends = [step for step in steps if isinstance(step, dict) and step.get("tool") == _FINISH]
    return [{name: step.get(name) for name in _STATED} for step in ends]


def kept_verdict(answer: object, settings: BreakerSettings, order: WordOrder | None) -> Verdict:
    """Return the first stopping verdict on one of the texts in `answer` (parsed JSON), else CONTINUE."""
    for text in _texts_in(answer):
        verdict = _rule_verdict(text, settings, order)
        if verdict.stops:
            return verdict
    return CONTINUE


def answer_sentences(answer: object) -> Iterator[tuple[str, ...]]:
    """Yield the sentences of each text in `answer` with more than one, so that repetition and distress can show."""
    for text in _texts_in(answer):
        parts = (part.strip() for part in _SENTENCE.findall(text))
        sentences = tuple(part for part in parts if len(part) >= LEAST_SENTENCE_CHARS)[:_MOST_SENTENCES]
        if len(sentences) > 1:
            yield sentences


def meaning_verdict(
    sentences: Sequence[str], vectors: Vectors, settings: BreakerSettings, likeness: TextLikeness
) -> Verdict:
    """Return the first verdict on one text, sentence by sentence; `vectors` (n x d, float32, unit length) are its
    sentences' embeddings."""
    loops, distress = MeaningWatch(settings, likeness), MeaningWatch(settings, likeness)
    for sentence, vector in zip(sentences, vectors, strict=True):
        going_round, _ = loops.verdicts(sentence, vector)
        _, distressed = distress.verdicts(sentence, vector) if own_sentences(sentence) else (None, None)
        if (verdict := going_round or distressed) is not None:
            return verdict
    return CONTINUE


def _rule_verdict(text: str, settings: BreakerSettings, order: WordOrder | None) -> Verdict:
    for passage, is_own in ((text, False), (" ".join(own_sentences(text)), True)):
        breaker = Breaker(settings, Knowledge(order), max_pace=None)
        for piece in _PIECE.findall(passage):
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
