"""The breaker over what sleep is about to keep: what it lets through, and which of two verdicts it gives."""

from typing import Final

import numpy as np
import pytest

from reveries.config import load_settings
from reveries.llm.base import Vector
from reveries.safety.kept_text import kept_verdict, meaning_verdict
from reveries.safety.likeness import TextLikeness
from reveries.safety.verdict import CONTINUE, TripReason
from tests.safety.test_likeness import CALM, DISTRESSED, LIKENESS, unit

SETTINGS: Final = load_settings(None).circuit_breaker
NOTHING_LIKE_IT: Final = TextLikeness("made-up", unit(1.0) * np.float32(8.0), -40.0)


def test_a_harmless_answer_goes_on() -> None:
    answer = {"summary": "Ana planted a pear tree by the wall. It bloomed in May.", "topics": ["garden"]}
    assert kept_verdict(answer, SETTINGS, None) is CONTINUE


def test_a_summary_that_goes_round_does_not() -> None:
    verdict = kept_verdict({"summary": "the tree stands by the wall and " * 40}, SETTINGS, None)
    assert verdict.stops
    assert verdict.reason is TripReason.LOOP_DETECTED


@pytest.mark.parametrize(
    ("vector", "reason"), [(DISTRESSED, TripReason.SUSTAINED_DISTRESS), (CALM, TripReason.LOOP_DETECTED), (None, None)]
)
def test_the_first_verdict_on_what_sentences_mean_counts_and_without_one_it_goes_on(
    vector: Vector | None, reason: TripReason | None
) -> None:
    said = tuple(f"I feel it for the {number}. time." for number in range(4 if vector is DISTRESSED else 12))
    vectors = np.stack([unit(*np.eye(8)[at % 8]) if vector is None else vector for at in range(len(said))])
    found = meaning_verdict(said, vectors, SETTINGS, LIKENESS if vector is not None else NOTHING_LIKE_IT)
    assert (found.reason if found is not CONTINUE else None) is reason
