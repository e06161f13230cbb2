"""The live graph: adding, linking and retiring episodes, and the state before a change."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.memory.changes import ChangeSet, Fading, Retirement, Touch
from reveries.memory.graph.arena import LinkArena
from reveries.memory.graph.kernels import Kernels
from reveries.memory.graph.memory_graph import MemoryGraph
from reveries.memory.model import Link, LinkType
from tests.memory.kit import NOW, axis, episode


def graph_of(*names: str) -> MemoryGraph:
    graph = MemoryGraph(4)
    graph.apply(ChangeSet(episodes=tuple(map(episode, names)), vectors=tuple((name, axis(0)) for name in names)))
    return graph


@pytest.mark.requirement("R-78", "R-79", "R-81")
def test_two_links_of_different_types_stand_beside_each_other() -> None:
    graph = graph_of("a", "b")
    links = (Link("a", "b", LinkType.THEMATIC, 0.4), Link("a", "b", LinkType.CAUSAL, 0.9))
    graph.apply(ChangeSet(links=links))
    assert graph.links_of("a") == (links[1], links[0])
    assert graph.links_into("b") == links
    assert graph.links_of("b") == ()


def test_a_strength_out_of_range_is_clamped_and_an_episode_is_not_linked_to_itself() -> None:
    graph = graph_of("a", "b")
    graph.apply(ChangeSet(links=(Link("a", "b", LinkType.THEMATIC, 7.0), Link("a", "a", LinkType.THEMATIC, 1.0))))
    assert [link.strength for link in graph.links_of("a")] == [1.0]


def test_vectors_stay_in_place_while_the_graph_grows() -> None:
    names = [f"e{place:03}" for place in range(200)]
    graph = graph_of(*names)
    assert graph.vectors.shape == (200, 4)
    assert np.array_equal(graph.vector_of("e150"), axis(0))


@pytest.mark.requirement("R-116")
def test_a_retired_episode_leaves_the_graph_with_its_links_and_its_place_is_used_again() -> None:
    graph = graph_of("a", "b")
    graph.apply(ChangeSet(links=(Link("a", "b", LinkType.THEMATIC, 0.5), Link("b", "a", LinkType.THEMATIC, 0.5))))
    graph.apply(ChangeSet(retired=(Retirement("b", "a"),)))
    assert "b" not in graph
    assert graph.links_of("a") == ()
    assert len(graph) == 1
    graph.apply(ChangeSet(episodes=(episode("c"),)))
    assert graph.index_of("c") == 1
    assert graph.links_of("c") == graph.links_into("c") == ()
    assert not graph.vector_of("c").any()
    assert [one.id for one in graph.episodes()] == ["a", "c"]


def test_what_names_nobody_is_passed_over() -> None:
    graph = graph_of("a")
    graph.apply(
        ChangeSet(
            vectors=(("gone", axis(1)),),
            links=(Link("a", "gone", LinkType.THEMATIC, 1.0),),
            touches=(Touch("gone", 1, NOW, 1.0, 1.0),),
            fadings=(Fading("gone", 0.1, 0.1, NOW),),
            retired=(Retirement("gone", "a"),),
        )
    )
    assert [one.id for one in graph.episodes()] == ["a"]


def test_before_tells_old_from_new() -> None:
    graph = graph_of("a", "b")
    graph.apply(ChangeSet(links=(Link("a", "b", LinkType.THEMATIC, 0.5),)))
    changes = ChangeSet(
        episodes=(episode("a", summary="new"), episode("c")),
        links=(Link("a", "b", LinkType.THEMATIC, 0.9), Link("b", "a", LinkType.CAUSAL, 0.2)),
    )
    before = graph.state_before(changes)
    assert [one.summary for one in before.episodes] == ["a"]
    assert before.links == (Link("a", "b", LinkType.THEMATIC, 0.5),)


@given(st.lists(st.integers(1, 400), max_size=8))
def test_an_arena_has_room_for_just_the_nodes_that_were_asked_for(sizes: list[int]) -> None:
    arena, capacity = LinkArena(Kernels(lambda loop, _: loop, are_compiled=False), 0), 0
    for nodes in sizes:
        if nodes > capacity:
            arena.grow_nodes(nodes)
            capacity = nodes
        assert len(arena.nodes) == capacity
