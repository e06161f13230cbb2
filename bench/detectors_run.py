"""The shipped detectors as functions from texts to scores; a detector fires from 0.5 on."""

import asyncio
import math
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reveries.config import BreakerSettings, load_settings
from reveries.errors import ModelMissingError
from reveries.llm.assets import find_weights
from reveries.llm.base import Vectors
from reveries.llm.onnx_embedding import OnnxEmbedder
from reveries.safety.breaker import Breaker, Knowledge
from reveries.safety.crisis.likeness import english_pieces, load_crisis_likeness
from reveries.safety.crisis.patterns import Urgency
from reveries.safety.crisis.rules import find_crisis
from reveries.safety.detectors import find_distress
from reveries.safety.likeness import GOING_ROUND, LEAST_SENTENCE_CHARS, MeaningWatch, load_likeness
from reveries.safety.repetition import LoopFinder
from reveries.safety.verdict import TripReason
from reveries.safety.word_order import WordOrder, load_word_order

Scores = NDArray[np.float64]

_END: Final = re.compile(r"(?<=[.!?…])\s+|\n+")


def sentences_of(text: str) -> list[str]:
    """About as the breaker cuts them."""
    return [part.strip() for part in _END.split(text) if part.strip()]


def local_vectors(texts: Sequence[str]) -> Vectors:
    """Embed with the default embedder on this machine (REVERIES_MODELS: the folder of its files). Each text is embedded
    once, in a batch of similar length.
    """
    alone = sorted(set(texts), key=len)
    places = {text: at for at, text in enumerate(alone)}

    async def embed() -> Vectors:
        folder = find_weights("all-minilm-l6-v2")
        embedder = OnnxEmbedder(folder / "model.onnx", folder / "tokenizer.json")
        try:
            return await embedder.embed(alone)
        finally:
            await embedder.aclose()

    vectors: Vectors = asyncio.run(embed())[[places[text] for text in texts]]
    return vectors


_PIECE: Final = re.compile(r"\s?\w{1,8}|\s?[^\w\s]|\s+")


def pieces_of(text: str) -> list[str]:
    """About as a model would cut it: words with the space before them, signs apart."""
    return _PIECE.findall(text)


def repetition(texts: Sequence[str]) -> Scores:
    """Score loops: 0.5 and more fires; below that, how near the text is to a loop and how much of it repeats."""
    return np.array([_repetition(text) for text in texts])


def _repetition(text: str) -> float:
    finder = LoopFinder(load_settings(None).circuit_breaker.loop_window_tokens)
    for piece in pieces_of(text):
        finder.feed(piece)
    finder.finish()
    level = finder.highest.level
    nearness = (level + finder.said_before) / 2
    return 0.5 + 0.5 * (1 - 1 / (1 + nearness)) if level >= 1.0 else 0.5 * min(0.999, nearness / (1 + nearness))


def incoherence(texts: Sequence[str]) -> Scores:
    """What the breaker would call fallen apart fires; below that, how far the words are out of order."""
    order, settings = load_word_order(), load_settings(None).circuit_breaker
    return np.array([_incoherence(text, order, settings) for text in texts])


def _incoherence(text: str, order: WordOrder, settings: BreakerSettings) -> float:
    breaker = Breaker(settings, Knowledge(order=order), max_pace=None)
    fires = any(breaker.observe(piece, 0.0).reason is TripReason.INCOHERENCE for piece in pieces_of(text))
    disorder = 0.5 / (1.0 + math.exp(-4.0 * order.disorder(text)))
    return 0.5 + disorder if fires else 0.999 * disorder


def paraphrase(texts: Sequence[str]) -> Scores:
    """Score paraphrased loops: 0.5 and more where the breaker fires; below that, how near it came."""
    return np.array([_paraphrase(weighed) for weighed in _weighed(texts)])


def mind(texts: Sequence[str]) -> Scores:
    """A thought in distress by meaning or by pattern: 0.5 is the breaker's threshold, at the most distressed place."""
    threshold = load_settings(None).circuit_breaker.distress_threshold
    highest = [max(similarity for _, similarity, _ in weighed) for weighed in _weighed(texts)]
    by_pattern = [_pattern_level(text) for text in texts]
    levels = np.maximum(np.array(highest), np.array(by_pattern))
    scores: Scores = np.where(levels > threshold, 0.5 + (levels - threshold) / 2, 0.499 * levels / threshold)
    return scores


def mind_trip(texts: Sequence[str]) -> Scores:
    """1 where sustained distress would trip the breaker."""
    trips = [any(reason is TripReason.SUSTAINED_DISTRESS for _, _, reason in weighed) for weighed in _weighed(texts)]
    settings = load_settings(None).circuit_breaker
    for place, text in enumerate(texts):
        breaker = Breaker(settings, max_pace=None)
        trips[place] |= any(breaker.observe(p, 0.0).reason is TripReason.SUSTAINED_DISTRESS for p in pieces_of(text))
    return np.array(trips, np.float64)


def crisis(texts: Sequence[str]) -> Scores:
    """As it ships: by rule, or by meaning (0.5 to 0.75; below that how near it came). Rules alone without weights."""
    by_rule = crisis_rules(texts)
    likeness, pieces = load_crisis_likeness(), [english_pieces(text) for text in texts]
    try:
        vectors = local_vectors([piece for one in pieces for piece in one])
    except ModelMissingError as error:
        print(f"By rules alone: {error}")
        return by_rule
    ends = np.cumsum([len(one) for one in pieces])
    odds = [likeness.highest(one, vectors[end - len(one) : end]) for one, end in zip(pieces, ends, strict=True)]
    chance = 1 / (1 + np.exp(np.minimum(700.0, likeness.limit - np.array(odds))))
    scores: Scores = np.maximum(by_rule, np.where(chance > 0.5, (chance + 0.5) / 2, 0.999 * chance))
    return scores


def crisis_rules(texts: Sequence[str]) -> Scores:
    """Score 1 for an explicit statement, 0.75 for an indirect one, else 0."""
    found = [find_crisis(text) for text in texts]
    return np.array([0.0 if one is None else 1.0 if one.urgency is Urgency.EXPLICIT else 0.75 for one in found])


def _pattern_level(text: str) -> float:
    said = sentences_of(text)
    return max((find_distress(" ".join(said[at : at + 3])).level for at in range(len(said))), default=0.0)


def _paraphrase(weighed: Sequence[tuple[float, float, TripReason]]) -> float:
    nearness = max(near for near, _, _ in weighed)
    return 0.5 + (nearness - GOING_ROUND) if nearness > GOING_ROUND else 0.499 * max(0.0, nearness) / GOING_ROUND


def _weighed(texts: Sequence[str]) -> list[list[tuple[float, float, TripReason]]]:
    """After each sentence of each text: nearness, similarity to distress, and the verdict."""
    settings, likeness = load_settings(None).circuit_breaker, load_likeness()
    said = [[one for one in sentences_of(text) if len(one) >= LEAST_SENTENCE_CHARS] or [text] for text in texts]
    vectors = local_vectors([one for sentences in said for one in sentences])
    weighed, place = [], 0
    for sentences in said:
        watch, steps = MeaningWatch(settings, likeness), []
        for one in sentences:
            verdict = watch.take(one, vectors[place])
            steps.append((watch.nearness, watch.similarity, verdict.reason if verdict else TripReason.NONE))
            place += 1
        weighed.append(steps)
    return weighed


DETECTORS: Final[Mapping[str, Callable[[Sequence[str]], Scores]]] = MappingProxyType(
    {
        "crisis": crisis,
        "crisis_rules": crisis_rules,
        "incoherence": incoherence,
        "mind": mind,
        "mind_trip": mind_trip,
        "paraphrase": paraphrase,
        "repetition": repetition,
    }
)


def run_detector(name: str, texts: Sequence[str]) -> Scores:
    """The scores of `texts` by the detector called `name`."""
    return DETECTORS[name](texts)
