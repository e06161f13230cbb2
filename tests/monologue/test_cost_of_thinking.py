"""The cost of thinking: it stops at the budget, and never thinks more often than its pace."""

import asyncio
import itertools

import pytest

from reveries.errors import BudgetExceededError, ModelUnavailableError
from reveries.monologue.thought import Reactivation, ThinkingReason
from tests.fakes.clock import HandClock
from tests.fakes.scripted import Script, ScriptedModel
from tests.monologue.kit import SETTINGS, THOUGHT, Kit


@pytest.mark.requirement("R-49", "G4")
async def test_quiet_it_asks_nothing_until_there_is_something_to_spend_and_then_goes_on_by_itself() -> None:
    clock = HandClock()
    refused = BudgetExceededError("The tokens are used up.", goes_on_after_seconds=6 * 3600)
    kit = Kit(ScriptedModel([refused], otherwise=THOUGHT), clock=clock)
    async with kit.living():
        await kit.clock.advance(6 * 3600 - 60)
        assert len(kit.model.prompts) == len(kit.sources.gathered) == 1
        assert kit.sources.thoughts == []
        await kit.clock.advance(120)
        assert kit.sources.thoughts[0].why_ended == "settled"


@pytest.mark.requirement("G4")
async def test_a_limit_that_is_raised_ends_the_quiet_at_once() -> None:
    kit = Kit(ScriptedModel([BudgetExceededError("No day has room for it.")], otherwise=THOUGHT))
    async with kit.living():
        await kit.clock.advance(30 * 86400)
        assert len(kit.model.prompts) == 1
        kit.configure(SETTINGS)
        await kit.clock.advance(60)
    assert kit.sources.thoughts


async def test_a_turn_off_the_record_does_not_end_the_wait_for_more_words() -> None:
    kit = Kit(ScriptedModel(otherwise=THOUGHT))
    async with kit.living():
        await kit.clock.advance(3600)
        kit.monologue.pause()
        kit.monologue.resume(Reactivation(ThinkingReason.CONVERSATION, "c1"), 600.0)
        before, kit.sources.has_something = len(kit.model.prompts), True
        kit.monologue.pause()
        kit.monologue.resume()
        await kit.clock.advance(300)
        assert len(kit.model.prompts) == before
        await kit.clock.advance(400)
        assert len(kit.model.prompts) > before


def _storm(kit: Kit, kind: str) -> None:
    match kind:
        case "conversation":
            kit.monologue.pause()
            kit.monologue.resume(Reactivation(ThinkingReason.CONVERSATION, "c1"))
        case "association":
            kit.sources.comes_up.set()
        case "settings":
            kit.configure(SETTINGS)
        case _:
            kit.monologue.resume()


@pytest.mark.requirement("G3")
@pytest.mark.parametrize(
    ("kind", "model"),
    [
        ("conversation", "answers"),
        ("conversation", "fails"),
        ("conversation", "is over the limit"),
        ("association", "answers"),
        ("settings", "is over the limit"),
        ("resume", "fails"),
    ],
)
async def test_ten_thousand_events_get_no_more_than_the_pace_and_one(kind: str, model: str) -> None:
    words = itertools.count()
    refused = BudgetExceededError("It is used up.", goes_on_after_seconds=86400)
    outcomes: dict[str, Script] = {
        "answers": lambda prompt: [f"A thought number {next(words)}.", " That is enough for now."],
        "fails": ModelUnavailableError("down"),
        "is over the limit": refused,
    }
    kit = Kit(ScriptedModel(otherwise=outcomes[model]))
    kit.sources.keeps_having_something = True
    kit.sources.surfacing = Reactivation(ThinkingReason.ASSOCIATION, "Anna", "e1")
    hour = 3600.0
    async with kit.living():
        for event in range(10_000):
            _storm(kit, kind)
            await asyncio.sleep(0)
            if not event % 10:
                await kit.clock.advance(hour / 1000)
    pace = hour / SETTINGS.idle_check_seconds
    assert 1 <= len(kit.model.prompts) <= pace + 1


@pytest.mark.requirement("G3")
async def test_three_thoughts_that_came_to_the_same_make_the_next_wait_longer_and_longer() -> None:
    kit = Kit(ScriptedModel(otherwise=THOUGHT))
    kit.sources.keeps_having_something = True
    async with kit.living():
        for _ in range(24 * 12):
            await kit.clock.advance(300)
    began = [thought.began_at for thought in kit.sources.thoughts]
    gaps = [later - earlier for earlier, later in itertools.pairwise(began)]
    assert gaps[:2] == [pytest.approx(300, abs=30)] * 2
    assert gaps[2:5] == [pytest.approx(600, abs=60), pytest.approx(1200, abs=60), pytest.approx(2400, abs=60)]
    assert len(began) < 15
