"""Occasions and requests are not lost by interruptions, and a pause works at every moment."""

import asyncio
from dataclasses import dataclass, field

import msgspec
import pytest

from reveries.errors import BudgetExceededError, ModelUnavailableError
from reveries.monologue.permission import ThinkingHold
from reveries.monologue.ports import SavedState
from reveries.monologue.thought import Reactivation, ThinkingReason
from tests.fakes.scripted import ScriptedModel
from tests.monologue.kit import ENDLESS, SETTINGS, THOUGHT, Kit, Sources

NUDGE = Reactivation(ThinkingReason.NUDGE, "the garden")
HELD = ThinkingHold("You paused it.", 1e9)
EVENT = Reactivation(ThinkingReason.CALENDAR, "Friday 16:00: dentist", is_tainted=True)


@dataclass
class WithCalendar(Sources):
    """Sources with a calendar event that the test triggers."""

    is_near: asyncio.Event = field(default_factory=asyncio.Event)

    async def calendar(self) -> Reactivation:
        await self.is_near.wait()
        self.is_near.clear()
        return EVENT


@pytest.mark.requirement("R-38")
async def test_a_pause_while_a_thought_is_made_ready_keeps_it_from_beginning() -> None:
    held: list[ThinkingHold | None] = [None]
    kit = Kit(ScriptedModel(otherwise=THOUGHT), held=lambda: held[0])
    kit.sources.gathering = asyncio.Event()
    async with kit.living():
        await kit.clock.advance(1)
        held[0] = HELD
        kit.monologue.halt()
        kit.sources.gathering.set()
        await kit.clock.advance(600)
    assert kit.model.prompts == []
    assert [one.explanation for one in kit.sources.thoughts] == ["You paused it."]


async def test_what_is_switched_off_while_a_thought_is_made_ready_says_so() -> None:
    kit = Kit(ScriptedModel(otherwise=THOUGHT))
    kit.sources.gathering = asyncio.Event()
    async with kit.living():
        await kit.clock.advance(1)
        kit.configure(msgspec.structs.replace(SETTINGS, enabled=False))
        kit.sources.gathering.set()
        await kit.clock.advance(60)
    assert [one.explanation for one in kit.sources.thoughts] == ["Thinking was switched off."]


@pytest.mark.parametrize("seconds", [0, 5])
async def test_the_owner_s_pause_ends_what_the_owner_asked_for_too(seconds: float) -> None:
    held: list[ThinkingHold | None] = [None]
    kit = Kit(ScriptedModel(otherwise=ENDLESS), held=lambda: held[0])
    kit.sources.has_something = False
    async with kit.living():
        await kit.clock.advance(1)
        kit.monologue.ask(NUDGE)
        kit.monologue.ask(Reactivation(ThinkingReason.STEP))
        await kit.clock.advance(seconds)
        held[0] = HELD
        kit.monologue.halt()
        await kit.clock.advance(3600)
        assert [one.why_ended for one in kit.sources.thoughts] == ["paused"]
        kit.monologue.ask(Reactivation(ThinkingReason.STEP))
        await kit.clock.advance(5)
        assert kit.monologue.state.value == "thinking"


@pytest.mark.requirement("R-38", "R-62")
@pytest.mark.parametrize("why", [NUDGE, EVENT])
async def test_what_a_conversation_came_before_is_thought_about_when_that_rests(why: Reactivation) -> None:
    kit = Kit(ScriptedModel(otherwise=THOUGHT), sources=WithCalendar(has_something=False))
    async with kit.living():
        await kit.clock.advance(1)
        kit.sources.gathering = asyncio.Event()
        assert isinstance(kit.sources, WithCalendar)
        kit.sources.is_near.set() if why is EVENT else kit.monologue.ask(why)
        await kit.clock.advance(1)
        kit.monologue.pause()
        kit.sources.gathering.set()
        await kit.clock.advance(60)
        assert kit.model.prompts == []
        kit.monologue.resume()
        await kit.clock.advance(600)
    assert [one.occasion for one in kit.sources.thoughts if one.text] == [why.detail]


@pytest.mark.requirement("R-40", "G4")
@pytest.mark.parametrize(
    "error",
    [
        BudgetExceededError("Today's tokens are used up.", goes_on_after_seconds=3600),
        ModelUnavailableError("Nobody answers.", retry_after_seconds=60),
    ],
)
async def test_a_nudge_that_could_not_be_thought_about_waits_until_it_can(error: Exception) -> None:
    kit = Kit(ScriptedModel([error], otherwise=THOUGHT))
    kit.sources.has_something = False
    async with kit.living():
        await kit.clock.advance(1)
        kit.monologue.ask(NUDGE)
        await kit.clock.advance(4000)
    assert [one.why_began for one in kit.sources.thoughts if one.text] == ["nudge"]


async def test_a_nudge_that_no_model_can_answer_is_given_up_at_last() -> None:
    error = ModelUnavailableError("It refuses.", retry_after_seconds=60)
    kit = Kit(ScriptedModel([error] * 100, otherwise=THOUGHT))
    kit.sources.has_something = False
    async with kit.living():
        await kit.clock.advance(1)
        kit.monologue.ask(NUDGE)
        await kit.clock.advance(7200)
    assert 2 <= len(kit.model.prompts) <= 8


async def test_what_is_too_much_to_think_about_is_refused_and_nothing_falls_out() -> None:
    kit = Kit(ScriptedModel(otherwise=THOUGHT))
    kit.sources.has_something = False
    async with kit.living():
        kit.monologue.pause()
        taken = [kit.monologue.ask(Reactivation(ThinkingReason.NUDGE, f"thing {number}")) for number in range(20)]
        assert taken == [True] * 8 + [False] * 12
        kit.monologue.resume()
        await kit.clock.advance(600)
    assert [one.occasion for one in kit.sources.thoughts] == [f"thing {number}" for number in range(8)]


@pytest.mark.requirement("R-57", "R-58")
async def test_what_is_settled_rests_for_hours_but_not_from_a_conversation() -> None:
    kit = Kit(ScriptedModel(otherwise=THOUGHT))
    kit.sources.keeps_having_something = True
    async with kit.living():
        await kit.clock.advance(86400)
        before = len(kit.sources.thoughts)
        kit.monologue.pause()
        kit.monologue.resume(Reactivation(ThinkingReason.CONVERSATION, "c1"))
        await kit.clock.advance(SETTINGS.idle_check_seconds + 60)
    assert [one.why_began for one in kit.sources.thoughts[before:]][:1] == ["conversation"]


@pytest.mark.requirement("R-57", "R-60")
async def test_what_is_settled_rests_for_hours_but_not_from_the_calendar() -> None:
    kit = Kit(ScriptedModel(otherwise=THOUGHT), sources=WithCalendar(keeps_having_something=True))
    assert isinstance(kit.sources, WithCalendar)
    async with kit.living():
        await kit.clock.advance(86400)
        before = len(kit.sources.thoughts)
        kit.sources.is_near.set()
        await kit.clock.advance(60)
    assert [one.why_began for one in kit.sources.thoughts[before:]] == ["calendar"]


async def test_a_thought_of_the_last_life_that_is_dropped_leads_no_later_one() -> None:
    kit = Kit(ScriptedModel(otherwise=THOUGHT))
    kit.sources.saved = SavedState("I plan to sell the house.", True, False, "t1")
    kit.sources.has_something = False
    async with kit.living():
        await kit.clock.advance(1)
        kit.monologue.cycle.forget("t1")
        kit.monologue.ask(Reactivation(ThinkingReason.STEP))
        await kit.clock.advance(60)
    assert [previous for _, previous, _ in kit.sources.gathered] == [""]
