"""The owner's hand on the self-model: recorded, pinned against sleep, undone by number (R-82..R-87)."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.errors import NotFoundError, UsageError
from reveries.memory.model import Pattern, SelfModel
from reveries.memory.self_model import (
    EDITABLE,
    LIST_FIELDS,
    TEXT_FIELDS,
    differences,
    edit_field,
    limit_statements,
    revert_to,
    statements_of,
)
from reveries.memory.sleep.self_model_changes import NewFact, SelfUpdate, change_self_model
from tests.memory.kit import NOW, answering, deep_answer, open_memory, talk
from tests.rows import check_rows

_MODEL = SelfModel(
    narrative="A listener.",
    owner_facts=("Ana likes tea.", "Ana has a dog."),
    patterns=(Pattern("Ana asks at night", 0.45, ("e1",)),),
)
_lines = st.lists(st.from_regex(r"[a-z]{2,8}( [a-z]{2,8}){0,3}", fullmatch=True), max_size=6, unique=True)


@pytest.mark.requirement("R-86")
def test_what_the_owner_wrote_is_not_overwritten_by_sleep() -> None:
    own = edit_field(_MODEL, "narrative", "A calm listener.", NOW)
    change = change_self_model(
        own, SelfUpdate(narrative="A genius.", facts=(NewFact("Ana runs.", NOW),)), ("e9",), NOW, "why"
    )
    assert change is not None
    assert change.after.narrative == "A calm listener."
    assert "Ana runs." in change.after.owner_facts


def test_what_the_owner_took_out_does_not_come_back_in_the_same_words() -> None:
    own = edit_field(_MODEL, "owner_facts", "Ana likes tea.", NOW)
    assert own.refused == ("Ana has a dog.",)
    assert change_self_model(own, SelfUpdate(facts=(NewFact("Ana has a dog", NOW),)), ("e9",), NOW, "why") is None


def test_a_refused_pattern_does_not_come_back_either() -> None:
    own = edit_field(_MODEL, "patterns", "", NOW)
    assert own.patterns == ()
    assert change_self_model(own, SelfUpdate(patterns=("Ana asks at night",)), ("e9",), NOW, "why") is None


def test_what_the_owner_puts_back_is_refused_no_more() -> None:
    own = edit_field(edit_field(_MODEL, "owner_facts", "", NOW), "owner_facts", "Ana has a dog.", NOW)
    assert own.refused == ("Ana likes tea.",)
    assert own.pinned == ("Ana has a dog.",)


def test_an_emptied_text_is_given_back_to_sleep() -> None:
    own = edit_field(edit_field(_MODEL, "narrative", "Mine.", NOW), "narrative", " \n", NOW)
    change = change_self_model(own, SelfUpdate(narrative="A genius."), ("e9",), NOW, "why")
    assert change is not None
    assert change.after.narrative == "A genius."


def test_pinned_statements_are_never_crowded_out() -> None:
    many = tuple(f"fact number {place}" for place in range(60))
    kept = limit_statements(many, {many[0]}, 40)
    assert len(kept) == 40
    assert kept[0] == many[0]
    assert kept[1:] == many[21:]


def test_a_pattern_that_stays_keeps_its_confidence_and_its_episodes() -> None:
    own = edit_field(_MODEL, "patterns", "Ana asks at night\nAna sings", NOW)
    assert own.patterns == (_MODEL.patterns[0], Pattern("Ana sings", 1.0, ()))


@check_rows("field", EDITABLE)
def test_every_field_can_be_written_and_read_back(field: str) -> None:
    own = edit_field(SelfModel(), field, "one thing\n- another thing", NOW)
    said = ("one thing - another thing",) if field in TEXT_FIELDS else ("one thing", "another thing")
    assert statements_of(own, field) == (("one thing another thing",) if field in TEXT_FIELDS else said)
    assert [change.field for change in differences(SelfModel(), own)] == [field]


def test_a_field_that_is_none_and_a_text_that_is_too_long_are_refused() -> None:
    with pytest.raises(UsageError, match="no field 'mood'"):
        edit_field(_MODEL, "mood", "x", NOW)
    with pytest.raises(UsageError, match="characters"):
        edit_field(_MODEL, "narrative", "x" * 5000, NOW)
    with pytest.raises(UsageError, match="lines"):
        edit_field(_MODEL, "values", "\n".join(f"v{n}" for n in range(41)), NOW)


@pytest.mark.requirement("R-87")
@given(first=_lines, second=_lines, field=st.sampled_from(LIST_FIELDS))
def test_reverting_an_edit_brings_back_what_every_field_said(first: list[str], second: list[str], field: str) -> None:
    one = edit_field(SelfModel(), field, "\n".join(first), NOW)
    two = edit_field(one, field, "\n".join(second), NOW + 1)
    back = revert_to(two, one, NOW + 2)
    assert all(statements_of(back, name) == statements_of(one, name) for name in EDITABLE)
    assert not set(back.refused) & set(statements_of(back, field))


@pytest.mark.requirement("R-87")
async def test_an_edit_is_kept_with_its_history_and_survives_a_new_wake(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await memory.self_edits.edit("owner_facts", "Ana likes tea.\nAna has a dog.")
        await memory.self_edits.edit("owner_facts", "Ana likes tea.")
        live = memory.self_model
    async with open_memory(tmp_path, first_id=100) as memory:
        assert memory.self_model == live
        assert live.pinned == ("Ana likes tea.",)
        assert live.refused == ("Ana has a dog.",)
        entries, total = await memory.self_edits.history(10)
        assert total == 2
        assert [entry.number for entry in entries] == [1, 2]
        assert all(entry.by_owner and not entry.run_id for entry in entries)
        assert entries[1].changes[0].removed == ["Ana has a dog."]
        await memory.self_edits.revert(2)
        assert memory.self_model.owner_facts == ("Ana likes tea.", "Ana has a dog.")
        entries, total = await memory.self_edits.history(1)
        assert total == 3
        assert entries[0].reason == "by the owner: back to before change 2"


async def test_an_edit_that_changes_nothing_is_no_change(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await memory.self_edits.edit("narrative", "Mine.")
        await memory.self_edits.edit("narrative", "Mine.")
        assert (await memory.self_edits.history(10))[1] == 1


async def test_a_change_that_is_none_is_not_found(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        with pytest.raises(NotFoundError, match="no change 7"):
            await memory.self_edits.revert(7)


@pytest.mark.requirement("R-82", "R-83", "R-87")
async def test_a_change_by_sleep_shows_the_episode_and_a_quote_that_it_was_made_from(tmp_path: Path) -> None:
    said = "I moved to Lisbon and I love the light there"
    about: dict[str, object] = {
        "owner_facts": ["Ana lives in Lisbon."],
        "communication_style": "",
        "unresolved_threads": [],
        "current_focus": "",
        "narrative": "",
    }
    async with open_memory(tmp_path) as memory:
        await talk(memory, (said, "How lovely."))
        await memory.deep_sleep(answering(deep_answer(0.9, said), about))
        entries, _ = await memory.self_edits.history(10)
        assert [(change.field, change.added) for change in entries[0].changes] == [
            ("owner_facts", ["Ana lives in Lisbon."])
        ]
        assert not entries[0].by_owner
        assert entries[0].run_id
        assert entries[0].evidence[0].quote == said
        await memory.self_edits.edit("owner_facts", "Ana lives in Porto.")
        assert memory.self_model.owner_facts == ("Ana lives in Porto.",)


async def test_a_history_from_an_older_reveries_is_read(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await memory.self_edits.edit("narrative", "Mine.")
        async with memory._parts.database.transaction() as work:
            old = '{"narrative": "Old.", "owner_facts": ["x"], "something_else": 1}'
            named = {"replaced_at": NOW, "run_id": None, "reason": "sleep", "evidence": "[]", "before": old}
            await work.run("self_model.remember", named)
        await memory.self_edits.revert(2)
        assert memory.self_model.narrative == "Old."
        assert replace(memory.self_model, updated_at=0.0).owner_facts == ("x",)
