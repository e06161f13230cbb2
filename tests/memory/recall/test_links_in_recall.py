"""Links and recall: links order episodes that match a cue equally, and grow when both ends surface."""

import numpy as np
import pytest

from reveries.llm.base import Vector
from reveries.memory.changes import ChangeSet
from reveries.memory.live import LiveMemory
from reveries.memory.model import Link, LinkType
from tests.memory.kit import NOW, axis, context, episode, settings


def link(source: str, target: str, strength: float = 0.8) -> Link:
    return Link(source, target, LinkType.THEMATIC, strength)


def towards(nearness: float, other: int = 1) -> Vector:
    """Return a vector whose cosine with the first axis is `nearness`."""
    made: Vector = np.float32(nearness) * axis(0) + np.float32((1.0 - nearness**2) ** 0.5) * axis(other)
    return made


def live_of(vectors: dict[str, Vector], *links: Link, **chosen: object) -> LiveMemory:
    live = LiveMemory(4, lambda: settings(**chosen))
    live.apply(
        ChangeSet(episodes=tuple(episode(name) for name in vectors), vectors=tuple(vectors.items()), links=links)
    )
    return live


def order(live: LiveMemory) -> list[str]:
    return [found.episode.id for found in live.recall("", axis(0), context()).episodes]


@pytest.mark.requirement("R-121", "R-122")
def test_of_two_that_the_cue_meets_alike_the_one_that_a_better_one_leads_to_goes_first() -> None:
    vectors = {"best": axis(0), "c": towards(0.5), "d": towards(0.5)}
    assert order(live_of(vectors)) == ["best", "c", "d"]
    assert order(live_of(vectors, link("best", "d"))) == ["best", "d", "c"]
    assert order(live_of(vectors, link("best", "c"))) == ["best", "c", "d"]


@pytest.mark.requirement("R-122")
def test_what_has_many_links_stays_behind_what_the_cue_meets_better() -> None:
    vectors = {"best": axis(0), "good": towards(0.8, 2), "hub": towards(0.5)}
    assert order(live_of(vectors, link("best", "hub", 1.0), link("good", "hub", 1.0))) == ["best", "good", "hub"]


@pytest.mark.requirement("R-125")
def test_links_between_what_surfaced_together_grow_and_no_others() -> None:
    far = link("far", "further", 0.5)
    links = (link("a", "b", 0.5), link("b", "a", 0.99), link("a", "far", 0.0), far)
    live = live_of({"a": axis(0), "b": towards(0.9), "far": axis(2), "further": axis(3)}, *links)
    recall = live.recall("", axis(0), context())
    assert [found.episode.id for found in recall.episodes] == ["a", "b"]
    live.apply(live.reinforcements([recall], NOW))
    assert live.graph.strength_of("a", "b", LinkType.THEMATIC) == pytest.approx(0.52)
    assert live.graph.strength_of("b", "a", LinkType.THEMATIC) == pytest.approx(1.0)
    assert live.graph.strength_of("a", "far", LinkType.THEMATIC) == 0.0
    assert live.graph.strength_of("far", "further", LinkType.THEMATIC) == 0.5
