"""Which model a machine gets: a pure choice among installed, offered and suitable models."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.llm.asset_sources import WheelsSource
from reveries.llm.assets import asset
from reveries.llm.model_ladder import LADDER, Suggestion, best_local_model, choose_suggestion, models_to_ask_for
from tests.rows import check_rows

LARGE, SMALL, CODER = (rung.model for rung in LADDER)
GIGABYTE = 10**9
ENOUGH = 8 * GIGABYTE

machines = st.tuples(st.integers(0, 64 * GIGABYTE), st.integers(1, 64))
models = st.sets(st.sampled_from([LARGE, SMALL, CODER, "smollm2-135m", "a model of tomorrow"]))


@check_rows(
    ("free_bytes", "cores", "published", "expected"),
    [
        (ENOUGH, 4, {LARGE, SMALL}, Suggestion(SMALL, larger=LARGE)),
        (ENOUGH - 1, 4, {LARGE, SMALL}, Suggestion(SMALL)),
        (ENOUGH, 3, {LARGE, SMALL}, Suggestion(SMALL)),
        (64 * GIGABYTE, 64, {SMALL}, Suggestion(SMALL)),
        (64 * GIGABYTE, 64, {LARGE}, Suggestion(CODER, larger=LARGE)),
        (64 * GIGABYTE, 64, set(), Suggestion(CODER)),
        (0, 1, {LARGE, SMALL}, Suggestion(SMALL)),
        (0, 1, set(), Suggestion(CODER)),
    ],
)
def test_the_machine_and_who_answers_decide(
    free_bytes: int, cores: int, published: set[str], expected: Suggestion
) -> None:
    assert choose_suggestion(free_bytes, cores, (), published) == expected


@pytest.mark.parametrize("here", [{LARGE}, {SMALL}, {CODER}, {CODER, SMALL}, {CODER, SMALL, LARGE}])
def test_what_is_here_is_used_whatever_could_be_had(here: set[str]) -> None:
    best = next(model for model in (LARGE, SMALL, CODER) if model in here)
    for machine, published in product([(0, 1), (64 * GIGABYTE, 64)], [set[str](), {LARGE, SMALL}]):
        assert choose_suggestion(*machine, here, published) == Suggestion(best, is_here=True)


@given(machine=machines, here=models, published=models)
def test_nothing_large_is_ever_taken_that_was_not_asked_for(
    machine: tuple[int, int], here: set[str], published: set[str]
) -> None:
    found = choose_suggestion(*machine, here, published)
    assert found.is_here == bool(best_local_model(here))
    if found.is_here:
        assert found.model in here
        assert not found.larger
    else:
        assert asset(found.model).size_bytes < 1.2 * GIGABYTE
        assert found.model in published or found.model == CODER
        assert found.larger in {"", *published}
        assert found.larger != found.model


@given(machine=machines, more=machines, published=models)
def test_a_better_machine_is_never_offered_less(
    machine: tuple[int, int], more: tuple[int, int], published: set[str]
) -> None:
    better = (machine[0] + more[0], machine[1] + more[1])
    assert set(models_to_ask_for(*machine)) <= set(models_to_ask_for(*better))
    if choose_suggestion(*machine, (), published).larger:
        assert choose_suggestion(*better, (), published).larger


def test_the_last_of_the_ladder_comes_from_a_package_index_too_and_only_the_first_is_asked_about() -> None:
    assert any(isinstance(source, WheelsSource) for source in asset(CODER).file[0].source)
    assert [rung.asks_first for rung in LADDER] == [asset(rung.model).size_bytes > 2 * GIGABYTE for rung in LADDER]
