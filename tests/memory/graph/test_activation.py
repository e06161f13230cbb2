"""Spreading activation: the arithmetic of R-120..R-123 by hand, and properties of every graph."""

import math
from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.memory.changes import ChangeSet
from reveries.memory.graph.activation import (
    Seed,
    activate_episodes,
    emotional_resonance,
    nearest_seeds,
    recency_boost,
    temporal_relevance,
)
from reveries.memory.graph.kernels import Kernels, interpreted_kernels
from reveries.memory.graph.memory_graph import MemoryGraph
from reveries.memory.graph.spread_loops import insert_ranked, year_day
from reveries.memory.model import Link, LinkType, RecalledEpisode
from tests.memory.graph.oracle import spread_energies
from tests.memory.kit import NOW, axis, context, episode, settings

DAY = 86_400.0


LOOPS = (interpreted_kernels(), Kernels(lambda loop, _: loop, are_compiled=True))
"""The whole-array form that is used until the loops are compiled, and the loops run by the interpreter."""


def graph_of(names: str, links: list[Link], kernels: Kernels | None = None, **chosen: object) -> MemoryGraph:
    """Create a graph of episodes a, b, c ... with vectors along the axes, in that order."""
    graph = MemoryGraph(4, kernels)
    graph.apply(
        ChangeSet(
            episodes=tuple(episode(name, **chosen) for name in names),
            vectors=tuple((name, axis(place % 4)) for place, name in enumerate(names)),
            links=tuple(links),
        )
    )
    return graph


def link(source: str, target: str, strength: float) -> Link:
    return Link(source, target, LinkType.THEMATIC, strength)


def surfaced(graph: MemoryGraph, vector: np.ndarray, **chosen: object) -> dict[str, RecalledEpisode]:
    chosen_settings = settings(**chosen)
    seeds = nearest_seeds(graph, vector, chosen_settings.seeds)
    found, _ = activate_episodes(graph, seeds, context(), chosen_settings)
    return {one.episode.id: one for one in found}


@pytest.mark.requirement("R-118", "R-119", "R-120", "R-121", "R-122", "R-173")
def test_energy_on_a_small_graph_is_what_the_formulas_say() -> None:
    graph = graph_of("abc", [link("a", "b", 0.8), link("b", "c", 0.5), link("b", "a", 0.8)])
    found = surfaced(graph, axis(0), max_hops=2, decay_per_hop=0.5, activation_threshold=0.0)
    # Seed a: cosine 1 x salience 1 x recency 1.5. Pass 1 sends a -> b 1.5 x 0.8 x 0.5 = 0.6.
    # Pass 2, from the snapshot {a 1.5, b 0.6}: b gets 0.6 again (1.2), a gets 0.24 (1.74), c gets 0.15.
    # Recency counts once more at the end: x 1.5.
    assert found["a"].energy == pytest.approx(1.74 * 1.5)
    assert found["b"].energy == pytest.approx(1.2 * 1.5)
    assert found["c"].energy == pytest.approx(0.15 * 1.5)
    assert found["c"].path == ("a", "b", "c")
    assert found["a"].seed_cosine == 1.0
    assert found["c"].seed_cosine == 0.0


@pytest.mark.requirement("R-122")
def test_factors_are_those_of_the_specification() -> None:
    assert recency_boost(NOW, NOW) == pytest.approx(1.5)
    assert recency_boost(NOW - 30 * DAY, NOW) == pytest.approx(1 + 0.5 * math.exp(-1))
    assert recency_boost(NOW + DAY, NOW) == pytest.approx(1.5)
    assert emotional_resonance(-1.0, -1.0) == pytest.approx(1.25)
    assert emotional_resonance(1.0, -0.4) == pytest.approx(0.9)
    assert temporal_relevance(NOW, NOW - 7 * DAY) == pytest.approx(1.2)
    assert temporal_relevance(NOW, NOW - 365 * DAY) == pytest.approx(1.2)
    assert temporal_relevance(NOW, NOW - DAY) == pytest.approx(1.0)


@pytest.mark.requirement("R-123")
@pytest.mark.parametrize("kernels", LOOPS, ids=["arrays", "loops"])
def test_only_energy_above_the_threshold_surfaces_and_the_limit_holds(kernels: Kernels) -> None:
    graph = graph_of("ab", [link("a", "b", 0.5)], kernels, last_accessed_at=0.0)
    exact = 1.0 * 0.5 * 0.5
    assert "b" in surfaced(graph, axis(0), max_hops=1, activation_threshold=exact - 1e-9)
    assert "b" not in surfaced(graph, axis(0), max_hops=1, activation_threshold=exact)
    seeds = nearest_seeds(graph, axis(0), 5)
    found, _ = activate_episodes(graph, seeds, context(limit=1), settings())
    assert [one.episode.id for one in found] == ["a"]


@pytest.mark.requirement("R-123")
@pytest.mark.parametrize("kernels", LOOPS, ids=["arrays", "loops"])
def test_what_stays_at_the_threshold_takes_no_place_of_what_is_above_it(kernels: Kernels) -> None:
    """Three entry points exactly at the threshold lead to one episode above it; the limit is one."""
    links = [link(source, "d", 1.0) for source in "abc"]
    graph = graph_of("abcd", links, kernels, last_accessed_at=0.0)
    seeds = [Seed(graph.index_of(name) or 0, 1.0, 1.0) for name in "abc"]
    chosen = settings(max_hops=1, decay_per_hop=0.5, activation_threshold=1.0)
    found, _ = activate_episodes(graph, seeds, context(limit=1), chosen, 0.02)
    assert [one.episode.id for one in found] == ["d"]


@pytest.mark.requirement("R-124")
def test_what_is_unlike_the_cue_surfaces_through_links_and_more_paths_mean_more_energy() -> None:
    graph = graph_of("abcd", [link("a", "c", 0.6), link("b", "c", 0.6), link("b", "d", 0.6)])
    cue = (axis(0) + axis(1)) / np.float32(math.sqrt(2))
    found = surfaced(graph, cue, max_hops=1)
    assert found["c"].seed_cosine == 0.0
    assert found["c"].energy > found["d"].energy


@pytest.mark.requirement("R-128")
def test_ties_go_by_id_and_an_empty_graph_gives_nothing() -> None:
    graph = MemoryGraph(4)
    assert surfaced(graph, axis(0)) == {}
    graph.apply(
        ChangeSet(episodes=tuple(episode(name) for name in "dbca"), vectors=tuple((name, axis(0)) for name in "dbca"))
    )
    assert list(surfaced(graph, axis(0), seeds=3)) == ["a", "b", "c"]


@pytest.mark.requirement("R-128")
def test_a_negative_cosine_gives_no_energy() -> None:
    graph = graph_of("a", [])
    assert surfaced(graph, -axis(0)) == {}


@pytest.mark.requirement("R-116")
def test_a_faded_episode_takes_up_less_but_a_direct_cue_still_finds_it() -> None:
    graph = graph_of("ab", [link("a", "b", 1.0)])
    whole = surfaced(graph, axis(0))["b"].energy
    graph.apply(ChangeSet(episodes=(episode("b", accessibility=0.1),)))
    faded = surfaced(graph, axis(0), activation_threshold=0.0)["b"].energy
    assert faded == pytest.approx(whole * 0.01)
    assert "b" in surfaced(graph, axis(1))


@pytest.mark.requirement("R-126")
def test_only_edges_near_the_seeds_are_touched() -> None:
    names = "abcdefgh"
    graph = graph_of(names, [link("a", "b", 0.9), *(link(x, y, 0.9) for x, y in zip("efg", "fgh", strict=True))])
    energies = {graph.index_of("a") or 0: 1.0}
    spreading = spread_energies(graph, energies, hops=3, decay=0.5)
    assert spreading.edges_touched == 3
    assert set(spreading.energies) == {graph.index_of("a"), graph.index_of("b")}


NAMES = st.sampled_from("abcdefgh")
LINKS = st.lists(st.tuples(NAMES, NAMES, st.floats(0.0, 1.0)), max_size=30)


@given(LINKS, st.floats(0.0, 1.0), st.integers(0, 4))
@pytest.mark.requirement("R-121")
def test_energy_is_always_finite_and_never_negative(
    drawn: list[tuple[str, str, float]], decay: float, hops: int
) -> None:
    graph = graph_of("abcdefgh", [link(*one) for one in drawn])
    spreading = spread_energies(graph, {0: 1.0, 3: 0.5}, hops, decay)
    assert all(math.isfinite(energy) and energy >= 0.0 for energy in spreading.energies.values())


@given(LINKS)
@pytest.mark.requirement("R-118", "R-124")
def test_what_no_path_reaches_and_no_cosine_meets_never_surfaces(drawn: list[tuple[str, str, float]]) -> None:
    graph = graph_of("abcdefgh", [link(*one) for one in drawn])
    found = surfaced(graph, axis(0), activation_threshold=0.0)
    reachable = {"a", "e"}
    for _ in range(8):
        reachable |= {target for source, target, strength in drawn if source in reachable and strength > 0.0}
    assert set(found) <= reachable


@given(LINKS, st.randoms(use_true_random=False))
@pytest.mark.requirement("R-128")
def test_the_order_in_which_things_were_stored_does_not_matter(drawn: list[tuple[str, str, float]], chance) -> None:  # type: ignore[no-untyped-def]
    unique = list({(source, target): (source, target, strength) for source, target, strength in drawn}.values())
    one = surfaced(graph_of("abcdefgh", [link(*each) for each in unique]), axis(0))
    names, shuffled = list("abcdefgh"), list(unique)
    chance.shuffle(names)
    chance.shuffle(shuffled)
    graph = MemoryGraph(4)
    for name in names:
        place = "abcdefgh".index(name)
        graph.apply(ChangeSet(episodes=(episode(name),), vectors=((name, axis(place % 4)),)))
    graph.apply(ChangeSet(links=tuple(link(*each) for each in shuffled)))
    other = surfaced(graph, axis(0))
    assert {name: pytest.approx(found.energy) for name, found in one.items()} == {
        name: found.energy for name, found in other.items()
    }


@given(LINKS, st.floats(0.0, 1.0))
def test_a_stronger_link_never_lowers_its_target(drawn: list[tuple[str, str, float]], strength: float) -> None:
    others = [each for each in drawn if each[:2] != ("a", "b")]
    weak = graph_of("abcdefgh", [*(link(*each) for each in others), link("a", "b", strength / 2)])
    strong = graph_of("abcdefgh", [*(link(*each) for each in others), link("a", "b", strength)])
    energy = [spread_energies(graph, {0: 1.0}, 3, 0.5).energies.get(1, 0.0) for graph in (weak, strong)]
    assert energy[0] <= energy[1] + 1e-12


@given(st.lists(st.integers(1, 20), max_size=30), st.integers(1, 6))
def test_the_greatest_ranks_are_kept_in_order(values: list[int], limit: int) -> None:
    best = np.zeros(limit, dtype=np.float64)
    for value in values:
        insert_ranked(best, float(value))
    assert best.tolist() == sorted([*[0] * limit, *values])[-limit:]


@given(st.integers(-36_524, 73_048))
def test_the_day_of_a_year_is_that_of_the_calendar(days: int) -> None:
    day = date(1970, 1, 1) + timedelta(days=days)
    assert divmod(year_day(days), 32) == (day.month, day.day)
