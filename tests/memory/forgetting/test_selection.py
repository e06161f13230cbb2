"""What marks a text as derived from an erased one: only words that no other text of a person or a document uses."""

from collections.abc import Sequence

import pytest

from reveries.db.database import Row
from reveries.memory.forgetting.plan import ForgetPlan, Relations
from reveries.memory.forgetting.selection import Rows, build_trace_needle
from reveries.memory.model import Origin

NOTHING_RELATED = Relations(
    turn_experience={},
    episode_sources={},
    merged_into={},
    thought_experience={},
    thought_recalled={},
    note_thought={},
    claim_experience={},
    conflict_claims={},
)


def rows(*turns: Row, experiences: Sequence[Row] = ()) -> Rows:
    return Rows(turns, experiences, (), (), (), (), NOTHING_RELATED)


def turn(turn_id: str, text: str, origin: Origin = Origin.OWNER) -> Row:
    return {"id": turn_id, "text": text, "origin": origin.value}


def names(of: Rows) -> tuple[str, ...]:
    return build_trace_needle(of, ForgetPlan(turns=frozenset({"t1"}))).names


ERASED = turn("t1", "The zorbolin is moored at Quarnholm beside the xylotheque.")


@pytest.mark.requirement("F10")
def test_an_uncommon_word_of_an_erased_text_marks_what_was_made_of_it() -> None:
    assert names(rows(ERASED)) == ("quarnholm", "xylotheque", "zorbolin")


@pytest.mark.parametrize(
    "others",
    [
        [turn("t2", "A zorbolin landed."), turn("t3", "Quarnholm is far."), turn("t4", "What a zorbolin!")],
        [turn("t2", "A zorbolin over Quarnholm.")],
    ],
)
def test_a_word_that_the_owner_also_used_elsewhere_marks_nothing(others: list[Row]) -> None:
    assert names(rows(ERASED, *others)) == ("xylotheque",)


def test_a_word_that_a_document_also_uses_marks_nothing_and_one_of_an_erased_document_does() -> None:
    kept = {"id": "x2", "kind": "external", "text": "On the xylotheque of Quarnholm."}
    assert names(rows(ERASED, experiences=[kept])) == ("zorbolin",)
    erased = {"id": "x1", "kind": "external", "text": "On the vorpal gantry."}
    plan = ForgetPlan(experiences=frozenset({"x1"}))
    assert "vorpal" in build_trace_needle(rows(experiences=[erased]), plan).names


def test_the_minds_own_words_count_neither_for_nor_against() -> None:
    assert names(rows(ERASED, turn("t2", "A zorbolin, you say?", Origin.SELF))) == names(rows(ERASED))
