"""The detectors as they ship, each as a function from texts to scores; 0.5 is where one fires."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reveries.config import BreakerSettings, load_settings
from reveries.safety.breaker import ReplyBreaker
from reveries.safety.repetition import LoopFinder
from reveries.safety.verdict import Reason
from reveries.safety.word_order import WordOrder, load_word_order

Scores = NDArray[np.float64]

_PIECE: Final = re.compile(r"\s?\w{1,8}|\s?[^\w\s]|\s+")


def pieces_of(text: str) -> list[str]:
    """About as a model would cut it: words with the space before them, signs apart."""
    return _PIECE.findall(text)


def repetition(texts: Sequence[str]) -> Scores:
    """A loop fires at 0.5; below it, nearness to one, and how much of the text stood in it before."""
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
    breaker = ReplyBreaker(settings, order)
    fires = any(breaker.observe(piece, 0.0).reason is Reason.INCOHERENCE for piece in pieces_of(text))
    disorder = 0.5 / (1.0 + math.exp(-4.0 * order.disorder(text)))
    return 0.5 + disorder if fires else 0.999 * disorder


DETECTORS: Final[Mapping[str, Callable[[Sequence[str]], Scores]]] = MappingProxyType(
    {"repetition": repetition, "incoherence": incoherence}
)


def run_detector(name: str, texts: Sequence[str]) -> Scores:
    """The scores of `texts` by the detector called `name`."""
    return DETECTORS[name](texts)
