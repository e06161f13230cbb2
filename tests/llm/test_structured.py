import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.db.database import Database
from reveries.errors import ModelAnswerError, ModelUnavailableError
from reveries.llm.answer_counts import AnswerCounts
from reveries.llm.base import ChatMessage, Prompt, Role
from reveries.llm.structured import ask_structured, parse, schema_of
from reveries.protocol import AnswerCount
from tests.fakes.scripted import ScriptedModel
from tests.rows import check_rows

PROMPT = Prompt(Role.CONSOLIDATION, (ChatMessage("user", "How important is it?"),), 200)


class Quote(msgspec.Struct, frozen=True):
    quote: str
    significance: str = ""


class Scored(msgspec.Struct, frozen=True):
    salience: float
    quotes: list[Quote] = []


def clamped(answer: Scored) -> Scored:
    return msgspec.structs.replace(answer, salience=min(1.0, max(0.0, answer.salience)))


@pytest.mark.requirement("R-113")
@pytest.mark.parametrize(
    "text",
    [
        '{"salience": 0.5}',
        'Sure! Here it is:\n```json\n{"salience": 0.5}\n```\nI hope that helps.',
        '```\n{"salience": "0.5"}',
        'I think {this} is it: {"salience": 0.5, "quotes": [{"quote": "a } b \\" {"}]} and so on {',
        '{ broken {"salience": 0.5}',
    ],
)
def test_the_object_is_found_whatever_stands_round_it(text: str) -> None:
    assert parse(text, Scored).salience == 0.5


@check_rows(
    "text", ["", "no object", "{", '{"salience": "much"}', '{"salience": NaN}', "[" * 100_000, '{"a":' * 50_000, "[1]"]
)
def test_what_cannot_be_read_says_why(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse(text, Scored)


@pytest.mark.requirement("D6")
@given(st.text())
def test_no_text_raises_anything_but_the_declared_error(text: str) -> None:
    for whole in (text, '{"salience": ' + text, f"```json\n{text}```"):
        try:
            result: object = parse(whole, Scored)
        except ValueError as error:
            result = str(error)
        assert isinstance(result, Scored) or result


@given(st.floats(0, 1), st.lists(st.text(max_size=20), max_size=4), st.text(max_size=20), st.text(max_size=20))
def test_an_answer_survives_prose_and_fences(salience: float, quotes: list[str], before: str, after: str) -> None:
    answer = Scored(salience, [Quote(quote) for quote in quotes])
    wire = msgspec.json.encode(answer).decode()
    before = before.replace("{", "(").replace("`", "'")
    assert parse(f"{before}\n```json\n{wire}\n```\n{after}", Scored) == answer


@pytest.mark.requirement("R-113")
async def test_a_bad_answer_is_repaired_once_with_the_error_shown() -> None:
    model = ScriptedModel([["I would say very"], Scored(1.7)])
    assert await ask_structured(model, PROMPT, Scored, clamp=clamped) == Scored(1.0)
    first, second = model.prompts
    assert first.schema == schema_of(Scored)
    assert second.messages[:1] == first.messages
    assert second.messages[1] == ChatMessage("assistant", "I would say very")
    assert "no JSON object" in second.messages[2].text


@pytest.mark.requirement("R-113")
async def test_after_one_repair_it_gives_up_and_never_asks_twice_the_same() -> None:
    model = ScriptedModel(otherwise="no")
    with pytest.raises(ModelAnswerError) as caught:
        await ask_structured(model, PROMPT, Scored)
    assert len(model.prompts) == 2
    assert model.prompts[0].messages != model.prompts[1].messages
    assert caught.value.advice


async def test_an_answer_that_was_cut_off_is_asked_to_be_shorter() -> None:
    model = ScriptedModel([['{"salience"', ": 0.5, ", '"quotes": ['], Scored(0.1)])
    await ask_structured(model, Prompt(Role.CONSOLIDATION, PROMPT.messages, 2), Scored)
    assert "be shorter" in model.prompts[1].messages[-1].text


async def test_the_schema_that_is_passed_is_the_one_that_is_used() -> None:
    schema = {"type": "object", "properties": {"salience": {"enum": [0, 1]}}}
    model = ScriptedModel([Scored(1)])
    await ask_structured(model, PROMPT, Scored, schema)
    assert model.prompts[0].schema == schema


async def test_a_model_that_fails_is_not_asked_again() -> None:
    model = ScriptedModel([ModelUnavailableError("gone")])
    with pytest.raises(ModelUnavailableError):
        await ask_structured(model, PROMPT, Scored)
    assert len(model.prompts) == 1


@pytest.mark.requirement("R-113")
async def test_what_became_of_each_question_is_counted_for_its_model(database: Database) -> None:
    counts = AnswerCounts(database)
    model = ScriptedModel([Scored(0.5), "no", Scored(0.5), "no", "no", ModelUnavailableError("gone")])
    for _ in range(2):
        await ask_structured(model, PROMPT, Scored, recorder=counts)
    for error in (ModelAnswerError, ModelUnavailableError):
        with pytest.raises(error):
            await ask_structured(model, PROMPT, Scored, recorder=counts)
    assert await counts.counts() == [AnswerCount("scripted/model", valid=1, repaired=1, failed=1)]


def test_the_schema_has_no_references_and_requires_everything() -> None:
    schema = schema_of(Scored)
    assert "$" not in json.dumps(schema)
    assert schema == {
        "type": "object",
        "properties": {
            "salience": {"type": "number"},
            "quotes": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"quote": {"type": "string"}, "significance": {"type": "string"}},
                    "required": ["quote", "significance"],
                    "additionalProperties": False,
                },
            },
        },
        "required": ["salience", "quotes"],
        "additionalProperties": False,
    }


class Tree(msgspec.Struct):
    name: str
    branches: list["Tree"] = []


def test_a_type_that_holds_itself_has_a_finite_schema() -> None:
    assert "$ref" not in json.dumps(schema_of(Tree))
