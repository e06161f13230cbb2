"""Learning of the weights: from a neutral start, with the expected signs, on generated conversations."""

import sys
from pathlib import Path

import numpy as np
import pytest

from reveries.memory.recall.ranking_weights import MATCH_WEIGHTS

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "bench"))

from fit_ranking import Sample, fitted, loss, neutral, spread_of, table
from make_talks import documents, talk_of_two, talk_with_mind, topics
from ranking_reasons import OWN_WORDS, SIGNS


def sample() -> Sample:
    """Twenty questions with five candidates each; the first reason identifies the sources, the others are noise."""
    numbers = np.random.default_rng(7)
    values = numbers.standard_normal((100, 3)).astype(np.float32)
    is_source = np.arange(100) % 5 == 0
    values[is_source, 0] += 2.0
    return Sample(
        values=values,
        added=np.zeros(100),
        is_source=is_source,
        question=np.repeat(np.arange(20), 5),
        starts=np.arange(20, dtype=np.int64) * 5,
        shares=np.full(20, 0.05),
    )


def test_the_weights_of_own_words_that_ship_have_the_signs_of_their_reasons() -> None:
    assert set(OWN_WORDS) <= set(MATCH_WEIGHTS)
    assert all(MATCH_WEIGHTS[name] * SIGNS[name] > 0.0 for name in OWN_WORDS)


def test_at_the_start_all_reasons_are_alike_but_for_their_sign() -> None:
    start = neutral(sample(), np.array([1.0, 1.0, -1.0])) * spread_of(sample())
    assert start == pytest.approx(start[0] * np.array([1.0, 1.0, -1.0]))
    assert start[0] > 0.0


def test_fitting_loses_less_keeps_the_signs_and_leaves_out_what_has_none() -> None:
    signs = np.array([1.0, 1.0, -1.0])
    weights = fitted(sample(), signs)
    assert loss(weights, sample())[0] < loss(neutral(sample(), signs), sample())[0]
    assert weights[0] > neutral(sample(), signs)[0]
    assert weights[1] >= 0.0 >= weights[2]
    assert fitted(sample(), np.array([1.0, 0.0, -1.0]))[1] == 0.0


def test_the_gradient_is_that_of_the_loss() -> None:
    weights = np.array([0.3, -0.2, 0.1])
    slope = loss(weights, sample())[1]
    for place in range(3):
        step = np.zeros(3)
        step[place] = 1e-2
        change = loss(weights + step, sample())[0] - loss(weights - step, sample())[0]
        assert change / 2e-2 == pytest.approx(slope[place], abs=1e-3)


def test_what_is_written_keeps_the_story_and_leaves_out_a_reason_that_came_to_nothing() -> None:
    module = '"""Story."""\n\nMATCH_WEIGHTS: dict[str, float] = {\n    "old": 1.0,\n}\n'
    written = table(module, {"short": -0.5, "asks": -0.0001, "length": 0.25})
    assert written == module.replace('    "old": 1.0,\n', '    "length": 0.25,\n    "short": -0.5,\n')


def test_talk_is_the_same_each_time_and_every_question_has_its_source() -> None:
    for made, again in (
        (talk_of_two(3, 0), talk_of_two(3, 0)),
        (talk_with_mind(3, 1), talk_with_mind(3, 1)),
        (documents(3, titled=True), documents(3, titled=True)),
    ):
        assert made == again
        assert made.questions
        assert made.pool <= {item.id for item in made.items}


def test_what_is_checked_was_never_fitted() -> None:
    fitting, checking = topics(0), topics(1)
    assert {one.name for one in fitting}.isdisjoint(one.name for one in checking)
    assert abs(len(fitting) - len(checking)) <= 1
