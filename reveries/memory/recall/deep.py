"""A deep look: what is worth it, what it found and how well, and what is strong enough to wake. Pure.

What is only on disk (dormant episodes, words that were put away) is compared with a cue like what is in memory: by
meaning and by words, the more by words the better one text meets them (`match`)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from reveries.index.fusion import meaning_weight
from reveries.index.terms import terms_of
from reveries.memory.model import Origin, Recall
from reveries.memory.recall.cues import cue_terms

WEAK_WORDS = 0.5
WEAK_COSINE = 0.55
"""Recall is weak when its best source turn holds less than half of the cue's words, by how telling they are, and its
best episode is no nearer than this (an exchange and the episode it belongs to have a median of 0.54)."""

STRONG_WORDS = 0.6
STRONG_TERMS = 2
STRONG_COSINE = 0.7
"""A cue wakes an episode when one of its texts holds so much of the cue's words, at least two different ones, or is as
near as two episodes that are linked by theme."""

WOKEN_AT_ONCE = 3
MAX_TERMS = 8
MAX_RANKED = 5000
TOO_COMMON = 20_000
"""Texts. A word that so many hold is not counted further, and not asked for."""


@dataclass(frozen=True, slots=True)
class DeepHit:
    """A text that is only on disk and answers a cue."""

    kind: str
    """"episode" (its summary) or "turn"."""
    owner_id: str
    episode_id: str
    summary: str
    """The episode's."""
    is_dormant: bool
    """Whether the episode is; else it is live and only these words were put away."""
    happened_at: float
    """When the episode happened."""
    speaker: str
    text: str
    said_at: float
    origin: Origin
    tainted: bool
    score: float
    """0 to 1."""
    cosine: float
    words: float
    """The share of the cue's words that it holds, by how telling they are."""
    terms: int
    """How many different ones."""


@dataclass(frozen=True, slots=True)
class DeepFound:
    """What a deep look found, best first."""

    hits: tuple[DeepHit, ...] = ()
    is_whole: bool = True
    """False when its time was up before everything was compared."""


def is_worth_it(recall: Recall) -> bool:
    """Whether what came to mind says so little that a look on the disk is worth its time: neither words nor meaning of
    the best entry point fit the cue. A cue that names nothing ("hello") asks for nothing."""
    if not cue_terms(recall.cue):
        return False
    words = max((found.seed_words for found in recall.episodes), default=0.0)
    cosine = max((found.seed_cosine for found in recall.episodes), default=0.0)
    return words < WEAK_WORDS and cosine < WEAK_COSINE


def is_strong(hit: DeepHit) -> bool:
    """Whether the cue is strong enough to wake this hit's episode."""
    return (hit.words >= STRONG_WORDS and hit.terms >= STRONG_TERMS) or hit.cosine >= STRONG_COSINE


def to_wake(found: DeepFound) -> tuple[str, ...]:
    """The episodes that a cue wakes: those of the strong hits, best first, a few at most."""
    names = dict.fromkeys(hit.episode_id for hit in found.hits if is_strong(hit))
    return tuple(names)[:WOKEN_AT_ONCE]


def weights_of(holding: Mapping[str, int], total: int) -> dict[str, float]:
    """How telling each of the cue's words is: the fewer of `total` texts hold it, the more. A word that is too common
    to be counted is taken to be in half of them."""
    holding = {word: max(count, total // 2) if count >= TOO_COMMON else count for word, count in holding.items()}
    return {word: math.log1p((total - min(total, count) + 0.5) / (count + 0.5)) for word, count in holding.items()}


def covered(text: str, weights: Mapping[str, float]) -> tuple[float, int]:
    """The share of the words (stems, with their weights) that `text` holds, and how many of them."""
    held = weights.keys() & set(terms_of(text))
    total = sum(weights.values())
    return (sum(weights[term] for term in held) / total if total else 0.0), len(held)


def match(cosine: float, words: float, best_words: float, has_vector: bool) -> float:
    """How well a text fits, 0 to 1, weighed like recall's entry points; `best_words` is the most that any single text
    holds of the cue."""
    weight = meaning_weight(best_words) if has_vector else 0.0
    return weight * max(0.0, min(1.0, cosine)) + (1.0 - weight) * words


def rank_hits(hits: Iterable[DeepHit], limit: int) -> tuple[DeepHit, ...]:
    """The best hits, best first, ties by id."""
    return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.kind, hit.owner_id))[:limit])


def rarest(holding: Mapping[str, int]) -> Sequence[str]:
    """The words worth asking the full-text index for: those that it holds, rarest first, and no more of them than it
    ranks in a moment: each text that holds one costs. One word at least, if it is not too common."""
    asked: list[str] = []
    texts = 0
    for word in sorted(holding, key=lambda word: (holding[word], word)):
        count = holding[word]
        texts += count
        if count >= TOO_COMMON or (asked and texts > MAX_RANKED) or len(asked) == MAX_TERMS:
            break
        if count:
            asked.append(word)
    return asked
