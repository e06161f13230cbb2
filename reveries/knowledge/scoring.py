"""Scores of chunks and relations (V-64..V-70, V-118, V-133). Pure.

No score is stored: each is a function of a row and the current time, so lazy and scheduled evaluation agree. Times are
unix seconds.
"""

import math
from collections.abc import Mapping, Sequence

from reveries.knowledge.model import Chunk, Confidence, MemoryType, Relation, SearchFilters

RRF_CONSTANT = 60
"""k of reciprocal rank fusion (V-70)."""
SUPERSEDED_FACTOR = 0.5
"""Factor for the score of a replaced chunk (V-62)."""
_DAY = 86_400.0
_RECENCY_DAYS = 30.0
_CONFIDENCE = {Confidence.VERIFIED: 1.0, Confidence.INFERRED: 0.8, Confidence.SPECULATIVE: 0.5}
_EVIDENCE = {Confidence.VERIFIED: 0.9, Confidence.INFERRED: 0.5, Confidence.SPECULATIVE: 0.3}
# V-118, VA-14.
_DECAY_MULTIPLIERS = {
    MemoryType.EPISODIC: 1.0,
    MemoryType.SEMANTIC: 0.5,
    MemoryType.PROCEDURAL: 0.5,
    MemoryType.PREFERENCE: 0.25,
}
_LEAST_STRENGTH = 0.3
_UNKNOWN_CENTRALITY = 0.5


def recency_factor(last_at: float, now: float) -> float:
    """1.5 for a relation that was active just now, falling towards 1.0 (V-64)."""
    return 1.0 + 0.5 * math.exp(-days_between(last_at, now) / _RECENCY_DAYS)


def context_match(context_tags: Sequence[str], wanted: Sequence[str]) -> float:
    """Share of a relation's context tags that are wanted; 1 if it has none or no tag is wanted (V-64)."""
    if not context_tags or not wanted:
        return 1.0
    return len(set(context_tags) & set(wanted)) / len(set(context_tags))


def relation_score(relation: Relation, now: float, wanted_tags: Sequence[str] = ()) -> float:
    """V-64."""
    active = recency_factor(relation.last_activated_at, now)
    return relation.weight * active * context_match(relation.context_tags, wanted_tags)


def confidence_weight(confidence: Confidence) -> float:
    """How much of its score a chunk keeps in a search (V-65)."""
    return _CONFIDENCE[confidence]


def standing_factor(chunk: Chunk, filters: SearchFilters) -> float:
    """How much of its score a chunk keeps: half if it was replaced or fell (V-62), less if it is less certain (V-65)
    unless the filters name the confidence."""
    factor = 1.0 if chunk.stands else SUPERSEDED_FACTOR
    return factor if filters.confidence else factor * confidence_weight(chunk.confidence)


def centrality_of(weight: float, greatest: float) -> float:
    """Centrality of a chunk in its project, 0 to 1: the sum of the weights of its relations as a share of the
    greatest such sum; 0.5 in a project without relations (V-67)."""
    return weight / greatest if greatest > 0.0 else _UNKNOWN_CENTRALITY


def persistence(chunk: Chunk, now: float, centrality: float) -> float:
    """Persistence score, 0 to 1 (V-67)."""
    frequency = 1.0 - math.exp(-0.3 * max(1, chunk.access_count))
    recency = math.exp(-days_between(chunk.last_accessed_at, now) / _RECENCY_DAYS)
    evidence = _EVIDENCE[chunk.confidence]
    return 0.25 * frequency + 0.20 * evidence + 0.25 * centrality + 0.15 * recency + 0.15 * float(chunk.is_pinned)


def strength(chunk: Chunk, now: float) -> float:
    """Strength of a chunk, 0 to 1 (V-68, V-133). It decays from the last use, or from when the chunk was stored, at a
    rate that depends on its memory type. Pinned chunks do not decay; verified ones stay above 0.3."""
    if chunk.is_pinned:
        return chunk.initial_strength
    since = chunk.last_accessed_at if chunk.access_count else chunk.created_at
    rate = chunk.decay_rate * _DECAY_MULTIPLIERS[chunk.memory_type]
    days = days_between(since, now)
    if chunk.decay_function == "linear":
        left = max(0.0, chunk.initial_strength - rate * days)
    else:
        left = chunk.initial_strength * math.exp(-rate * days)
    return max(left, _LEAST_STRENGTH) if chunk.confidence is Confidence.VERIFIED else left


def enhanced_score(similarity: float, persistence_score: float, strength_now: float) -> float:
    """V-69."""
    return 0.6 * similarity + 0.2 * persistence_score + 0.2 * strength_now


def fuse_ranks(
    ranked: Mapping[str, Sequence[int]], weights: Mapping[str, float] | None = None, constant: int = RRF_CONSTANT
) -> dict[int, float]:
    """Reciprocal rank fusion of several lists of rows, each best first (V-70; Cormack, Clarke and Buettcher 2009)."""
    fused: dict[int, float] = {}
    for source, rows in ranked.items():
        weight = 1.0 if weights is None else weights.get(source, 1.0)
        for rank, row in enumerate(rows, start=1):
            fused[row] = fused.get(row, 0.0) + weight / (constant + rank)
    return fused


def days_between(earlier: float, now: float) -> float:
    """Not below 0: a clock may go back."""
    return max(0.0, now - earlier) / _DAY
