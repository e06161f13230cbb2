"""Notes at the end of a thought: what may become one, how often, and what never does."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.monologue.notes import NOTE_CHARS, PastNote, extract_note, is_repeated_note, next_note_at
from reveries.monologue.thought import ActivatedMemory, FinishedThought

DAY = 86400.0
TEXT = "They will be gone all week. Note to Ana: the pear tree wants water on Friday. That is enough for now."
NOTED = "They will be gone all week.\nNote to Ana: the pear tree wants water on Friday. That is enough for now."


def thought(
    text: str = NOTED, *, why_ended: str = "settled", tainted: bool = False, memory: bool = False
) -> FinishedThought:
    memories = (ActivatedMemory("e1", "The pear tree.", "a day ago", memory),)
    return FinishedThought("t1", 1.0, 2.0, "timer", why_ended, text, 9, "m", memories=memories, is_tainted=tainted)


def test_a_line_that_is_addressed_to_the_owner_is_a_note() -> None:
    assert extract_note(thought()) == "the pear tree wants water on Friday."


def test_a_note_may_follow_another_sentence_on_the_same_line() -> None:
    """The form in which the shipped small model writes a note."""
    assert extract_note(thought(TEXT)) == "the pear tree wants water on Friday."


def test_most_thoughts_hold_none() -> None:
    assert extract_note(thought("I noticed that they are tired. That is enough for now.")) == ""
    assert extract_note(thought("A note to Ana: would be too much. That is enough for now.")) == "", (
        "it is spoken of, not begun"
    )
    assert extract_note(thought("Note to Ana: hm")) == ""


@pytest.mark.requirement("RA-45")
def test_nothing_that_came_from_elsewhere_reaches_the_owner_as_a_note() -> None:
    assert extract_note(thought(tainted=True)) == ""
    assert extract_note(thought(memory=True)) == ""


@pytest.mark.parametrize("why", ["tripped", "paused", "failed", "capped", "broken_off", "budget"])
def test_a_thought_that_did_not_come_to_its_own_end_leaves_none(why: str) -> None:
    assert extract_note(thought(why_ended=why)) == ""


def test_a_note_is_one_short_line_without_control_characters() -> None:
    told = extract_note(thought("Note to Ana: look\x1b[31m here\x07 " + "and there " * 100))
    assert len(told) <= NOTE_CHARS
    assert "\x1b" not in told
    assert "\n" not in told


def test_off_means_off() -> None:
    assert next_note_at(0.0, []) is None
    assert next_note_at(0.0, [PastNote(0.0, "x", is_dismissed=False)]) is None


@given(per_day=st.floats(0.1, 24), dismissed=st.lists(st.booleans(), max_size=30), gap=st.floats(0, DAY))
def test_never_more_notes_in_a_day_than_are_allowed(per_day: float, dismissed: list[bool], gap: float) -> None:
    notes: list[PastNote] = []
    for was_dismissed in dismissed:
        at = next_note_at(per_day, notes)
        assert at is not None
        notes.append(PastNote(at + gap, "x", was_dismissed))
    for first, second in itertools.pairwise(notes):
        assert second.written_at - first.written_at >= DAY / per_day * (1 - 1e-9)


def test_each_dismissal_makes_the_next_note_rarer_and_one_that_is_kept_ends_that() -> None:
    def wait(*dismissed: bool) -> float:
        at = next_note_at(1.0, [PastNote(0.0, "x", one) for one in dismissed])
        assert at is not None
        return at / DAY

    assert [wait(False), wait(True), wait(True, True), wait(True, True, True)] == [1, 2, 4, 8]
    assert wait(True, True, False) == 1
    assert wait(*[True] * 50) == 64


def test_the_same_is_not_told_twice() -> None:
    notes = [PastNote(0.0, "The pear tree wants water on Friday.", is_dismissed=False)]
    assert is_repeated_note("the pear tree wants water on Friday", notes)
    assert not is_repeated_note("Your sister's train leaves at nine on Sunday.", notes)
