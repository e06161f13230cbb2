"""Scores by the formulas of the specification, worked out by hand to nine places."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.knowledge.model import Confidence, MemoryType
from reveries.knowledge.scoring import (
    centrality_of,
    confidence_weight,
    enhanced_score,
    fuse_ranks,
    persistence,
    relation_score,
    strength,
)
from tests.knowledge.kit import DAY, stored_chunk, stored_relation
from tests.memory.kit import NOW

CLOSE = pytest.approx
V, INFERRED, SPECULATIVE = Confidence.VERIFIED, Confidence.INFERRED, Confidence.SPECULATIVE


@pytest.mark.requirement("V-64")
@pytest.mark.parametrize(
    ("weight", "days", "tags", "wanted", "score"),
    [
        (0.8, 0, ("wood", "price"), ("wood", "price"), 1.2),
        (0.5, 30, ("wood", "price"), ("wood",), 0.2959849301464303),
        (0.2, 365, (), ("wood",), 0.2000005200963471),
        (1.0, 7, ("a", "b", "c"), ("c", "d"), 0.4653149277227969),
        (0.8, 0, ("wood",), ("stone",), 0.0),
    ],
)
def test_a_relation_counts_by_weight_use_and_context(
    weight: float, days: float, tags: tuple[str, ...], wanted: tuple[str, ...], score: float
) -> None:
    relation = stored_relation(weight=weight, context_tags=tags, last_activated_at=NOW - days * DAY)
    assert relation_score(relation, NOW, wanted) == CLOSE(score, abs=1e-9)


@pytest.mark.requirement("V-65")
@pytest.mark.parametrize(("confidence", "weight"), [(V, 1.0), (INFERRED, 0.8), (SPECULATIVE, 0.5)])
def test_a_chunk_counts_by_its_confidence(confidence: Confidence, weight: float) -> None:
    assert confidence_weight(confidence) == weight


@pytest.mark.requirement("V-67")
@pytest.mark.parametrize(
    ("count", "confidence", "centrality", "days", "is_pinned", "score"),
    [
        (0, V, 0.5, 0, False, 0.5197954448295705),
        (1, INFERRED, 0.5, 30, False, 0.34497736100528686),
        (10, SPECULATIVE, 0.2, 365, True, 0.49755401305255464),
        (4, V, 1.0, 15, True, 0.8456810459788445),
    ],
)
def test_persistence_has_five_parts(
    count: int, confidence: Confidence, centrality: float, days: float, is_pinned: bool, score: float
) -> None:
    chunk = stored_chunk(
        access_count=count, confidence=confidence, last_accessed_at=NOW - days * DAY, is_pinned=is_pinned
    )
    assert persistence(chunk, NOW, centrality) == CLOSE(score, abs=1e-9)


@pytest.mark.requirement("V-67")
def test_centrality_is_the_share_of_the_best_related_chunk_and_half_where_nothing_is_related() -> None:
    assert (centrality_of(0.8, 1.6), centrality_of(0.0, 1.6), centrality_of(1.6, 1.6)) == (0.5, 0.0, 1.0)
    assert centrality_of(0.0, 0.0) == 0.5


EPISODIC, SEMANTIC, PREFERENCE = MemoryType.EPISODIC, MemoryType.SEMANTIC, MemoryType.PREFERENCE


@pytest.mark.requirement("V-68", "V-118", "V-133")
@pytest.mark.parametrize(
    ("initial", "function", "days", "memory_type", "left"),
    [
        (1.0, "exponential", 0, SEMANTIC, 1.0),
        (1.0, "exponential", 10, EPISODIC, 0.6065306597126334),
        (1.0, "exponential", 100, SEMANTIC, 0.0820849986238988),
        (0.8, "linear", 10, EPISODIC, 0.3),
        (1.0, "linear", 100, EPISODIC, 0.0),
        (1.0, "exponential", 30, PREFERENCE, 0.6872892787909722),
    ],
)
def test_strength_fades_by_days_as_its_kind_says(
    initial: float, function: str, days: float, memory_type: MemoryType, left: float
) -> None:
    chunk = stored_chunk(
        initial_strength=initial, decay_function=function, memory_type=memory_type,
        confidence=INFERRED, created_at=NOW - days * DAY,
    )  # fmt: skip
    assert strength(chunk, NOW) == CLOSE(left, abs=1e-9)


@pytest.mark.requirement("V-68")
def test_what_is_verified_stays_above_a_third_and_what_is_pinned_does_not_fade() -> None:
    old = stored_chunk(created_at=NOW - 3650 * DAY)
    assert strength(old, NOW) == 0.3
    pinned = stored_chunk(created_at=NOW - 3650 * DAY, is_pinned=True, confidence=SPECULATIVE)
    assert strength(pinned, NOW) == 1.0


@pytest.mark.requirement("V-68")
def test_strength_counts_from_the_last_use_once_there_was_one() -> None:
    chunk = stored_chunk(created_at=NOW - 300 * DAY, confidence=INFERRED, last_accessed_at=NOW, access_count=1)
    assert strength(chunk, NOW) == 1.0
    assert strength(stored_chunk(created_at=NOW - 300 * DAY, confidence=INFERRED), NOW) < 0.01


@pytest.mark.requirement("V-69")
@pytest.mark.parametrize(
    ("similarity", "persistent", "strong", "score"),
    [(0.8, 0.5, 0.9, 0.76), (0.5, 0.775, 1.0, 0.655), (0, 0.3, 0, 0.06)],
)
def test_the_enhanced_score_weighs_three(similarity: float, persistent: float, strong: float, score: float) -> None:
    assert enhanced_score(similarity, persistent, strong) == CLOSE(score, abs=1e-9)


@pytest.mark.requirement("V-70", "V-137")
def test_rank_fusion_adds_the_inverse_ranks() -> None:
    fused = fuse_ranks({"semantic": [3, 1, 2], "keyword": [1, 3, 4], "graph": [4]})
    assert fused == CLOSE(
        {3: 0.03252247488101534, 1: 0.03252247488101534, 2: 0.015873015873015872, 4: 0.032266458495966696}, abs=1e-9
    )
    weighted = fuse_ranks({"semantic": [3], "keyword": [3]}, {"semantic": 2.0})
    assert weighted == CLOSE({3: 3 / 61}, abs=1e-9)
    assert fuse_ranks({"semantic": [3]}, constant=10) == CLOSE({3: 1 / 11}, abs=1e-9)


@pytest.mark.requirement("V-122")
@given(days=st.floats(0, 4000), later=st.floats(0, 4000), count=st.integers(0, 50))
def test_scores_only_fall_with_time_and_stay_between_their_bounds(days: float, later: float, count: int) -> None:
    chunk = stored_chunk(confidence=INFERRED, access_count=count)
    now, then = NOW + days * DAY, NOW + (days + later) * DAY
    assert 0.0 <= strength(chunk, then) <= strength(chunk, now) <= 1.0
    assert 0.0 <= persistence(chunk, then, 0.5) <= persistence(chunk, now, 0.5) <= 1.0
