"""Words: stems, BM25 and its windows."""

from dataclasses import astuple
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as checking
from hypothesis import strategies as st
from numpy.typing import NDArray

from reveries.index.terms import stem, terms_of, words_of
from reveries.index.word_scores import Neighbours
from reveries.index.words import WordIndex
from reveries.memory.graph.kernels import Kernels, compile_kernels
from tests.rows import check_rows


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
    assert words_of("Привет, мир! naïve café’s हिन्दी") == ["привет", "мир", "naïve", "café", "हिन्दी"]
    assert stem("привет") == "привет"


@check_rows(
    ("text", "word"),
    [
        ("私の猫は小麦です", "小麦"),
        ("我的猫叫小麦，今年三岁", "猫"),
        ("冷蔵庫とカメラを買った", "カメラ"),
        ("りんごを食べました", "りんご"),
        ("내 여동생은 부산에 살아요", "부산"),
        ("개가 짖어요", "개"),
        ("ผมแพ้ถั่วลิสงมาก", "ถั่วลิสง"),
        ("买了iPhone手机壳", "手机"),
    ],
)
def test_a_word_in_a_script_without_spaces_is_found_within_a_sentence(text: str, word: str) -> None:
    assert set(terms_of(word)) <= set(terms_of(text))
    assert terms_of(word)
    assert not set(terms_of(word)) <= set(terms_of("大阪で会議があり、내일 아침 ไปเชียงใหม่ and home"))


def test_question_words_code_and_possessives_say_nothing() -> None:
    assert terms_of("When did Ana's sister go?") == ["ana", "sister"]
    assert terms_of("look ```python\nsecret = 1\n``` here") == ["look"]


@pytest.mark.requirement("R-119")
def test_the_turn_that_holds_the_rarer_words_scores_best() -> None:
    index, near, live = index_of("the cat sat", "the cat and the zebra", "a dog")
    scores = index.score(terms_of("cat zebra"), live, near)
    assert int(scores.row.argmax()) == 1
    assert scores.coverage[1] == pytest.approx(1.0)
    assert 0.0 < scores.coverage[0] < 1.0
    assert scores.row[2] == 0.0


def test_a_window_is_met_by_what_its_neighbours_hold() -> None:
    index, near, live = index_of("where is the zebra", "over there", "yes", "indeed", "nothing")
    scores = index.score(terms_of("zebra"), live, near)
    assert (scores.window > 0).tolist() == [True, True, True, False, False]


def test_what_is_no_longer_live_counts_for_nothing() -> None:
    index, near, live = index_of("zebra", "cat")
    live[0] = False
    scores = index.score(terms_of("zebra"), live, near)
    assert not scores.row.any()
    assert not scores.window.any()


@given(st.lists(st.text(alphabet="ab cd", max_size=20), min_size=1, max_size=12), st.text(alphabet="ab cd", max_size=8))
def test_scores_are_finite_and_never_negative(texts: list[str], cue: str) -> None:
    index, near, live = index_of(*texts)
    scores = index.score(terms_of(cue), live, near)
    for values in (scores.row, scores.window, scores.coverage):
        assert np.isfinite(values).all()
        assert (values >= 0).all()
    assert (scores.coverage <= 1.0 + 1e-6).all()


SPOKEN = ["school", "teacher", "colleg", "student", "classroom", "four", "thre", "two", "zebra", "moos"]
"""Stems."""
Mind = tuple[WordIndex, Neighbours, NDArray[np.bool_]]


@pytest.fixture(scope="module", params=["as they stand", "compiled"])
def loops(request: pytest.FixtureRequest) -> Kernels:
    return compile_kernels() if request.param == "compiled" else Kernels(lambda loop, _: loop, are_compiled=True)


@st.composite
def minds(draw: st.DrawFn) -> Mind:
    """Draw an index of turns from a few conversations, interleaved or not: some packed, some added later, some
    removed."""
    texts = draw(st.lists(st.lists(st.sampled_from(SPOKEN), max_size=9), min_size=1, max_size=24))
    packed_count = draw(st.integers(0, len(texts)))
    before, index = WordIndex(), WordIndex()
    for text in texts[:packed_count]:
        before.add(text)
    index.load_packed(before.begin_copy(np.ones(packed_count, dtype=np.bool_))())
    for text in texts[packed_count:]:
        index.add(text)
    size = len(texts)
    talks = draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
    live = np.array(draw(st.lists(st.integers(0, 4), min_size=size, max_size=size)), dtype=np.int64) > 0
    previous, following = np.full(size, size, dtype=np.int64), np.full(size, size, dtype=np.int64)
    for talk in set(talks):
        # A removed row has no neighbours; the scores must not depend on them.
        rows = [row for row in range(size) if talks[row] == talk and (live[row] or draw(st.booleans()))]
        for row, after in pairwise(rows):
            following[row], previous[after] = after, row
    return index, Neighbours(previous, following), live


@checking(max_examples=300, deadline=None)
@given(minds(), st.lists(st.sampled_from([*SPOKEN, "unheard"]), max_size=6))
def test_the_loops_score_as_whole_arrays_do_to_the_bit(loops: Kernels, mind: Mind, cue: list[str]) -> None:
    index, near, live = mind
    plain = index.score(cue, live, near)
    index.kernels = loops
    looped = index.score(cue, live, near)
    for one, other in zip(astuple(looped), astuple(plain), strict=True):
        assert one.tobytes() == other.tobytes()
