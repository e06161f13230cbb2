"""Records of a pass: they restore the earlier state exactly, are short, and older forms can be read."""

import json
from collections import Counter
from dataclasses import fields, replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.memory.changes import ChangeSet, PriorState, ProcessedExperience, Retirement, SelfModelChange
from reveries.memory.model import Episode, Exemplar, Link, LinkType, Origin, SelfModel
from reveries.memory.sleep.pass_log import build_diff
from reveries.memory.sleep.pass_records import (
    Splice,
    build_pass_record,
    decode_record,
    encode_record,
    episode_change,
    remove_added,
)
from reveries.memory.sleep.undo_plan import RecordedChange, is_built_upon, plan_undo, restore_episode
from tests.memory.kit import NOW, episode

NAMES = st.sampled_from(["a", "b", "c", "d"])
LISTS = st.lists(NAMES, max_size=6).map(tuple)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
QUOTES = st.lists(
    st.builds(Exemplar, st.text(max_size=9), st.just("talk"), FLOATS, st.none() | NAMES, NAMES), max_size=5
).map(tuple)
EPISODES = st.builds(
    Episode,
    id=st.just("e"),
    exemplars=QUOTES,
    topics=LISTS,
    entities=LISTS,
    experience_ids=LISTS,
    before=LISTS,
    after=LISTS,
    origin=st.sampled_from(Origin),
    created_at=FLOATS,
    ended_at=FLOATS,
    last_accessed_at=FLOATS,
    last_decayed_at=FLOATS,
    gap_seconds=st.none() | FLOATS,
    confidence=st.floats(0, 1),
    valence=st.floats(-1, 1),
    salience=st.floats(0, 1),
    accessibility=st.floats(0.1, 1),
)


def written(changes: ChangeSet, before: PriorState) -> str:
    return encode_record(build_pass_record(changes, before))


def written_at_first(changes: ChangeSet, before: PriorState) -> str:
    """Encode a record as versions before form 2 did."""
    named = ("removed_ids", "episodes", "links", "retired", "light_slept_ids", "dormant", "processed", "self_model")
    parts = {name: getattr(changes, name) for name in (*named, "claims", "conflicts")}
    return msgspec.json.encode(parts | {"before": before}).decode()


@given(EPISODES, EPISODES)
@pytest.mark.requirement("R-104")
def test_whatever_changed_in_an_episode_is_put_back_to_the_last_bit_from_what_was_written(
    was: Episode, became: Episode
) -> None:
    [change] = decode_record(written(ChangeSet(episodes=(became,)), PriorState(episodes=(was,)))).episodes
    assert restore_episode(change, became) == was
    assert type(restore_episode(change, became).origin) is Origin
    differ = {one.name for one in fields(Episode) if getattr(was, one.name) != getattr(became, one.name)}
    assert change.changed_fields == differ


@given(LISTS, LISTS, LISTS)
def test_a_list_that_has_changed_again_loses_what_was_added_and_gets_back_what_was_lost(
    was: tuple[str, ...], became: tuple[str, ...], more: tuple[str, ...]
) -> None:
    change = episode_change(episode("e", topics=was), episode("e", topics=became))
    splice = change.lists.get("topics", Splice())
    assert splice.revert(became) == was
    added, lost = Counter(became) - Counter(was), Counter(was) - Counter(became)
    now = Counter(splice.revert((*became, *more, "another")))
    assert now["another"] == 1
    assert {item: now[item] for item in added} == {item: was.count(item) + more.count(item) for item in added}
    assert lost <= now


@pytest.mark.parametrize(
    ("was", "became", "now", "back"),
    [
        (("a", "b"), ("a", "b", "a", "c"), ("a", "b", "a", "c", "d"), ("a", "b", "d")),
        (("a",), ("a", "a"), ("a", "a", "d"), ("a", "d")),
        (("a",), ("a", "a"), ("d", "a"), ("d", "a")),
        (("a", "a"), ("a",), ("a", "d"), ("a", "a", "d")),
        (("a",), ("b",), ("b", "a"), ("a",)),
    ],
)
def test_of_an_item_that_stands_there_twice_only_what_was_added_goes_and_from_the_end(
    was: tuple[str, ...], became: tuple[str, ...], now: tuple[str, ...], back: tuple[str, ...]
) -> None:
    assert remove_added(was, became, now) == back


LINKS = st.lists(
    st.builds(Link, NAMES, NAMES, st.sampled_from(LinkType), st.sampled_from([0.25, 0.5, 1.0])), max_size=9
)


@given(LINKS, LINKS)
def test_links_are_written_once_for_both_ways_and_each_has_the_strength_it_had(
    links: list[Link], before: list[Link]
) -> None:
    put = {(link.source_id, link.target_id, link.type): link for link in links}
    was = {(link.source_id, link.target_id, link.type): link.strength for link in before}
    there = tuple(Link(*key, strength) for key, strength in was.items() if key in put)
    found = dict(decode_record(written(ChangeSet(links=tuple(links)), PriorState(links=there))).directed_links)
    assert found == {link: was.get(key) for key, link in put.items()}


@given(EPISODES, EPISODES)
def test_what_an_earlier_version_wrote_leads_back_to_the_same(was: Episode, became: Episode) -> None:
    gone = replace(was, id="gone")
    changes = ChangeSet(
        episodes=(became,),
        links=(Link("e", "x", LinkType.CAUSAL, 0.5), Link("x", "e", LinkType.CAUSAL, 0.5)),
        retired=(Retirement("gone", "e"),),
        processed=(ProcessedExperience("x1", 0.5, 0.0),),
    )
    before = PriorState(episodes=(was, gone), links=(Link("x", "e", LinkType.CAUSAL, 0.25),))
    first, second = decode_record(written_at_first(changes, before)), decode_record(written(changes, before))
    assert first == second == decode_record(encode_record(first))
    back = plan_undo([RecordedChange(1, None, first)], {"e": became}.get, lambda *key: 0.5, SelfModel())
    assert {one.id: one for one in back.episodes} == {"e": was, "gone": gone}
    assert back.links == (Link("x", "e", LinkType.CAUSAL, 0.25),)


def test_an_episode_of_a_thousand_experiences_that_gains_one_is_written_down_in_a_few_words() -> None:
    quotes = tuple(
        Exemplar(f"Said number {number}.", "talk", NOW, f"t{number}", f"x{number}") for number in range(1000)
    )
    was = episode("e", exemplars=quotes[:-1], experience_ids=tuple(f"x{number}" for number in range(999)))
    became = replace(was, exemplars=quotes, experience_ids=(*was.experience_ids, "x999"))
    text = written(ChangeSet(episodes=(became,)), PriorState(episodes=(was,)))
    assert len(text) < 700
    assert len(text) < len(written_at_first(ChangeSet(episodes=(became,)), PriorState(episodes=(was,)))) / 200
    assert "Said number 999." in text


def test_a_new_episode_is_named_and_shown_and_its_fields_stand_in_its_row_alone() -> None:
    new = episode("n", summary="Ana has a boat.", exemplars=(Exemplar("A boat!", "talk", NOW, "t", "x"),))
    text = written(ChangeSet(episodes=(new,)), PriorState())
    assert json.loads(text)["episodes"] == [
        {"id": "n", "is_new": True, "summary": "Ana has a boat.", "salience": new.salience}
    ]
    [diff] = build_diff("", "", decode_record(text)).episodes
    assert (diff.what, diff.new_summary, diff.new_salience) == ("new", "Ana has a boat.", new.salience)


def test_the_self_model_is_written_down_where_it_changed() -> None:
    was = SelfModel(narrative="I listen.", owner_facts=("Ana has a boat.",), updated_at=1.0)
    became = replace(was, owner_facts=("Ana has a boat.", "It is blue."), updated_at=2.0)
    text = written(ChangeSet(self_model=SelfModelChange(was, became, "why", ("e",))), PriorState())
    assert "I listen." not in text
    change = RecordedChange(1, None, decode_record(text))
    assert plan_undo([change], lambda name: None, lambda *key: None, became).self_model == was


def test_a_pass_that_changes_the_same_list_builds_upon_the_one_before() -> None:
    was = episode("e", topics=("a",))
    became = replace(was, topics=("a", "b"))
    later = replace(became, topics=("a", "b", "c"))
    one = decode_record(written(ChangeSet(episodes=(became,)), PriorState(episodes=(was,))))
    other = decode_record(written(ChangeSet(episodes=(later,)), PriorState(episodes=(became,))))
    chained = replace(became, after=("next",), access_count=3)
    beside = decode_record(written(ChangeSet(episodes=(chained,)), PriorState(episodes=(became,))))
    assert is_built_upon([RecordedChange(1, None, one)], other)
    assert not is_built_upon([RecordedChange(1, None, one)], beside)


@pytest.mark.parametrize("text", ['{"before":{},"is_erased":true}', '{"form":2,"is_erased":true}'])
def test_what_an_erasure_leaves_of_a_record_says_that_it_was_erased(text: str) -> None:
    assert decode_record(text).is_erased
    assert encode_record(decode_record(text)) == '{"form":2,"is_erased":true}'


@pytest.mark.parametrize("text", ['{"form":3}', '{"episodes":[]}', "[]"])
def test_what_no_version_wrote_is_refused(text: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        decode_record(text)


def test_a_change_that_is_shown_tells_what_it_left_as_it_was() -> None:
    """The log shows an episode's summary and salience with every change, also if they did not change."""
    was = replace(episode("e"), summary="The pear tree.", salience=0.4)
    weighed = episode_change(was, replace(was, salience=0.9))
    assert (weighed.summary, weighed.salience) == ("The pear tree.", None)
    told = episode_change(was, replace(was, summary="The pear tree by the wall."))
    assert (told.summary, told.salience) == ("", 0.4)
