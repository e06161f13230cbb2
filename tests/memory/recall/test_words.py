"""Words: stems, BM25 and its windows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.memory.recall.stemming import stem, words_of
from reveries.memory.recall.words import Neighbours, WordIndex, terms_of


def index_of(*texts: str) -> tuple[WordIndex, Neighbours, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    index = WordIndex()
    for text in texts:
        index.add(terms_of(text))
    size = len(texts)
    previous = np.array([size, *range(size - 1)], dtype=np.int64)[:size]
    following = np.array([*range(1, size), size], dtype=np.int64)[:size]
    return index, Neighbours(previous, following), np.ones(size, dtype=np.bool_)


@pytest.mark.parametrize(
    "forms",
    [
        ("hope", "hopes", "hoped", "hoping"),
        ("plan", "plans", "planned", "planning"),
        ("city", "cities"),
        ("paint", "painted", "painting", "paintings"),
        ("quick", "quickly"),
        ("box", "boxes"),
    ],
)
def test_forms_of_one_word_have_one_stem(forms: tuple[str, ...]) -> None:
    assert len({stem(form) for form in forms}) == 1


def test_words_of_other_scripts_are_left_alone() -> None:
    assert words_of("Привет, мир! 東京 naïve café’s") == ["привет", "мир", "東京", "naïve", "café"]
    assert stem("привет") == "привет"


def test_question_words_code_and_possessives_say_nothing() -> None:
    assert terms_of("When did Ana's sister go?") == ["ana", "sister"]
    assert terms_of("look ```python\nsecret = 1\n``` here") == ["look"]


@pytest.mark.requirement("R-119")
def test_the_turn_that_holds_the_rarer_words_scores_best() -> None:
    index, near, live = index_of("the cat sat", "the cat and the zebra", "a dog")
    scores = index.score(terms_of("cat zebra"), live, near)
    assert int(scores.turn.argmax()) == 1
    assert scores.coverage[1] == pytest.approx(1.0)
    assert 0.0 < scores.coverage[0] < 1.0
    assert scores.turn[2] == 0.0


def test_a_window_is_met_by_what_its_neighbours_hold() -> None:
    index, near, live = index_of("where is the zebra", "over there", "yes", "indeed", "nothing")
    scores = index.score(terms_of("zebra"), live, near)
    assert (scores.window > 0).tolist() == [True, True, True, False, False]


def test_what_is_no_longer_live_counts_for_nothing() -> None:
    index, near, live = index_of("zebra", "cat")
    live[0] = False
    scores = index.score(terms_of("zebra"), live, near)
    assert not scores.turn.any()
    assert not scores.window.any()


@given(st.lists(st.text(alphabet="ab cd", max_size=20), min_size=1, max_size=12), st.text(alphabet="ab cd", max_size=8))
def test_scores_are_finite_and_never_negative(texts: list[str], cue: str) -> None:
    index, near, live = index_of(*texts)
    scores = index.score(terms_of(cue), live, near)
    for values in (scores.turn, scores.window, scores.coverage):
        assert np.isfinite(values).all()
        assert (values >= 0).all()
    assert (scores.coverage <= 1.0 + 1e-6).all()
