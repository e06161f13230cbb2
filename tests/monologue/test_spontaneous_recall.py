"""Spontaneous recall: where random walks lead, how often, and what may surface."""

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from reveries.monologue.spontaneous_recall import (
    BACK_HOME_SHARE,
    draw_starts,
    draw_surfacing,
    wait_intervals,
    walk_links,
)

Links = dict[int, dict[int, float]]


class Graph:
    def __init__(self, links: Links) -> None:
        self._links = links

    def __call__(self, node: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        links = self._links.get(node, {})
        return np.array(list(links), dtype=np.int32), np.array(list(links.values()), dtype=np.float32)


def walked(links: Links, starts: dict[int, float], *, walks: int, steps: int, seed: int = 1) -> Counter[int]:
    return walk_links(starts, Graph(links), random.Random(seed).random, walks=walks, steps=steps)


@pytest.mark.requirement("R-61", "RA-13")
def test_a_link_four_times_as_strong_is_taken_four_times_as_often() -> None:
    visits = walked({0: {1: 0.8, 2: 0.2}}, {0: 1.0}, walks=20_000, steps=1)
    assert visits[1] / visits[2] == pytest.approx(4.0, rel=0.06)
    assert visits[1] + visits[2] == pytest.approx(20_000 * (1 - BACK_HOME_SHARE), rel=0.02)


@pytest.mark.requirement("R-61")
def test_walks_begin_where_the_weights_say() -> None:
    visits = walked({}, {3: 1.0, 7: 3.0}, walks=20_000, steps=4)
    assert visits[7] / visits[3] == pytest.approx(3.0, rel=0.06)
    assert sum(visits.values()) == 20_000


@pytest.mark.requirement("R-61")
def test_what_is_near_is_come_by_more_often_than_what_is_far() -> None:
    chain = {0: {1: 1.0}, 1: {2: 1.0}, 2: {3: 1.0}, 3: {4: 1.0}}
    visits = walked(chain, {0: 1.0}, walks=5_000, steps=4)
    assert visits[1] > visits[2] > visits[3] > visits[4] > 0


@given(
    links=st.dictionaries(
        st.integers(0, 9), st.dictionaries(st.integers(0, 9), st.floats(0, 1, width=32), max_size=4), max_size=10
    ),
    starts=st.dictionaries(st.integers(0, 9), st.floats(0, 5), max_size=4),
    seed=st.integers(0, 1000),
)
def test_a_walk_never_leaves_what_links_lead_to(links: Links, starts: dict[int, float], seed: int) -> None:
    visits = walked(links, starts, walks=16, steps=5, seed=seed)
    reached = {node for node, weight in starts.items() if weight > 0}
    for _ in range(6):
        reached |= {to for node in reached for to, strength in links.get(node, {}).items() if strength > 0}
    assert set(visits) <= reached
    assert bool(visits) == (sum(starts.values()) > 0)


@pytest.mark.requirement("R-61", "RA-13")
def test_only_what_has_not_surfaced_lately_surfaces() -> None:
    visits = {1: 50, 2: 40, 3: 1}
    assert draw_surfacing(visits, lambda node: 1.0, lambda node: node != 1, 0.0) == 2
    assert draw_surfacing(visits, lambda node: 1.0, lambda node: False, 0.5) is None
    assert draw_surfacing({}, lambda node: 1.0, lambda node: True, 0.5) is None


@pytest.mark.requirement("R-61")
def test_what_surfaces_is_drawn_by_visits_and_pull() -> None:
    draw = random.Random(3).random
    drawn = Counter(
        draw_surfacing({1: 60, 2: 20}, {1: 0.5, 2: 1.0}.__getitem__, lambda node: True, draw()) for _ in range(8000)
    )
    assert drawn[1] / drawn[2] == pytest.approx(1.5, rel=0.1)


@pytest.mark.requirement("R-61")
def test_what_hardly_any_walk_came_by_is_noise() -> None:
    assert draw_surfacing({1: 199, 2: 1}, {1: 0.0, 2: 1.0}.__getitem__, lambda node: True, 0.9) is None


@pytest.mark.requirement("R-46", "RA-9")
def test_an_unchanged_mind_is_visited_less_and_less_once_a_day_at_last() -> None:
    assert [wait_intervals(count) for count in range(8)] == [1, 1, 2, 4, 8, 8, 8, 8]


def test_few_beginnings_are_drawn_the_heavier_the_likelier() -> None:
    draw = random.Random(5).random
    nodes, weights = np.arange(100), np.where(np.arange(100) < 50, 3.0, 1.0).astype(np.float32)
    drawn = Counter(node for _ in range(4000) for node, _ in draw_starts(nodes, weights, draw, 4))
    light, heavy = sum(drawn[node] for node in range(50, 100)), sum(drawn[node] for node in range(50))
    assert set(drawn) == set(range(100))
    assert heavy / light == pytest.approx(3.0, rel=0.1)
    assert draw_starts(nodes[:3], weights[:3], draw, 4) == [(0, 3.0), (1, 3.0), (2, 3.0)]
    assert draw_starts(nodes, np.zeros(100, dtype=np.float32), draw, 4) == []


@pytest.mark.requirement("R-61", "RA-13")
@pytest.mark.parametrize("size", [5, 100, 20_000])
def test_in_a_mind_of_any_size_something_surfaces_and_not_always_the_same(size: int) -> None:
    draw = random.Random(size)
    links = {node: {(node + step) % size: 0.5 for step in (-1, 1, 7, 50)} for node in range(size)}
    nodes, weights = np.arange(size), np.array([draw.random() for _ in range(size)], dtype=np.float32)
    came = Counter[int | None]()
    for _ in range(40):
        visits = walk_links(dict(draw_starts(nodes, weights, draw.random, 4)), Graph(links), draw.random)
        came[draw_surfacing(visits, lambda node: 1.0, lambda node: True, draw.random())] += 1
    assert came[None] == 0
    assert len(came) >= min(size, 20)


@pytest.mark.requirement("R-61")
def test_a_weak_link_is_followed_where_there_is_no_other() -> None:
    assert walked({0: {1: 0.05}}, {0: 1.0}, walks=1000, steps=1)[1] > 500
    assert not walked({0: {1: 0.0}}, {0: 1.0}, walks=1000, steps=1)[1]
