"""Sentences weighed by what they mean: off the path of the tokens, and from made-up vectors here."""

from collections import deque
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.llm.base import Vector
from reveries.safety.breaker import Breaker, Knowledge
from reveries.safety.likeness import MeaningWatch, TextLikeness, is_prose, load_likeness
from reveries.safety.verdict import CONTINUE, Action, TripReason
from tests.safety.settings import SHIPPED, changed, first_trip, reply_breaker, thought_breaker, verdicts_on

_CHANCE = np.random.default_rng(1)


def unit(*numbers: float) -> Vector:
    vector = np.zeros(8, np.float32)
    vector[: len(numbers)] = numbers
    return (vector / np.linalg.norm(vector)).astype(np.float32)


LIKENESS = TextLikeness("made-up", unit(1.0) * np.float32(8.0), -4.0)
DISTRESSED, CALM = unit(1.0, 0.2), unit(0.0, 1.0)


class Line:
    """Sentences get the vector of the first word that is known, at once."""

    def __init__(self, known: dict[str, Vector]) -> None:
        self.known = known
        self.offered: list[str] = []
        self.came: deque[tuple[str, Vector]] = deque()
        self.is_closed = False

    def offer(self, sentence: str) -> None:
        self.offered.append(sentence)
        vector = next((vector for word, vector in self.known.items() if word in sentence), None)
        if vector is None:
            drawn = _CHANCE.standard_normal(8)
            vector = np.asarray(drawn / np.linalg.norm(drawn), np.float32)
        self.came.append((sentence, vector))

    def take(self) -> tuple[str, Vector] | None:
        return self.came.popleft() if self.came else None

    def close(self) -> None:
        self.is_closed = True
        self.came.clear()


def knowing(lines: list[Line], known: dict[str, Vector]) -> Knowledge:
    def open_line() -> Line:
        lines.append(Line(known))
        return lines[-1]

    return Knowledge(likeness=LIKENESS, open_line=open_line)


@pytest.mark.requirement("R-132")
def test_distress_in_any_words_trips_with_the_fourth_sentence_in_a_row() -> None:
    watch = MeaningWatch(SHIPPED, LIKENESS)
    verdicts = [watch.take("One sentence.", DISTRESSED) for _ in range(4)]
    assert verdicts[:3] == [None] * 3
    assert verdicts[3] is not None
    assert (verdicts[3].action, verdicts[3].reason) == (Action.INTERRUPT_AND_COMFORT, TripReason.SUSTAINED_DISTRESS)
    assert "One sentence." in verdicts[3].explanation


@pytest.mark.requirement("R-131")
def test_calm_sentences_set_the_count_back() -> None:
    watch = MeaningWatch(changed(max_consecutive_distress=1), LIKENESS)
    watch.take("One sentence.", DISTRESSED)
    assert watch.consecutive_distress == 1
    watch.take("A calm one.", CALM)
    watch.take("A calm one.", CALM)
    assert watch.consecutive_distress == 0


@pytest.mark.requirement("R-53", "R-130")
def test_the_same_in_other_words_is_a_loop() -> None:
    watch = MeaningWatch(SHIPPED, LIKENESS)
    nearly = [unit(0.0, 1.0, 0.1 * turn) for turn in range(7)]
    verdicts = [watch.take(f"Sentence {turn}.", vector) for turn, vector in enumerate(nearly)]
    assert [verdict is not None for verdict in verdicts].index(True) >= 4
    found = next(verdict for verdict in verdicts if verdict is not None)
    assert (found.action, found.reason) == (Action.INTERRUPT, TripReason.LOOP_DETECTED)
    assert "in other words" in found.explanation


@pytest.mark.requirement("R-130")
def test_a_and_b_in_turn_are_a_loop() -> None:
    watch = MeaningWatch(SHIPPED, LIKENESS)
    turns = [unit(0.0, 1.0, 0.1 * turn) if turn % 2 else unit(0.0, 0.0, 0.1 * turn, 1.0) for turn in range(12)]
    verdicts = [watch.take(f"Sentence {turn}.", vector) for turn, vector in enumerate(turns)]
    assert any(verdict is not None and verdict.reason is TripReason.LOOP_DETECTED for verdict in verdicts)


def test_what_goes_on_is_no_loop() -> None:
    watch = MeaningWatch(SHIPPED, LIKENESS)
    assert [watch.take("A sentence.", unit(*(0.0,) * at, 1.0)) for at in range(1, 8)] == [None] * 7


@pytest.mark.parametrize("kind", [thought_breaker, reply_breaker])
def test_the_breaker_hands_in_whole_sentences_and_heeds_what_comes_back(kind: Callable[..., Breaker]) -> None:
    lines: list[Line] = []
    breaker = kind(SHIPPED, knowing(lines, {"dark": DISTRESSED}))
    text = "It grows dark over all of me. The dark has a voice here. No dark was ever so near. So dark, and I fall. And"
    verdict = first_trip(text, breaker)
    assert verdict.reason is TripReason.SUSTAINED_DISTRESS
    assert lines[-1].offered == [
        "It grows dark over all of me.",
        "The dark has a voice here.",
        "No dark was ever so near.",
        "So dark, and I fall.",
    ]


def test_a_new_thought_closes_the_line_of_the_last() -> None:
    lines: list[Line] = []
    breaker = thought_breaker(SHIPPED, knowing(lines, {"dark": DISTRESSED}))
    verdicts_on("It grows dark over all of me. The dark has a voice here. ", breaker)
    breaker.reset()
    assert lines[-2].is_closed
    assert not lines[-1].offered
    assert first_trip("No dark was ever so near. So dark, and I fall. And", breaker) == CONTINUE


@given(st.lists(st.text(max_size=60), max_size=30))
def test_any_pieces_can_be_handed_in(pieces: list[str]) -> None:
    lines: list[Line] = []
    breaker = thought_breaker(SHIPPED, knowing(lines, {}))
    for piece in pieces:
        breaker.observe(piece, 0.0)
    assert all(sentence == sentence.strip() for sentence in lines[-1].offered)


def test_what_ships_is_for_the_default_embedder() -> None:
    likeness = load_likeness()
    assert likeness.model_id == "all-minilm-l6-v2-int8"
    assert likeness.weights.shape == (384,)


@pytest.mark.parametrize(
    "line",
    [
        "1. **Stretch each morning.** It helps your back.",
        "- Drink water before each meal.",
        "| monday | run | 5 km |",
        "## What to do on Monday",
        "Here is what you can do on Tuesday:",
        "run_step(monday) = plan[0]",
    ],
)
def test_the_points_of_a_list_do_not_go_round(line: str) -> None:
    assert not is_prose(line)
    watch = MeaningWatch(SHIPPED, LIKENESS)
    assert all(watch.take(line, CALM) is None for _ in range(20))


def test_sentences_that_say_the_same_go_round() -> None:
    watch = MeaningWatch(SHIPPED, LIKENESS)
    verdicts = [watch.take("The lamp in the window was lit again.", CALM) for _ in range(20)]
    assert any(verdict is not None and verdict.reason is TripReason.LOOP_DETECTED for verdict in verdicts)
