"""Why an episode surfaced or not: the numbers of the recall itself; asking changes nothing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reveries.memory.changes import ChangeSet, IndexedTurn
from reveries.memory.live import LiveMemory
from reveries.memory.model import Link, LinkType
from reveries.memory.views.search import SearchPeriod, reach_episodes, recall_within
from reveries.memory.views.why import explain, factors_frame, shared_words
from tests.memory.kit import NOW, WordEmbedder, context, episode, turn
from tests.memory.kit import settings as recall_settings

_EMBEDDER = WordEmbedder()


def memory(**chosen: object) -> LiveMemory:
    """Three conversations: tea, the garden linked to it, and one without links."""
    live = LiveMemory(_EMBEDDER.dimensions, lambda: recall_settings(**chosen))
    said = {
        "tea": "We drank green tea on the terrace",
        "garden": "The roses bloom behind the house",
        "alone": "Bicycles need oil",
    }
    live.apply(
        ChangeSet(
            episodes=tuple(episode(name, summary=text) for name, text in said.items()),
            vectors=tuple((name, _EMBEDDER._row(text)) for name, text in said.items()),
            links=(Link("tea", "garden", LinkType.THEMATIC, 0.8), Link("tea", "garden", LinkType.TEMPORAL, 0.2)),
            indexed=tuple(
                IndexedTurn(turn(f"t-{name}", text, position=place), name, _EMBEDDER._row(text))
                for place, (name, text) in enumerate(said.items())
            ),
        )
    )
    return live


@pytest.mark.requirement("R-118", "R-29")
def test_a_seed_is_explained_by_its_cosine_and_the_words_it_shares() -> None:
    live, cue = memory(seeds=1), "green tea"
    found = live.graph.get("tea")
    assert found is not None
    why = explain(live, cue, _EMBEDDER._row(cue), context(), found)
    assert why.surfaced
    assert why.rank == 1
    assert why.entry is not None
    assert why.entry.by_meaning
    assert why.shared_words == ["green", "tea"]
    assert why.unmet_words == []
    assert why.steps == []
    assert why.missing == []
    assert why.turns[0].place == 1
    assert why.turns[0].reasons


def test_what_came_over_links_is_explained_by_every_link_of_the_way() -> None:
    live, cue = memory(seeds=1), "green tea"
    found = live.graph.get("garden")
    assert found is not None
    why = explain(live, cue, _EMBEDDER._row(cue), context(), found)
    assert why.surfaced
    assert why.entry is None
    assert [(step.from_id, step.to_id) for step in why.steps] == [("tea", "garden")]
    strengths = {link.type: link.strength for link in why.steps[0].links}
    assert strengths == {"thematic": pytest.approx(0.8), "temporal": pytest.approx(0.2)}
    assert why.energy_direct == 0.0
    assert why.energy_whole > why.threshold


def test_what_nothing_leads_to_says_what_was_missing() -> None:
    live, cue = memory(seeds=1), "green tea"
    found = live.graph.get("alone")
    assert found is not None
    why = explain(live, cue, _EMBEDDER._row(cue), context(), found)
    assert not why.surfaced
    assert why.rank == 0
    assert any("not an entry point" in reason for reason in why.missing)
    assert any("No link led to it" in reason for reason in why.missing)


def test_what_the_limit_cut_off_says_so_and_knows_its_place() -> None:
    live, cue = memory(seeds=3), "green tea"
    found = live.graph.get("garden")
    assert found is not None
    why = explain(live, cue, _EMBEDDER._row(cue), context(limit=1), found)
    assert not why.surfaced
    assert why.rank >= 2
    assert "only the first 1 surface" in why.missing[0]


def test_what_stays_under_the_threshold_says_how_far() -> None:
    live, cue = memory(seeds=1, activation_threshold=5.0), "green tea"
    found = live.graph.get("garden")
    assert found is not None
    why = explain(live, cue, _EMBEDDER._row(cue), context(), found)
    assert not why.surfaced
    assert any("needs more than 5" in reason for reason in why.missing)


@settings(deadline=None, max_examples=40)
@given(
    cue=st.sampled_from(["green tea", "roses", "oil for bicycles", "the house", "nothing here"]),
    limit=st.integers(1, 3),
)
def test_the_explanation_agrees_with_the_recall(cue: str, limit: int) -> None:
    live = memory(seeds=2)
    vector, asked = _EMBEDDER._row(cue), context(limit=limit)
    recall = live.recall(cue, vector, asked)
    order = [found.episode.id for found in recall.episodes]
    for one in live.graph.episodes():
        why = explain(live, cue, vector, asked, one)
        assert why.surfaced == (one.id in order)
        if why.surfaced:
            found = recall.episodes[why.rank - 1]
            assert found.episode.id == one.id
            assert why.energy == pytest.approx(found.energy)
            assert why.energy == pytest.approx(why.energy_direct + why.share_of_spread * why.energy_spread, rel=1e-4)
            assert why.factors == factors_frame(found.factors)
        else:
            assert why.missing


def test_a_cue_without_a_vector_is_explained_by_its_words() -> None:
    live, cue = memory(), "green tea"
    found = live.graph.get("tea")
    assert found is not None
    why = explain(live, cue, live.no_vector, context(), found)
    assert why.surfaced
    assert why.entry is not None
    assert not why.entry.by_meaning
    assert why.entry.by_turn


def test_words_are_shared_in_any_form_and_little_ones_do_not_count() -> None:
    assert shared_words("who planted the roses?", "I plant a rose") == ["planted", "roses"]


@pytest.mark.requirement("R-29")
def test_a_recall_within_a_period_brings_only_what_happened_then() -> None:
    live = memory()
    old = episode("old", created_at=NOW - 400 * 86_400, ended_at=NOW - 400 * 86_400, summary="Green tea in winter")
    text = "Green tea in winter"
    entry = IndexedTurn(turn("t-old", text, said_at=old.created_at, position=9), "old", _EMBEDDER._row(text))
    live.apply(ChangeSet(episodes=(old,), vectors=(("old", _EMBEDDER._row(text)),), indexed=(entry,)))
    period = SearchPeriod(end=NOW - 300 * 86_400)
    found = recall_within(live, "green tea", _EMBEDDER._row("green tea"), context(), period)
    assert [one.episode.id for one in found.episodes] == ["old"]
    assert [one.turn.id for one in found.turns] == ["t-old"]


def test_a_recall_within_everything_is_the_recall() -> None:
    live, cue = memory(), "green tea"
    vector = _EMBEDDER._row(cue)
    everything, usual = recall_within(live, cue, vector, context(), SearchPeriod()), live.recall(cue, vector, context())
    assert [one.episode.id for one in everything.episodes] == [one.episode.id for one in usual.episodes]
    assert [one.turn.id for one in everything.turns] == [one.turn.id for one in usual.turns]


def test_reaching_far_changes_nothing() -> None:
    live = memory()
    before = list(live.graph.episodes())
    reach_episodes(live, "green tea", _EMBEDDER._row("green tea"), context())
    assert list(live.graph.episodes()) == before
