"""Ranking features: finite, named, each with a weight, and shown as reasons on request."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reveries.index.fusion import z_scores
from reveries.memory.changes import ChangeSet, IndexedTurn
from reveries.memory.recall.cues import read_cue
from reveries.memory.recall.features import compute_features
from reveries.memory.recall.ranking import (
    CANDIDATES,
    WEIGHTS,
    RankedCandidates,
    best_turns,
    gather_evidence,
    score_turns,
)
from reveries.memory.recall.turn_index import TurnIndex
from tests.memory.kit import DIMENSIONS, NOW, turn

DAY = 86_400.0
SAID = [
    "Ana: we saw zebras in Lisbon",
    "Is it far?",
    "yes",
    "The zebra is an animal.",
    "I prefer tea, always",
    "2 cats",
    "",
]


def vector_of(seed: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    row = np.random.default_rng(seed).standard_normal(DIMENSIONS).astype(np.float32)
    unit: np.ndarray[tuple[int], np.dtype[np.float32]] = row / np.linalg.norm(row)
    return unit


def index_of(*texts: str, step: float = 60.0) -> TurnIndex:
    index = TurnIndex(DIMENSIONS)
    for place, text in enumerate(texts):
        said = turn(f"t{place}", text, position=place, said_at=NOW + place * step, speaker=("Ana", "Ben")[place % 2])
        index.apply(ChangeSet(indexed=(IndexedTurn(said, "e", vector_of(place)),)))
    return index


def test_every_weight_is_of_a_reason_that_exists() -> None:
    talk, documents = index_of(*SAID), index_of(*SAID, step=30 * DAY)
    for index in (documents, talk):
        look = RankedCandidates(
            index, read_cue("zebra", NOW), gather_evidence(index, "zebra", vector_of(9)), index.live
        )
        assert set(WEIGHTS.match) <= set(look.match)
        assert set(look.hop_columns(np.zeros(len(look.rows), np.float32), WEIGHTS.hop)) == set(WEIGHTS.hop)


@settings(max_examples=60)
@given(st.lists(st.sampled_from(SAID), min_size=1, max_size=12), st.text(max_size=40) | st.sampled_from(SAID))
def test_reasons_are_finite_whatever_is_said_and_asked(texts: list[str], cue: str) -> None:
    index = index_of(*texts)
    evidence = gather_evidence(index, cue, vector_of(99))
    look = RankedCandidates(index, read_cue(cue, NOW), evidence, index.live)
    parts = look.weigh_reasons(WEIGHTS)
    assert len(look.rows) == len(texts)
    assert np.isfinite(parts.values).all()
    assert np.isfinite(parts.amounts).all()


@given(st.lists(st.sampled_from(SAID), min_size=1, max_size=8), st.sampled_from(SAID))
def test_an_index_that_lost_turns_scores_like_one_that_never_had_them(texts: list[str], cue: str) -> None:
    kept, grown = index_of(*texts), index_of(*texts)
    far = turn("far", "zebra zebra Lisbon tea", conversation_id="other", said_at=NOW + 90 * DAY, speaker="Cy")
    grown.apply(ChangeSet(indexed=(IndexedTurn(far, "e", vector_of(77)),)))
    grown.apply(ChangeSet(unindexed_turn_ids=("far",)))
    one, other = (score_turns(index, cue, vector_of(99), NOW).fused[: len(texts)] for index in (kept, grown))
    assert np.allclose(one, other, atol=1e-3)


def test_the_time_that_the_cue_speaks_of_is_found() -> None:
    index = index_of("one", "two", "three", step=30 * DAY)
    cue = read_cue("what was it on 2025-07-15?", NOW + 100 * DAY)
    columns = compute_features(index, cue, gather_evidence(index, cue.text, vector_of(9)), np.arange(3))
    assert columns["after_then"][:2].tolist() == [0.0, 1.0]
    assert columns["after_then"][2] == pytest.approx(np.exp(-29.64 / 10), rel=0.05)
    assert columns["before_then"][1:].tolist() == [1.0, 0.0]


def test_the_speaker_whom_the_cue_names_is_told_from_the_other() -> None:
    index = index_of("I like tea", "I like tea")
    cue = read_cue("What does Ben like?", NOW)
    columns = compute_features(index, cue, gather_evidence(index, cue.text, vector_of(9)), np.arange(2))
    assert columns["speaker"].tolist() == [0.0, 1.0]
    assert columns["other_speaker"].tolist() == [1.0, 0.0]


@pytest.mark.requirement("R-126")
def test_a_ranked_turn_says_why() -> None:
    index = index_of(*SAID)
    scores = score_turns(index, "Where did Ana see zebras?", vector_of(0), NOW)
    best = best_turns(index, scores, 1)[0]
    assert best.turn.id == "t0"
    assert scores.reasons is not None
    reasons = scores.reasons.top_reasons(0)
    assert 1 <= len(reasons) <= 5
    assert all(reason.amount != 0.0 for reason in reasons)
    assert [abs(reason.amount) for reason in reasons] == sorted((abs(r.amount) for r in reasons), reverse=True)


def test_what_was_not_looked_at_closely_comes_behind_in_the_order_of_the_first_guesses() -> None:
    index = index_of(*(f"word{place} tea" for place in range(2 * CANDIDATES)))
    scores = score_turns(index, "tea", vector_of(1), NOW)
    assert scores.reasons is not None
    behind = np.setdiff1d(np.arange(2 * CANDIDATES), scores.reasons.rows)
    assert scores.fused[behind].max() < scores.fused[scores.reasons.rows].min()
    assert scores.reasons.top_reasons(int(behind[0])) == ()


@given(st.lists(st.tuples(st.floats(-9.0, 9.0, width=32), st.booleans()), min_size=1, max_size=200))
def test_scores_are_counted_in_deviations_of_the_live_to_the_bit_as_numpy_does(rows: list[tuple[float, bool]]) -> None:
    values = np.array([value for value, _ in rows], dtype=np.float32)
    live = np.array([is_live for _, is_live in rows])
    chosen = values[live]
    middle, spread = (chosen.mean(), float(chosen.std())) if len(chosen) else (np.float32(0.0), 0.0)
    expected = (values - np.float32(middle)) / np.float32(spread if spread > 1e-5 else 1.0)
    assert z_scores(values, live).tobytes() == expected.tobytes()
