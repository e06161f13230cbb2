"""Episodes that share a rare name are linked."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.memory.graph.shared_names import MAX_HOLDERS, MAX_NAMED, NameIndex, shared_name_links
from reveries.memory.model import LinkType
from tests.memory.kit import context, episode, open_memory, talk

FAR_APART = (
    ("My aunt Mathilde collects clocks.", "How many are there?"),
    ("The bread did not rise this morning.", "What a pity."),
    ("I have to repaint the fence before winter.", "Which colour?"),
    ("Mathilde somehow wounded herself skating.", "That must hurt."),
)


@pytest.mark.requirement("R-80")
async def test_two_episodes_about_one_rare_name_are_tied(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await talk(memory, *FAR_APART)
        await memory.light_sleep()
        graph = memory.live.graph
        clocks, wrist = (next(e for e in graph.episodes() if word in e.summary) for word in ("clocks", "skating"))
        assert clocks.id != wrist.id
        assert graph.strength_of(clocks.id, wrist.id, LinkType.THEMATIC)
        assert graph.strength_of(wrist.id, clocks.id, LinkType.THEMATIC)
        vector = await memory.embed_cue("clocks")
        found = memory.live.recall("clocks", vector, context(limit=10)).episodes
        assert wrist.id in {hit.episode.id for hit in found}


@given(st.integers(0, 60))
def test_a_name_that_everybody_holds_makes_no_hub(count: int) -> None:
    index = NameIndex()
    others = {f"e{number}": episode(f"e{number}", entities=("anna",)) for number in range(count)}
    for other in others.values():
        index.add_episode(other)
    new = episode("new", entities=("anna",))
    links = shared_name_links(new, others, {"anna": index.holders("anna")}, count + 1)
    assert len(links) <= MAX_NAMED
    assert all(0.0 < link.strength <= 1.0 for link in links)
    if count > MAX_HOLDERS:
        assert links == ()


def test_what_is_rarer_ties_more_strongly_and_what_left_ties_nothing() -> None:
    others = {name: episode(name, entities=("lisbon", "anna")) for name in ("a", "b", "c")}
    new = episode("new", entities=("Anna", "lisbon"))
    rare = shared_name_links(new, others, {"lisbon": ["a"]}, 100)
    common = shared_name_links(new, others, {"anna": ["a", "b", "c"]}, 100)
    both = shared_name_links(new, others, {"lisbon": ["a", "gone"], "anna": ["a", "b", "c", "new"]}, 100)
    assert rare[0].strength > common[0].strength
    assert both[0].target_id == "a"
    assert "gone" not in {link.target_id for link in both}
    assert "new" not in {link.target_id for link in both}
