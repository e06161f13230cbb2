import contextlib
from random import Random

import pytest

from reveries.db.database import Database
from reveries.errors import BudgetExceededError, ModelFault, ModelMissingError, ModelUnavailableError
from reveries.llm.base import ChatMessage, Finished, Prompt, Role
from reveries.llm.circuit import OPEN_AFTER_FAILURES, PROBE_SECONDS
from reveries.llm.circuits import Circuits, open_circuits
from reveries.llm.role_model import CONVERSATION_TRIES, ModelCandidate, RoleModel
from tests.fakes.clock import HandClock
from tests.fakes.scripted import ScriptedModel
from tests.llm.contract import a_prompt, play

DOWN = ModelUnavailableError("It does not answer.", fault=ModelFault.OVERLOADED)


@pytest.fixture
async def circuits(database: Database, clock: HandClock) -> Circuits:
    return await open_circuits(database, clock, Random(7))


def _model(circuits: Circuits, clock: HandClock, *models: ScriptedModel) -> RoleModel:
    return RoleModel([ModelCandidate(model.name, model) for model in models], circuits, clock)


async def _ask(model: RoleModel, clock: HandClock, role: Role = Role.CONVERSATION) -> str:
    """Return the whole answer; the clock advances by the time that the call waits."""
    try:
        return (await clock.drive(play(model, a_prompt(role=role))))[0]
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None


@pytest.mark.requirement("D3", "R-94")
async def test_the_owner_s_turn_is_tried_three_times_and_no_more(circuits: Circuits, clock: HandClock) -> None:
    model = ScriptedModel(otherwise=DOWN)
    with pytest.raises(ModelUnavailableError):
        await _ask(_model(circuits, clock, model), clock)
    assert len(model.prompts) == CONVERSATION_TRIES


@pytest.mark.requirement("D3")
async def test_a_turn_that_works_at_the_second_try_is_an_answer(circuits: Circuits, clock: HandClock) -> None:
    model = ScriptedModel([DOWN, "Here I am."])
    assert await _ask(_model(circuits, clock, model), clock) == "Here I am."
    assert circuits.problems() == []


@pytest.mark.requirement("D1")
async def test_who_leaves_at_the_end_mark_has_had_an_answer_all_the_same(circuits: Circuits, clock: HandClock) -> None:
    model = _model(circuits, clock, ScriptedModel([DOWN, "Here I am."], name="a"))
    with pytest.raises(ModelUnavailableError):
        await _ask(model, clock, Role.MONOLOGUE)
    async with contextlib.aclosing(model.stream(a_prompt())) as events:
        async for event in events:
            if isinstance(event, Finished):
                break
    assert circuits.get("a").is_healthy


@pytest.mark.requirement("D3")
@pytest.mark.parametrize("fault", [ModelFault.KEY_REFUSED, ModelFault.BAD_REQUEST, ModelFault.TIMED_OUT])
async def test_what_asking_again_cannot_mend_is_asked_once(
    circuits: Circuits, clock: HandClock, fault: ModelFault
) -> None:
    model = ScriptedModel(otherwise=ModelUnavailableError("No.", fault=fault))
    with pytest.raises(ModelUnavailableError):
        await _ask(_model(circuits, clock, model), clock)
    assert len(model.prompts) == 1


@pytest.mark.requirement("D3")
async def test_a_thought_is_tried_once_and_told_when_to_come_again(circuits: Circuits, clock: HandClock) -> None:
    model = ScriptedModel(otherwise=DOWN)
    role_model = _model(circuits, clock, model)
    for _ in range(3):
        with pytest.raises(ModelUnavailableError) as failed:
            await _ask(role_model, clock, Role.MONOLOGUE)
        assert failed.value.retry_after_seconds is not None
    assert len(model.prompts) == 1, "the second and the third came too early and were not asked"


@pytest.mark.requirement("D2")
async def test_a_reply_that_has_begun_is_never_begun_again(circuits: Circuits, clock: HandClock) -> None:
    model = ScriptedModel([["Once upon", DOWN]], otherwise="Another beginning.")
    fallback = ScriptedModel(otherwise="A third.", name="scripted/other")
    with pytest.raises(ModelUnavailableError):
        await _ask(_model(circuits, clock, model, fallback), clock)
    assert len(model.prompts) == 1
    assert not fallback.prompts


@pytest.mark.requirement("D1")
@pytest.mark.parametrize(
    "error",
    [DOWN, ModelMissingError("There is no such model."), BudgetExceededError("The day's money is used up.")],
    ids=["down", "missing", "budget"],
)
async def test_the_next_of_the_list_answers_when_the_first_cannot(
    circuits: Circuits, clock: HandClock, error: Exception
) -> None:
    first = ScriptedModel(otherwise=error, name="openai/first")
    second = ScriptedModel(otherwise="From the second.", name="embedded/second")
    model = _model(circuits, clock, first, second)
    assert await _ask(model, clock) == "From the second."
    assert model.name == "embedded/second"


async def test_the_first_error_is_told_when_none_answers(circuits: Circuits, clock: HandClock) -> None:
    first = ScriptedModel(
        otherwise=ModelUnavailableError("The first is ill.", fault=ModelFault.KEY_REFUSED), name="a/1"
    )
    second = ScriptedModel(otherwise=ModelUnavailableError("The second too."), name="b/2")
    with pytest.raises(ModelUnavailableError, match="The first is ill"):
        await _ask(_model(circuits, clock, first, second), clock)


@pytest.mark.requirement("D1")
async def test_the_first_is_used_again_as_soon_as_it_is_well(circuits: Circuits, clock: HandClock) -> None:
    first = ScriptedModel([DOWN] * CONVERSATION_TRIES, otherwise="The first again.", name="openai/first")
    second = ScriptedModel(otherwise="From the second.", name="embedded/second")
    model = _model(circuits, clock, first, second)
    assert await _ask(model, clock) == "From the second."
    assert await _ask(model, clock) == "The first again."
    assert model.name == "openai/first"


@pytest.mark.requirement("D1", "D3")
async def test_an_open_circuit_costs_the_owner_one_try_at_most_every_few_seconds(
    circuits: Circuits, clock: HandClock
) -> None:
    first = ScriptedModel(otherwise=DOWN, name="openai/first")
    model = _model(circuits, clock, first)
    for _ in range(OPEN_AFTER_FAILURES):
        with pytest.raises(ModelUnavailableError):
            await _ask(model, clock)
    asked = len(first.prompts)
    with pytest.raises(ModelUnavailableError):
        await _ask(model, clock)
    assert len(first.prompts) == asked
    await clock.advance(PROBE_SECONDS)
    first.add("Well again.")
    assert await _ask(model, clock) == "Well again."
    assert circuits.problems() == []


@pytest.mark.requirement("D3")
async def test_a_short_pause_that_was_asked_for_is_waited_for(circuits: Circuits, clock: HandClock) -> None:
    pause = ModelUnavailableError("429", fault=ModelFault.RATE_LIMITED, retry_after_seconds=3.0)
    model = ScriptedModel([pause, "Thank you for waiting."])
    began = clock.monotonic()
    assert await _ask(_model(circuits, clock, model), clock) == "Thank you for waiting."
    assert 3.0 <= clock.monotonic() - began <= 4.0


@pytest.mark.requirement("D3")
async def test_a_long_pause_is_told_and_not_waited_for(circuits: Circuits, clock: HandClock) -> None:
    pause = ModelUnavailableError("429", fault=ModelFault.RATE_LIMITED, retry_after_seconds=90.0)
    model = ScriptedModel([pause], otherwise="Too early.")
    role_model = _model(circuits, clock, model)
    for _ in range(3):
        with pytest.raises(ModelUnavailableError) as told:
            await _ask(role_model, clock)
        assert told.value.retry_after_seconds is not None
        assert told.value.retry_after_seconds > 80
    assert len(model.prompts) == 1


async def test_a_prompt_that_is_too_long_for_the_next_loses_its_oldest_turns(
    circuits: Circuits, clock: HandClock
) -> None:
    first = ScriptedModel(otherwise=ModelMissingError("Gone."), context_tokens=16384, name="openai/first")
    second = ScriptedModel(otherwise="Yes.", context_tokens=512, name="embedded/second")
    turns = [ChatMessage("user" if n % 2 == 0 else "assistant", f"turn {n} " * 40) for n in range(20)]
    prompt = Prompt(
        Role.CONVERSATION, (ChatMessage("system", "Rules."), *turns, ChatMessage("user", "The question.")), 100
    )
    assert (await play(_model(circuits, clock, first, second), prompt))[0] == "Yes."
    sent = second.prompts[0].messages
    assert sent[0].text == "Rules."
    assert sent[-1].text == "The question."
    assert sum([await second.count_tokens(message.text) for message in sent]) <= 512 - 100
    assert len(sent) % 2 == 0, "what is left begins with a word of the user"
