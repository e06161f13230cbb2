"""Relations change by use and contradiction alone, and every change keeps what a relation is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.knowledge.evolution import (
    ARCHIVE_BELOW,
    copies_for_replacement,
    initial_weight,
    merge_statements,
    pairs_to_relate,
    strengthen_relation,
    unarchive_relation,
    weaken_relation,
)
from reveries.knowledge.model import Confidence, Relation, RelationType
from reveries.knowledge.scoring import relation_score
from tests.knowledge.kit import DAY, stored_relation
from tests.memory.kit import NOW


@pytest.mark.requirement("V-56")
def test_a_stated_relation_is_as_heavy_as_its_chunk_is_sure() -> None:
    assert [initial_weight(one) for one in Confidence] == [0.8, 0.5, 0.3]


@pytest.mark.requirement("V-34", "V-58")
def test_use_strengthens_by_a_twentieth_up_to_one() -> None:
    used = strengthen_relation(stored_relation(weight=0.5), NOW + DAY)
    assert used.weight == pytest.approx(0.55)
    assert (used.activation_count, used.last_activated_at) == (1, NOW + DAY)
    assert strengthen_relation(stored_relation(weight=0.98), NOW).weight == 1.0
    assert strengthen_relation(stored_relation(weight=0.1), NOW, 0.4).weight == pytest.approx(0.5)


@pytest.mark.requirement("V-35", "V-61", "V-135")
def test_what_is_weakened_below_a_twentieth_is_archived_and_can_be_restored_as_it_was() -> None:
    assert weaken_relation(stored_relation(weight=0.8), NOW, "contradicted").weight == pytest.approx(0.5)
    gone = weaken_relation(stored_relation(weight=0.34), NOW, "manual")
    assert (gone.archived_at, gone.archive_reason) == (NOW, "manual")
    assert gone.final_weight == pytest.approx(0.04)
    assert unarchive_relation(gone) == stored_relation(weight=0.34)
    kept = weaken_relation(stored_relation(weight=0.36), NOW, "manual")
    assert kept.archived_at is None


@pytest.mark.requirement("V-33")
def test_a_relation_stated_again_has_all_tags_and_the_greater_weight() -> None:
    again = merge_statements(stored_relation(weight=0.4, context_tags=("a", "b")), 0.3, ["c", "b"])
    assert (again.weight, again.context_tags) == (0.4, ("a", "b", "c"))
    assert merge_statements(stored_relation(weight=0.4), 0.9, []).weight == 0.9
    archived = weaken_relation(stored_relation(weight=0.2), NOW, "manual")
    assert merge_statements(archived, 0.1, []) == stored_relation(weight=0.2)


@pytest.mark.requirement("V-62")
def test_a_replaced_chunk_leaves_copies_of_half_the_weight_and_keeps_its_own() -> None:
    relations = [
        stored_relation(id="r1", from_id="old", to_id="a", weight=0.8),
        stored_relation(id="r2", from_id="b", to_id="old", weight=0.2, type=RelationType.REQUIRES),
        stored_relation(id="r3", from_id="new", to_id="old", type=RelationType.REPLACES),
        stored_relation(id="r4", from_id="old", to_id="c", weight=0.09),
        stored_relation(id="r5", from_id="old", to_id="d", archived_at=NOW, archive_reason="manual"),
        stored_relation(id="r6", from_id="old", to_id="e", type=RelationType.CONTRADICTS),
        stored_relation(id="r7", from_id="x", to_id="y"),
    ]
    copies = copies_for_replacement("old", "new", relations)
    assert [(one.from_id, one.to_id, one.type, one.weight, one.derived_from) for one in copies] == [
        ("new", "a", RelationType.SUPPORTS, 0.4, "r1"),
        ("b", "new", RelationType.REQUIRES, 0.1, "r2"),
    ]


@pytest.mark.requirement("V-58")
def test_two_chunks_are_related_when_they_are_found_together_for_the_fourth_time() -> None:
    counts = {("a", "b"): 4, ("a", "c"): 3, ("b", "c"): 9}
    assert pairs_to_relate(counts, [("c", "b")]) == [("a", "b")]


@pytest.mark.requirement("V-60")
@given(weight=st.floats(0.05, 1.0), days=st.floats(0, 5000))
def test_no_weight_changes_by_time(weight: float, days: float) -> None:
    relation = stored_relation(weight=weight)
    later = NOW + days * DAY
    assert strengthen_relation(relation, later, 0.0).weight == weight
    # Time moves the score alone, between one and one and a half times the weight.
    assert weight <= relation_score(relation, later) <= 1.5 * weight


CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("strengthen"), st.floats(0, 1)),
        st.tuples(st.just("weaken"), st.floats(0, 1)),
        st.tuples(st.just("restore"), st.just(0.0)),
        st.tuples(st.just("state"), st.floats(0.05, 1)),
    ),
    max_size=40,
)


@given(weight=st.floats(0.05, 1.0), changes=CHANGES)
def test_after_any_order_of_changes_a_relation_is_whole(weight: float, changes: list[tuple[str, float]]) -> None:
    relation = stored_relation(weight=weight)
    for change, amount in changes:
        match change:
            case "strengthen":
                relation = strengthen_relation(relation, NOW, amount)
            case "weaken":
                relation = weaken_relation(relation, NOW, "manual", amount)
            case "restore":
                relation = unarchive_relation(relation)
            case _:
                relation = merge_statements(relation, amount, [])
        assert_whole(relation)


def assert_whole(relation: Relation) -> None:
    """What the table's checks say, too."""
    assert ARCHIVE_BELOW <= relation.weight <= 1.0
    assert (relation.archived_at is None) == (relation.archive_reason == "") == (relation.final_weight is None)
    assert relation.final_weight is None or 0.0 <= relation.final_weight < ARCHIVE_BELOW


def test_that_a_chunk_was_replaced_is_not_copied_to_what_replaces_it_however_it_was_said() -> None:
    said = [
        stored_relation(from_id="c3", to_id="c1", type=RelationType.REPLACES),
        stored_relation(from_id="c1", to_id="c3", type=RelationType.SUPERSEDED_BY),
        stored_relation(from_id="c1", to_id="c4", type=RelationType.REPLACES),
    ]
    assert [(one.from_id, one.to_id) for one in copies_for_replacement("c1", "c2", said)] == [("c2", "c4")]
