"""A model reads which of the nearest lines answers a question to the notes, or that none does."""

from datetime import date

import msgspec

from reveries.llm.structured import schema_of
from reveries.llm.tier import Tier
from reveries.projects.note_answers import NoteAnswers, NoteVerdict, find_candidates
from reveries.projects.note_reading import choice_type, read_answer
from reveries.projects.work_model import WorkModel
from tests.fakes.scripted import ScriptedModel
from tests.projects.test_facts_view import facts_of

TODAY = date(2026, 11, 27)
NOTES = {
    "trip_md": (
        "The ferry to Oban costs 62 GBP.\n\nThe ferry leaves at 9:40.\n\nFerry tickets: 18 GBP each.\n\n"
        "Ferry, dogs: 5 GBP each.\n"
    )
}
QUESTION = "How much does the breakfast on the ferry cost?"
MODEL = "scripted/model"


async def read(model: ScriptedModel, tier: Tier, question: str = QUESTION) -> NoteAnswers:
    return await read_answer(WorkModel(model, "p1", tier, "Ana"), facts_of(**NOTES), question, TODAY)


def answering(line: str) -> ScriptedModel:
    return ScriptedModel([[msgspec.json.encode({"line": line}).decode()]] * 2)


async def test_a_capable_model_chooses_one_of_the_nearest_lines_in_one_request_or_none() -> None:
    model = answering("l2")
    said = await read(model, Tier.CAPABLE)
    second = find_candidates(facts_of(**NOTES), QUESTION, TODAY)[1]
    assert (said.verdict, said.answers[0].text, said.model) == (NoteVerdict.SAID, second.text, MODEL)
    assert len(model.prompts) == 1
    asked = model.prompts[0].messages[-1].text
    assert "l1: (trip.md" in asked
    assert QUESTION in asked
    none = await read(answering("none"), Tier.CAPABLE)
    assert (none.verdict, none.answers, none.model) == (NoteVerdict.NOT_SAID, (), MODEL)


def test_a_model_reads_also_lines_that_share_no_word_but_have_a_value_of_the_kind() -> None:
    notes = facts_of(a_md="The crossing to Oban: 62 GBP.\n\nNobody has paid yet.\n\nWe meet at 9:40.\n")
    shown = find_candidates(notes, "What does the ferry cost?", TODAY)
    assert [item.text for item in shown] == ["The crossing to Oban: 62 GBP."]


def test_a_capable_model_can_name_nothing_but_a_listed_line() -> None:
    schema = schema_of(choice_type(("l1", "l2")))
    assert sorted(schema["properties"]["line"]["enum"]) == ["l1", "l2", "none"]  # type: ignore[index]


async def test_without_a_usable_answer_of_a_model_rules_answer() -> None:
    said = await read(ScriptedModel([["Perhaps."]] * 4), Tier.CAPABLE)
    assert (said.verdict, len(said.answers), said.model) == (NoteVerdict.UNSURE, 3, "")


async def test_a_small_model_is_not_asked() -> None:
    model = answering("l1")
    said = await read(model, Tier.SMALL)
    assert (said.verdict, said.model, model.prompts) == (NoteVerdict.UNSURE, "", [])
