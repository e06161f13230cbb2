"""The cascade, decided: no row that is left refers to one that goes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.memory.forgetting.plan import ChosenRows, ForgetPlan, Relations, cascade
from reveries.memory.forgetting.tombstones import Erasure, merge_tombstones, tombstones_for

NAMES = [f"x{number}" for number in range(6)]


@st.composite
def minds(draw: st.DrawFn) -> Relations:
    """Generate turns, episodes, thoughts and what was derived from them, linked in every way that the schema allows."""
    some = st.lists(st.sampled_from(NAMES), unique=True, min_size=1, max_size=3)
    episodes: dict[str, list[str]] = draw(
        st.dictionaries(st.sampled_from([f"e{n}" for n in range(6)]), some, max_size=6)
    )
    merged: dict[str, str] = {}
    for name in sorted(episodes):
        later = [other for other in sorted(episodes) if other > name]
        if later and draw(st.sampled_from([0, 1])):
            merged[name] = draw(st.sampled_from(later))
    for name in sorted(merged):
        into: str | None = merged[name]
        while into is not None:  # What went into another brought its sources along.
            episodes[into] = sorted({*episodes[into], *episodes[name]})
            into = merged.get(into)
    thoughts = draw(st.dictionaries(st.sampled_from(["h0", "h1", "h2"]), st.sampled_from([None, *NAMES]), max_size=3))
    seen = st.lists(st.sampled_from(sorted(episodes) or ["e0"]), max_size=2)
    claims = draw(st.dictionaries(st.sampled_from(["c0", "c1", "c2"]), st.sampled_from(NAMES), max_size=3))
    pairs = st.tuples(st.sampled_from(sorted(claims) or ["c0"]), st.sampled_from(sorted(claims) or ["c0"]))
    return Relations(
        turn_experience=draw(
            st.dictionaries(st.sampled_from([f"t{n}" for n in range(8)]), st.sampled_from([None, *NAMES]), max_size=8)
        ),
        episode_sources=episodes,
        merged_into=merged,
        thought_experience=thoughts,
        thought_recalled={name: draw(seen) for name in thoughts},
        note_thought={f"n{name}": name for name in thoughts},
        claim_experience=claims,
        conflict_claims=draw(st.dictionaries(st.sampled_from(["k0", "k1"]), pairs, max_size=2)) if claims else {},
    )


@st.composite
def choices(draw: st.DrawFn) -> tuple[ChosenRows, Relations]:
    mind = draw(minds())

    def some(names: object) -> frozenset[str]:
        every = sorted(names)  # type: ignore[call-overload]
        return frozenset(draw(st.lists(st.sampled_from(every), max_size=2))) if every else frozenset()

    chosen = ChosenRows(
        experiences=some(NAMES),
        turns=some(mind.turn_experience),
        thoughts=some(mind.thought_experience),
        claims=some(mind.claim_experience),
        episodes=some(mind.episode_sources),
        worded_episodes=some(mind.episode_sources),
    )
    return chosen, mind


def left(plan: ForgetPlan, mind: Relations) -> Relations:
    """What is there after the plan was carried out."""
    return Relations(
        turn_experience={n: x for n, x in mind.turn_experience.items() if n not in plan.turns},
        episode_sources={
            n: [one for one in sources if one not in plan.experiences]
            for n, sources in mind.episode_sources.items()
            if n not in plan.episodes
        },
        merged_into={n: plan.moved.get(n, i) for n, i in mind.merged_into.items() if n not in plan.episodes},
        thought_experience={n: x for n, x in mind.thought_experience.items() if n not in plan.thoughts},
        thought_recalled={n: seen for n, seen in mind.thought_recalled.items() if n not in plan.thoughts},
        note_thought={n: t for n, t in mind.note_thought.items() if n not in plan.notes},
        claim_experience={n: x for n, x in mind.claim_experience.items() if n not in plan.claims},
        conflict_claims={n: ends for n, ends in mind.conflict_claims.items() if n not in plan.conflicts},
    )


@given(choices())
@pytest.mark.requirement("F10")
def test_no_row_that_is_left_refers_to_one_that_goes(given_: tuple[ChosenRows, Relations]) -> None:
    chosen, mind = given_
    plan = cascade(chosen, mind)
    rest = left(plan, mind)
    assert plan.experiences.isdisjoint(filter(None, rest.turn_experience.values()))
    assert plan.experiences.isdisjoint(filter(None, rest.thought_experience.values()))
    assert plan.experiences.isdisjoint(rest.claim_experience.values())
    assert plan.thoughts.isdisjoint(rest.note_thought.values())
    assert plan.episodes.isdisjoint(rest.merged_into.values())
    assert set(rest.merged_into.values()) <= rest.episode_sources.keys()
    assert all(plan.claims.isdisjoint(ends) for ends in rest.conflict_claims.values())
    assert all(rest.episode_sources.values()), "an episode of nothing is left"


@given(choices())
@pytest.mark.requirement("F10")
def test_what_is_chosen_goes_and_what_came_of_several_is_made_anew(given_: tuple[ChosenRows, Relations]) -> None:
    chosen, mind = given_
    plan = cascade(chosen, mind)
    assert chosen.experiences | chosen.turns | chosen.thoughts | chosen.claims | chosen.episodes <= plan.ids
    assert plan.rebuilt.isdisjoint(plan.episodes)
    for name, sources in mind.episode_sources.items():
        if not plan.experiences.isdisjoint(sources):
            assert name in plan.touched
    assert all(name not in mind.merged_into for name in plan.rebuilt)


@given(choices())
@pytest.mark.requirement("F10")
def test_erasing_twice_is_erasing_once(given_: tuple[ChosenRows, Relations]) -> None:
    chosen, mind = given_
    plan = cascade(chosen, mind)
    again = ChosenRows(
        experiences=chosen.experiences & frozenset(),
        turns=chosen.turns - plan.turns,
        thoughts=chosen.thoughts - plan.thoughts,
        claims=chosen.claims - plan.claims,
        episodes=chosen.episodes - plan.episodes,
    )
    assert cascade(again, left(plan, mind)).is_empty


@pytest.mark.requirement("F10")
def test_a_thought_that_goes_takes_its_experience_along_with_all_that_came_of_it() -> None:
    mind = Relations(
        turn_experience={"said": "x0", "thought": "x1"},
        episode_sources={"e0": ["x0"], "e1": ["x1"], "e2": ["x1", "x2"]},
        thought_experience={"h0": "x1"},
        thought_recalled={"h0": ["e0"]},
        claim_experience={"c0": "x1"},
    )
    plan = cascade(ChosenRows(experiences=frozenset({"x0"})), mind)
    assert plan.experiences == {"x0", "x1"}
    assert plan.turns == {"said", "thought"}
    assert plan.episodes == {"e0", "e1"}
    assert plan.rebuilt == {"e2"}
    assert plan.claims == {"c0"}


@given(minds())
def test_nothing_chosen_is_nothing_gone(mind: Relations) -> None:
    assert cascade(ChosenRows(), mind).is_empty


def test_of_all_erasures_together_an_id_is_asked_for_as_an_id_and_a_text_as_a_text() -> None:
    key = b"k" * 16
    stones = tombstones_for(key, ["the-id"], ["The pear tree fell."], set())
    whole = merge_tombstones([Erasure("e", 0.0, "id", key, {}, stones)])
    assert whole is not None
    assert whole.has_id("the-id")
    assert not whole.has_id("another")
    assert whole("The pear tree fell.")
    assert not whole("the-id")


@pytest.mark.requirement("F10")
def test_what_was_merged_into_an_episode_that_goes_stays_merged_into_the_next_that_stays() -> None:
    mind = Relations(
        turn_experience={},
        episode_sources={"e0": ["x0"], "e1": ["x0", "x1"], "e2": ["x0", "x1", "x2"]},
        merged_into={"e0": "e1", "e1": "e2"},
        thought_experience={},
        thought_recalled={},
        note_thought={},
        claim_experience={},
        conflict_claims={},
    )
    plan = cascade(ChosenRows(experiences=frozenset({"x1"})), mind)
    assert plan.moved == {"e0": "e2"}
