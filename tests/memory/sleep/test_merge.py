"""When episodes are merged, and that nothing is lost by it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.llm.base import Vectors
from reveries.memory.changes import ChangeSet
from reveries.memory.graph.memory_graph import MemoryGraph
from reveries.memory.model import Exemplar, Link, LinkType
from reveries.memory.sleep.merge import find_merge_target, join_summaries, merge_change_set, merge_episodes
from tests.memory.kit import NOW, axis, episode, memory_settings

HOUR = 3600.0
WORDS = st.lists(st.sampled_from("pqrstuvw"), unique=True).map(tuple)


def near(cosine: float) -> Vectors:
    """Return a unit vector with this cosine to axis 0."""
    row: Vectors = np.array([cosine, np.sqrt(1 - cosine**2), 0.0, 0.0], dtype=np.float32)
    return row


def exemplar(quote: str) -> Exemplar:
    return Exemplar(quote, quote, NOW, f"turn of {quote}", "x")


def graph_with_old(**chosen: object) -> MemoryGraph:
    graph = MemoryGraph(4)
    graph.apply(ChangeSet(episodes=(episode("old", **chosen), episode("new")), vectors=(("old", axis(0)),)))
    return graph


@pytest.mark.requirement("R-103", "R-105")
@pytest.mark.parametrize(
    ("cosine", "chosen", "is_one"),
    [
        (0.86, {"created_at": NOW - 71 * HOUR}, True),
        (0.86, {"created_at": NOW - 73 * HOUR}, False),
        (0.86, {"created_at": NOW - 73 * HOUR, "conversation_id": "c"}, True),
        (0.84, {"created_at": NOW, "conversation_id": "c"}, False),
        (0.99, {"created_at": NOW, "tainted": True}, False),
    ],
)
def test_two_are_one_when_near_in_meaning_and_in_time_or_of_one_conversation(
    cosine: float, chosen: dict[str, object], is_one: bool
) -> None:
    graph = graph_with_old(**chosen)
    new = episode("new", created_at=NOW, conversation_id="c")
    target = find_merge_target(graph, new, near(cosine), memory_settings())
    assert (target is not None) is is_one


@given(WORDS, WORDS, WORDS, WORDS)
@pytest.mark.requirement("R-73", "R-169")
def test_merging_never_loses_a_source_a_quote_or_a_topic(
    sources: tuple[str, ...], more: tuple[str, ...], quotes: tuple[str, ...], other: tuple[str, ...]
) -> None:
    target = episode("t", experience_ids=sources, exemplars=tuple(map(exemplar, quotes)), topics=sources[:4])
    source = episode("s", experience_ids=more, exemplars=tuple(map(exemplar, other)), topics=more[:4])
    both = merge_episodes(target, source)
    assert set(both.experience_ids) == {*sources, *more}
    assert {quoted.quote for quoted in both.exemplars} == {*quotes, *other}
    assert both.exemplars[: len(target.exemplars)] == target.exemplars
    assert set(both.topics) == {*sources[:4], *more[:4]}


@pytest.mark.requirement("R-169")
def test_the_greater_salience_and_the_lesser_confidence_stay_and_taint_is_inherited() -> None:
    both = merge_episodes(
        episode("t", salience=0.3, confidence=0.9), episode("s", salience=0.8, confidence=0.5, tainted=True)
    )
    assert (both.salience, both.confidence, both.tainted) == (0.8, 0.5, True)


@pytest.mark.requirement("R-70", "R-169")
def test_what_two_episodes_were_used_and_when_they_were_is_that_of_both() -> None:
    """The accesses of both count for recall: an often recalled episode does not lose rank by merging another into
    it."""
    target = episode("t", access_count=3, created_at=NOW - 9, ended_at=NOW - 7, last_accessed_at=NOW - 1)
    source = episode("s", access_count=4, created_at=NOW - 8, ended_at=NOW - 5, last_accessed_at=NOW - 2)
    both = merge_episodes(target, source)
    assert both.access_count == 7
    assert (both.created_at, both.ended_at, both.last_accessed_at) == (NOW - 9, NOW - 5, NOW - 1)


@pytest.mark.requirement("R-73", "R-74", "R-104")
def test_links_and_neighbours_go_over_to_the_one_that_stays() -> None:
    graph = MemoryGraph(4)
    graph.apply(
        ChangeSet(
            episodes=(episode("t"), episode("s", before=("n",)), episode("n", after=("s",))),
            vectors=(("t", axis(0)),),
            links=(
                Link("s", "n", LinkType.TEMPORAL, 0.5),
                Link("n", "s", LinkType.TEMPORAL, 0.5),
                Link("s", "t", LinkType.THEMATIC, 0.9),
                Link("t", "n", LinkType.TEMPORAL, 0.7),
            ),
        )
    )
    source, target = graph.get("s"), graph.get("t")
    assert source is not None
    assert target is not None
    graph.apply(merge_change_set(graph, target, source, axis(1)))
    assert "s" not in graph
    assert graph.links_of("t") == (Link("t", "n", LinkType.TEMPORAL, 0.7),)
    assert graph.links_of("n") == (Link("n", "t", LinkType.TEMPORAL, 0.5),)
    neighbour, stayed = graph.get("n"), graph.get("t")
    assert neighbour is not None
    assert stayed is not None
    assert neighbour.after == ("t",)
    assert stayed.before == ("n",)


def test_a_summary_that_grows_too_long_loses_its_oldest_words() -> None:
    long = join_summaries("old " * 200, "the newest words")
    assert long.endswith("the newest words")
    assert len(long) <= 702
