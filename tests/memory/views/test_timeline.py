"""Events in order, with the silences between conversations; and the neighbourhood of an episode."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reveries.memory.changes import ChangeSet
from reveries.memory.live import LiveMemory
from reveries.memory.model import Link, LinkType
from reveries.memory.views.neighbourhood import neighbourhood, select_centre
from reveries.memory.views.search import SearchPeriod
from reveries.memory.views.timeline import timeline
from tests.memory.kit import NOW, episode
from tests.memory.kit import settings as recall_settings

_DAY = 86_400.0


def remembered(*when: tuple[str, float, str | None], links: tuple[Link, ...] = ()) -> LiveMemory:
    """Episodes by name, days ago and conversation."""
    live = LiveMemory(4, recall_settings)
    made = [
        episode(name, created_at=NOW - days * _DAY, ended_at=NOW - days * _DAY + 60, conversation_id=talk)
        for name, days, talk in when
    ]
    live.apply(ChangeSet(episodes=tuple(made), links=links))
    return live


@pytest.mark.requirement("R-74", "R-75")
def test_a_timeline_is_oldest_first_with_the_silences_of_conversations() -> None:
    live = remembered(("b", 3, "c"), ("thought", 5, None), ("a", 9, "c"))
    told = timeline(live, SearchPeriod(), 10, NOW)
    assert [moment.episode_id for moment in told.moments] == ["a", "thought", "b"]
    silence = told.moments[2].gap
    assert silence is not None
    assert silence.significance == "6 days of silence"
    assert told.moments[1].gap is None


@pytest.mark.requirement("R-77")
def test_the_silence_that_lasts_is_told_unless_the_period_is_over() -> None:
    live = remembered(("a", 9, "c"))
    lasting = timeline(live, SearchPeriod(), 10, NOW).lasting_gap
    assert lasting is not None
    assert lasting.significance == "9 days of silence"
    assert timeline(live, SearchPeriod(end=NOW - 2 * _DAY), 10, NOW).lasting_gap is None


def test_the_limit_keeps_the_newest_and_counts_the_rest() -> None:
    live = remembered(*[(f"e{days:02}", float(days), "c") for days in range(20)])
    told = timeline(live, SearchPeriod(), 5, NOW)
    assert [moment.episode_id for moment in told.moments] == ["e04", "e03", "e02", "e01", "e00"]
    assert told.earlier_count == 15


def test_a_period_holds_what_lasted_into_it() -> None:
    assert SearchPeriod(start=10.0).overlaps(5.0, 10.0)
    assert not SearchPeriod(start=10.0).overlaps(5.0, 9.0)
    assert not SearchPeriod(end=10.0).overlaps(10.0, 20.0)


_links = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from(LinkType), st.floats(0.1, 1.0)), max_size=30
)


@settings(deadline=None)
@given(links=_links, limit=st.integers(2, 12), centre=st.integers(0, 9))
def test_a_neighbourhood_holds_its_centre_and_nothing_twice(
    links: list[tuple[int, int, LinkType, float]], limit: int, centre: int
) -> None:
    made = tuple(Link(f"e{a}", f"e{b}", kind, strength) for a, b, kind, strength in links if a != b)
    live = remembered(*[(f"e{place}", float(place), "c") for place in range(10)], links=made)
    shown = neighbourhood(live, {f"e{centre}": 1.0}, limit)
    names = [node.episode_id for node in shown.nodes]
    assert names[0] == f"e{centre}"
    assert len(names) == len(set(names)) <= limit
    assert shown.nodes[0].distance == 0
    assert all(tie.first_id in names and tie.second_id in names for tie in shown.ties)
    assert len({(tie.first_id, tie.second_id, tie.type) for tie in shown.ties}) == len(shown.ties)


def test_the_nearest_come_first_when_there_is_no_room_for_all() -> None:
    links = (Link("a", "near", LinkType.THEMATIC, 0.9), Link("a", "far", LinkType.THEMATIC, 0.2))
    live = remembered(("a", 1, "c"), ("near", 2, "c"), ("far", 3, "c"), links=links)
    shown = neighbourhood(live, {"a": 1.0}, 2)
    assert [node.episode_id for node in shown.nodes] == ["a", "near"]
    assert shown.left_out == 1


def test_the_most_telling_episode_hangs_together_with_most() -> None:
    links = (Link("b", "a", LinkType.THEMATIC, 0.9), Link("b", "c", LinkType.THEMATIC, 0.9))
    assert select_centre(remembered(("a", 1, "c"), ("b", 2, "c"), ("c", 3, "c"), links=links)) == "b"
    assert select_centre(remembered()) is None
