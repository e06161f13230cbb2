"""What hidden reasoning costs: reserved before a call, counted after it, and no answer of its own."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field, replace

import pytest

from reveries.config import load_settings
from reveries.db.database import Database
from reveries.errors import BudgetExceededError, ModelAnswerError
from reveries.llm.base import ChatMessage, Delta, Finished, FinishReason, Prompt, Role, StreamEvent, Usage
from reveries.llm.budget import Ledger
from reveries.llm.caps import Span
from reveries.llm.hosted_request import CallForm, request_arguments
from reveries.llm.metered import MeteredModel
from reveries.llm.provider_rules import find_rules
from reveries.llm.schema_refusals import COUNTS_SECONDS, open_schema_refusals
from reveries.llm.tokens import estimate_tokens
from tests.fakes.clock import HandClock
from tests.llm.contract import play

BUDGET = load_settings(None).budget
NOON = 1_700_000_000.0


@dataclass
class Reasoner:
    """A hosted model that reasons before it says `words`, if it comes to that."""

    words: Sequence[str] = ("Pears.",)
    name: str = "openai/gpt-5-mini"
    context_tokens: int = 16384
    tells_probabilities: bool = False
    asked: list[Prompt] = field(default_factory=list)

    async def stream(self, prompt: Prompt) -> AsyncGenerator[StreamEvent, None]:
        self.asked.append(prompt)
        for word in self.words:
            yield Delta(word)
        yield Finished(FinishReason.LENGTH, Usage(20, 900 + len(self.words), 0, 900), has_reasoned=True)

    async def count_tokens(self, text: str) -> int:
        return estimate_tokens(text)

    async def read_ahead(self, messages: Sequence[ChatMessage], role: Role) -> None: ...

    async def aclose(self) -> None: ...


def _prompt() -> Prompt:
    return Prompt(Role.WORK, (ChatMessage("user", "Which fruit?"),), 60)


def _metered(model: Reasoner, database: Database, clock: HandClock, allowance: int) -> tuple[MeteredModel, Ledger]:
    ledger = Ledger(database, clock, lambda: BUDGET)
    return MeteredModel(model, ledger, find_reasoning_tokens=lambda _: allowance), ledger


@pytest.fixture
def clock() -> HandClock:
    return HandClock(NOON)


@pytest.mark.requirement("G1")
async def test_the_worst_case_of_a_call_holds_the_reasoning_that_it_may_do(
    database: Database, clock: HandClock
) -> None:
    model = Reasoner()
    metered, _ = _metered(model, database, clock, BUDGET.work.tokens_per_day)
    with pytest.raises(BudgetExceededError, match="work"):
        await play(metered, _prompt())
    assert model.asked == []


async def test_a_call_may_use_no_more_for_reasoning_than_was_reserved_for_it(
    database: Database, clock: HandClock
) -> None:
    """Another call may show meanwhile that the model reasons."""
    expected, model = iter([0, 8192, 8192]), Reasoner()
    ledger = Ledger(database, clock, lambda: BUDGET)
    await play(MeteredModel(model, ledger, find_reasoning_tokens=lambda _: next(expected)), _prompt())
    [sent] = model.asked
    form = CallForm(find_rules("openai/a-new-model", ""), has_reasoned=True)
    assert request_arguments(_prompt(), form)["max_tokens"] == 60 + 8192
    held = replace(form, reserved_tokens=sent.reasoning_tokens)
    assert request_arguments(sent, held)["max_tokens"] == 60


async def test_hidden_reasoning_is_counted_apart(database: Database, clock: HandClock) -> None:
    metered, ledger = _metered(Reasoner(), database, clock, 2048)
    await play(metered, _prompt())
    [used] = await ledger.usage_since(Span.DAY)
    assert (used.completion_tokens, used.reasoning_tokens, used.worst_case_calls) == (901, 900, 0)


async def test_an_answer_that_was_all_reasoning_says_so_and_costs_what_was_used(
    database: Database, clock: HandClock
) -> None:
    metered, ledger = _metered(Reasoner(words=()), database, clock, 2048)
    with pytest.raises(ModelAnswerError, match="used all 900 tokens for reasoning") as caught:
        await play(metered, _prompt())
    assert "llm.work_reasoning_effort" in caught.value.advice
    [used] = await ledger.usage_since(Span.DAY)
    assert (used.completion_tokens, used.worst_case_calls) == (900, 0)


async def test_a_refused_form_is_remembered_for_a_month_over_restarts(database: Database, clock: HandClock) -> None:
    await (await open_schema_refusals(database, clock)).note("openai/m")
    later = await open_schema_refusals(database, clock)
    assert (later.has("openai/m"), later.has("openai/other")) == (True, False)
    clock.step_wall(COUNTS_SECONDS + 1)
    assert not later.has("openai/m")
