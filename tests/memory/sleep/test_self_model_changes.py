"""Values, tendencies, strengths, limitations and anticipations: learned by deep sleep, each with a quote."""

import json
from collections import Counter
from dataclasses import fields
from pathlib import Path

import pytest

from reveries.memory.forgetting.selection import BY_WORDS, Selection
from reveries.memory.memory import Memory
from reveries.memory.model import SelfModel
from reveries.memory.self_model import EDITABLE
from reveries.memory.sleep.questions import Asker
from reveries.memory.sleep.self_model_changes import (
    Trait,
    TraitAnswer,
    check_trait,
    choose_field,
    trait_question,
)
from tests.memory.kit import answering, deep_answer, open_memory, talk
from tests.rows import check_rows

FIELDS = ("values", "tendencies", "strengths", "limitations", "anticipations")
QUOTE = "You listen so patiently when I talk about the quince tree."
ASKER = Asker("Ana", "Reverie", SelfModel())
WORDS = f"{QUOTE} My concert with Jonas is on 14 May."
STATEMENT = "Listens patiently."


@pytest.mark.requirement("R-82", "R-84", "R-85")
def test_all_five_are_asked_about_one_at_a_time() -> None:
    asked = Counter(choose_field(f"experience {number}") for number in range(1000))
    assert set(asked) == set(FIELDS)
    assert min(asked.values()) > 150
    assert choose_field("experience 1") == choose_field("experience 1")


@pytest.mark.requirement("R-84", "R-85")
@pytest.mark.parametrize("field", FIELDS)
def test_the_question_shows_what_is_known_and_lets_nothing_be_quoted_but_the_text(field: str) -> None:
    model = SelfModel(**{field: ("Something known.",)})  # type: ignore[arg-type]
    question = trait_question(Asker("Ana", "Reverie", model), field, WORDS)
    rules, material = (message.text for message in question.messages)
    assert "- Something known." in rules
    assert "Reverie" in rules
    assert WORDS in material
    schema = json.loads(json.dumps(question.schema))
    assert schema["properties"]["quote"]["enum"] == ["none", QUOTE, "My concert with Jonas is on 14 May."]


@pytest.mark.requirement("R-82", "R-84", "R-85")
@pytest.mark.parametrize(
    ("field", "sought"),
    [
        ("values", "matters to Reverie"),
        ("tendencies", "Reverie tends to do"),
        ("strengths", "Reverie does well"),
        ("limitations", "Reverie cannot do"),
        ("anticipations", "Reverie may expect"),
    ],
)
def test_each_is_asked_about_the_mind_and_not_about_the_owner(field: str, sought: str) -> None:
    rules = trait_question(ASKER, field, WORDS).messages[0].text
    assert sought in rules
    assert "$" not in rules


@pytest.mark.requirement("R-72", "R-84", "R-85")
@check_rows(
    ("quote", "statement", "is_kept"),
    [
        (QUOTE, STATEMENT, True),
        ("My concert with Jonas is on 14 May.", "The concert on 14 May.", True),
        ("none", STATEMENT, False),
        ("You are the best.", STATEMENT, False),
        (QUOTE, "", False),
        (QUOTE, "Is very clever.", False),
        (QUOTE, "Listens patiently to Marta.", False),
        ("My concert with Jonas is on 14 May.", "The concert on 15 May.", False),
    ],
)
def test_a_statement_counts_only_with_a_sentence_that_shows_it_and_nothing_invented(
    quote: str, statement: str, is_kept: bool
) -> None:
    found = check_trait(ASKER, "strengths", TraitAnswer(quote, statement), WORDS)
    assert found == (Trait("strengths", statement, quote) if is_kept else None)


async def learn(memory: Memory, salience: float = 0.9) -> tuple[str, str]:
    """Run deep sleep on an important conversation; return the field that was asked about, and the pass."""
    await talk(memory, (WORDS, "I like to hear of it."))
    model = answering(deep_answer(salience, QUOTE), {}, {"quote": QUOTE, "statement": STATEMENT})
    await memory.light_sleep()
    slept = await memory.deep_sleep(model)
    assert len(model.prompts) == (3 if salience > 0.7 else 1)
    learned = [field for field in FIELDS if getattr(memory.self_model, field)]
    return (learned[0] if learned else ""), slept.run_id


@pytest.mark.requirement("R-82", "R-84", "R-85", "R-86", "R-87")
async def test_deep_sleep_learns_one_and_keeps_the_sentence_and_the_episode_that_show_it(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        field, run = await learn(memory)
        assert getattr(memory.self_model, field) == (STATEMENT,)
        (entry,), _ = await memory.self_edits.history(5)
        assert QUOTE in entry.reason
        (episode,) = memory.live.graph.episodes()
        assert [shown.episode_id for shown in entry.evidence] == [episode.id]
        learned = memory.self_model
    async with open_memory(tmp_path, first_id=1000) as memory:
        assert memory.self_model == learned
        await memory.undo_pass(run)
        assert getattr(memory.self_model, field) == ()


@pytest.mark.requirement("R-86")
async def test_what_is_not_important_enough_is_not_looked_at_for_them(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        assert (await learn(memory, 0.7))[0] == ""


@pytest.mark.requirement("R-84", "R-85", "F10")
async def test_one_goes_with_the_only_episode_that_showed_it(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        field, _ = await learn(memory)
        await memory.forgetting.erase(Selection(BY_WORDS, "quince"))
        assert getattr(memory.self_model, field) == ()
        entries, _ = await memory.self_edits.history(5)
        assert all(QUOTE not in entry.reason for entry in entries)


def test_every_field_of_the_self_model_can_be_shown_edited_scrubbed_and_compared() -> None:
    """Everything goes by one list of fields, which must be complete."""
    kept = {field.name for field in fields(SelfModel)} - {"updated_at", "pinned_fields", "pinned", "refused", "days"}
    assert kept == set(EDITABLE)
