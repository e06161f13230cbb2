"""Thinking between conversations: when it begins, how it ends, and that it never spins."""

import asyncio
from contextlib import aclosing

import msgspec
import pytest

from reveries.config import load_settings
from reveries.errors import BudgetExceededError, ModelUnavailableError
from reveries.llm.base import ChatMessage
from reveries.monologue.cool_down import RemainingCoolDown, remaining_cool_down_seconds
from reveries.monologue.observers import ThoughtEnd, ThoughtPiece
from reveries.monologue.ports import SavedState, ThoughtState
from reveries.monologue.thought import Reactivation, ThinkingReason
from reveries.safety.breaker import Breaker
from reveries.safety.verdict import CONTINUE, Action, Severity, TripReason, Verdict
from tests.fakes.clock import HandClock
from tests.fakes.scripted import Pause, Script, ScriptedModel
from tests.monologue.kit import ENDLESS, SETTINGS, THOUGHT, Kit, Sources, Watch


@pytest.mark.requirement("R-30", "R-31", "R-41", "R-51")
async def test_a_thought_is_generated_settles_and_is_recorded_with_both_reasons() -> None:
    kit = Kit(ScriptedModel([THOUGHT]))
    async with kit.living():
        await kit.clock.advance(60)
        (thought,) = kit.sources.thoughts
        assert thought.text == "Anna moved to Oslo. They will miss her. That is enough for now."
        assert (thought.why_began, thought.why_ended) == ("waking", "settled")
        assert kit.monologue.state is ThoughtState.SETTLED


@pytest.mark.requirement("R-46", "RA-9", "G2")
async def test_with_nothing_to_process_a_day_passes_without_one_call() -> None:
    kit = Kit(ScriptedModel())
    kit.sources.has_something = False
    async with kit.living():
        for _ in range(24 * 12):
            await kit.clock.advance(300)
    assert kit.model.prompts == []


@pytest.mark.requirement("R-36", "R-49")
async def test_thought_comes_through_at_the_target_velocity() -> None:
    kit = Kit(ScriptedModel([ENDLESS]))
    async with kit.living(), aclosing(kit.monologue.cycle.observers.watch()) as events:
        await anext(events)
        await kit.clock.advance(20)
        assert kit.sources.thoughts == []
        shown = len(kit.monologue.cycle.recent_thought().split())
        assert shown == pytest.approx(20 * SETTINGS.target_tokens_per_second, abs=2)


@pytest.mark.requirement("R-37", "R-43")
async def test_a_thought_that_reaches_its_cap_ends_and_is_kept() -> None:
    kit = Kit(ScriptedModel([ENDLESS]), settings=msgspec.structs.replace(SETTINGS, max_tokens_per_cycle=30))
    async with kit.living():
        await kit.clock.advance(30)
    (thought,) = kit.sources.thoughts
    assert (thought.why_ended, thought.tokens) == ("capped", 30)


@pytest.mark.requirement("R-37")
async def test_slices_continue_one_thought_where_the_last_one_stopped() -> None:
    kit = Kit(
        ScriptedModel(["one two three four five", "six seven", ""]),
        settings=msgspec.structs.replace(SETTINGS, max_tokens_per_cycle=100),
        slice_tokens=4,
    )
    async with kit.living():
        await kit.clock.advance(30)
    assert kit.model.prompts[1].messages[:2] == kit.model.prompts[0].messages
    assert kit.model.prompts[1].messages[2] == ChatMessage("assistant", "one two three four")
    assert kit.sources.thoughts[0].text == "one two three foursix seven"


@pytest.mark.requirement("R-38", "R-43")
@pytest.mark.parametrize("seconds", [0, 0.1, 1, 3, 10])
async def test_a_pause_at_any_moment_stops_at_once_and_keeps_what_was_thought(seconds: float) -> None:
    kit = Kit(ScriptedModel([ENDLESS]))
    async with kit.living():
        await kit.clock.advance(seconds)
        kit.monologue.pause()
        await kit.clock.advance(0)
        assert kit.monologue.state is ThoughtState.PAUSED
        assert kit.model.stopped == len(kit.model.prompts)
        (thought,) = kit.sources.thoughts
        assert thought.why_ended == "paused"
        assert thought.is_partial
        await kit.clock.advance(3600)
        assert len(kit.sources.thoughts) == 1


@pytest.mark.requirement("R-36", "R-38")
@pytest.mark.parametrize("arrived", [True, False])
async def test_a_thought_that_was_paid_for_and_arrived_is_kept_whole_though_its_display_is_interrupted(
    arrived: bool,
) -> None:
    words = [f"This is word number {number}. " for number in range(40)]
    kit = Kit(ScriptedModel([words if arrived else [*words, Pause(60), "More."]]), slice_tokens=None)
    async with kit.living():
        await kit.clock.advance(3)
        kit.monologue.pause()
        await kit.clock.advance(0)
    (thought,) = kit.sources.thoughts
    assert thought.text == "".join(words)
    assert thought.why_ended == ("finished" if arrived else "paused")


@pytest.mark.requirement("R-95")
async def test_while_more_words_may_come_it_does_not_think_of_the_conversation_as_ended() -> None:
    kit = Kit(ScriptedModel(otherwise=THOUGHT))
    kit.sources.has_something = False
    async with kit.living():
        kit.monologue.pause()
        kit.sources.has_something = True
        kit.monologue.resume(Reactivation(ThinkingReason.CONVERSATION, "c1"), 600)
        await kit.clock.advance(590)
        assert not kit.sources.thoughts
        kit.monologue.pause()
        kit.monologue.resume(Reactivation(ThinkingReason.CONVERSATION, "c1"), 600)
        await kit.clock.advance(590)
        assert not kit.sources.thoughts
        await kit.clock.advance(60)
    assert [thought.why_began for thought in kit.sources.thoughts] == ["conversation"]


@pytest.mark.requirement("R-38", "R-95")
async def test_after_a_conversation_it_thinks_about_the_conversation() -> None:
    kit = Kit(ScriptedModel([THOUGHT, THOUGHT]))
    kit.sources.has_something = False
    async with kit.living():
        kit.monologue.pause()
        await kit.clock.advance(10)
        kit.sources.has_something = True
        kit.monologue.resume(Reactivation(ThinkingReason.CONVERSATION, "c1"))
        await kit.clock.advance(60)
    assert [thought.why_began for thought in kit.sources.thoughts] == ["conversation"]


@pytest.mark.requirement("R-38")
async def test_pausing_twice_and_resuming_once_is_resumed() -> None:
    kit = Kit(ScriptedModel([THOUGHT]))
    async with kit.living():
        kit.monologue.pause()
        kit.monologue.pause()
        await kit.clock.advance(1)
        kit.monologue.resume()
        await kit.clock.advance(60)
    assert kit.sources.thoughts


@pytest.mark.requirement("R-38", "R-43")
async def test_a_pause_while_the_inputs_are_gathered_asks_no_model() -> None:
    kit = Kit(ScriptedModel([THOUGHT]))
    kit.sources.gathering = asyncio.Event()
    async with kit.living():
        kit.monologue.pause()
        kit.sources.gathering.set()
        await kit.clock.advance(60)
        assert kit.monologue.state is ThoughtState.PAUSED
    assert kit.model.prompts == []


@pytest.mark.requirement("R-38", "R-41")
async def test_a_pause_while_a_thought_is_recorded_lets_it_be_recorded() -> None:
    kit = Kit(ScriptedModel([THOUGHT]))
    kit.sources.recording = asyncio.Event()
    async with kit.living():
        await kit.clock.advance(60)
        assert kit.sources.thoughts == []
        kit.monologue.pause()
        kit.sources.recording.set()
        await kit.clock.advance(0)
        assert kit.monologue.state is ThoughtState.PAUSED
    assert [thought.why_ended for thought in kit.sources.thoughts] == ["settled"]


@pytest.mark.requirement("R-38", "R-43")
async def test_a_thought_that_settled_in_the_moment_of_the_pause_has_settled() -> None:
    def pausing(piece: str) -> Verdict:
        if "now." in piece:
            kit.monologue.pause()
        return CONTINUE

    kit = Kit(ScriptedModel([THOUGHT]), watch=Watch(pausing))
    async with kit.living():
        await kit.clock.advance(60)
        assert kit.monologue.state is ThoughtState.PAUSED
    assert [thought.why_ended for thought in kit.sources.thoughts] == ["settled"]


@pytest.mark.requirement("R-38")
async def test_a_thought_that_was_cut_short_is_taken_up_again_once() -> None:
    kit = Kit(ScriptedModel([ENDLESS, THOUGHT, THOUGHT]))
    async with kit.living():
        await kit.clock.advance(3)
        kit.monologue.pause()
        await kit.clock.advance(1)
        kit.monologue.resume()
        for _ in range(20):
            await kit.clock.advance(60)
    assert [thought.why_ended for thought in kit.sources.thoughts] == ["paused", "settled"]
    assert kit.sources.gathered[1][1] == kit.sources.thoughts[0].text


@pytest.mark.requirement("R-61")
async def test_a_memory_that_comes_up_wakes_the_thinking() -> None:
    kit = Kit(ScriptedModel([THOUGHT]))
    kit.sources.has_something = False
    kit.sources.surfacing = Reactivation(ThinkingReason.ASSOCIATION, "the lichens", "ep")
    async with kit.living():
        await kit.clock.advance(1)
        kit.sources.comes_up.set()
        await kit.clock.advance(60)
    assert [thought.why_began for thought in kit.sources.thoughts] == ["association"]


@pytest.mark.requirement("R-35")
async def test_switched_off_it_never_thinks_and_switched_on_it_does() -> None:
    kit = Kit(ScriptedModel([THOUGHT]), settings=msgspec.structs.replace(SETTINGS, enabled=False))
    async with kit.living():
        await kit.clock.advance(3600)
        assert kit.model.prompts == []
        assert kit.monologue.state is ThoughtState.OFF
        kit.configure(SETTINGS)
        await kit.clock.advance(60)
        assert len(kit.sources.thoughts) == 1


async def test_a_shorter_wait_between_two_thoughts_applies_to_the_wait_in_hand() -> None:
    slow = msgspec.structs.replace(SETTINGS, idle_check_seconds=36_000.0)
    kit = Kit(ScriptedModel(otherwise=THOUGHT), settings=slow)
    kit.sources.keeps_having_something = True
    async with kit.living():
        await kit.clock.advance(60)
        assert len(kit.sources.thoughts) == 1
        kit.configure(SETTINGS)
        await kit.clock.advance(SETTINGS.idle_check_seconds + 60)
        assert len(kit.sources.thoughts) == 2


@pytest.mark.requirement("R-35")
async def test_switching_it_off_ends_the_running_thought_and_says_so() -> None:
    kit = Kit(ScriptedModel([ENDLESS]))
    async with kit.living():
        await kit.clock.advance(3)
        kit.configure(msgspec.structs.replace(SETTINGS, enabled=False))
        await kit.clock.advance(0)
        assert kit.monologue.state is ThoughtState.OFF
    (thought,) = kit.sources.thoughts
    assert thought.explanation == "Thinking was switched off."


@pytest.mark.requirement("R-40", "D5")
async def test_a_model_that_fails_for_weeks_is_still_asked_every_quarter_of_an_hour() -> None:
    kit = Kit(ScriptedModel(otherwise=ModelUnavailableError("It does not answer.")))
    kit.sources.keeps_having_something = True
    async with kit.living():
        for _ in range(1200):
            await kit.clock.advance(900)
        asked = len(kit.model.prompts)
        await kit.clock.advance(900)
        assert len(kit.model.prompts) > asked
    assert asked >= 1200


@pytest.mark.requirement("R-52", "RA-8")
async def test_waiting_for_the_next_slice_is_not_slowing_down() -> None:
    clock = HandClock()
    slices: list[Script] = [[Pause(60), "They ", "went ", f"to place {n}.", " And", " then"] for n in range(8)]
    kit = Kit(ScriptedModel([*slices, ""], clock=clock), clock=clock, slice_tokens=4)
    async with kit.living():
        await clock.advance(600)
    assert [thought.why_ended for thought in kit.sources.thoughts] == ["finished"]


@pytest.mark.requirement("R-37")
async def test_a_thought_ends_before_the_model_s_context_does() -> None:
    kit = Kit(ScriptedModel([ENDLESS], context_tokens=1024))
    async with kit.living():
        await kit.clock.advance(600)
    (thought,) = kit.sources.thoughts
    assert thought.why_ended == "capped"
    read = sum([await kit.model.count_tokens(message.text) for message in kit.model.prompts[0].messages])
    assert 256 < thought.tokens <= 1024 - read


@pytest.mark.requirement("R-40", "D3", "D5")
async def test_a_model_that_fails_is_asked_again_when_it_said_and_not_before() -> None:
    kit = Kit(ScriptedModel(otherwise=ModelUnavailableError("It does not answer.", retry_after_seconds=100)))
    kit.sources.keeps_having_something = True
    async with kit.living():
        await kit.clock.advance(1)
        for times in range(1, 5):
            assert len(kit.model.prompts) == times
            await kit.clock.advance(98)
            assert len(kit.model.prompts) == times
            await kit.clock.advance(2)
    assert kit.monologue.state is ThoughtState.FAILING


@pytest.mark.requirement("R-40", "D3")
async def test_a_model_that_is_well_again_ends_the_waiting() -> None:
    kit = Kit(ScriptedModel([ModelUnavailableError("No.", retry_after_seconds=float("inf"))], otherwise=THOUGHT))
    kit.sources.keeps_having_something = True
    async with kit.living():
        await kit.clock.advance(3600)
        assert len(kit.model.prompts) == 1
        # The model works again in a conversation, while thinking is paused.
        kit.monologue.pause()
        await kit.clock.advance(1)
        kit.monologue.try_again()
        kit.monologue.resume()
        await kit.clock.advance(1)
        assert len(kit.model.prompts) == 2


@pytest.mark.requirement("R-47", "G4")
async def test_out_of_budget_it_is_quiet_and_says_so() -> None:
    kit = Kit(ScriptedModel([BudgetExceededError("Today's tokens for thinking are used up.")], otherwise=THOUGHT))
    async with kit.living():
        await kit.clock.advance(60)
        assert kit.monologue.state is ThoughtState.QUIET
        assert "used up" in kit.monologue.state_detail


@pytest.mark.requirement("R-57", "G3")
async def test_an_occasion_that_comes_before_the_pace_allows_it_is_thought_about_when_it_does() -> None:
    kit = Kit(ScriptedModel([THOUGHT], otherwise="And another thing came of it."))
    async with kit.living():
        await kit.clock.advance(60)
        kit.monologue.resume(Reactivation(ThinkingReason.CALENDAR, "Anna's birthday"))
        await kit.clock.advance(60)
        assert len(kit.sources.thoughts) == 1
        await kit.clock.advance(SETTINGS.idle_check_seconds)
    assert [thought.why_began for thought in kit.sources.thoughts] == ["waking", "calendar"]


@pytest.mark.requirement("R-39")
async def test_an_observer_sees_the_thought_and_its_end() -> None:
    kit = Kit(ScriptedModel([THOUGHT]))
    events: list[object] = []

    async def watch() -> None:
        async with aclosing(kit.monologue.cycle.observers.watch()) as stream:
            async for event in stream:
                events.append(event)
                if isinstance(event, ThoughtEnd):
                    return

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(watch())
        async with kit.living():
            await kit.clock.advance(60)
    text = "".join(event.text for event in events if isinstance(event, ThoughtPiece))
    assert text == kit.sources.thoughts[0].text


@pytest.mark.requirement("R-56", "R-151", "R-172")
async def test_the_last_buffer_survives_a_restart_as_the_previous_thought() -> None:
    first = Kit(ScriptedModel([THOUGHT]))
    async with first.living():
        await first.clock.advance(60)
    assert first.sources.states[-1].is_quiescent
    second = Kit(ScriptedModel([THOUGHT]), sources=Sources(saved=first.sources.states[-1]))
    async with second.living():
        await second.clock.advance(1)
    assert "They will miss her." in second.sources.gathered[0][1]


@pytest.mark.requirement("R-9", "R-56", "R-172")
@pytest.mark.parametrize("has_text", [True, False])
async def test_a_thought_that_the_last_sleep_cut_short_is_taken_up_after_waking(has_text: bool) -> None:
    cut = SavedState("Anna moved to Oslo, and", is_quiescent=not has_text)
    kit = Kit(ScriptedModel([THOUGHT, THOUGHT]), sources=Sources(saved=cut, has_something=False))
    async with kit.living():
        for _ in range(20):
            await kit.clock.advance(60)
    assert len(kit.sources.thoughts) == has_text
    assert all(previous == cut.last_buffer for _, previous, _ in kit.sources.gathered)


@pytest.mark.requirement("R-90")
async def test_what_it_was_just_thinking_is_told_while_it_is_fresh() -> None:
    kit = Kit(ScriptedModel([THOUGHT]))
    async with kit.living():
        await kit.clock.advance(1)
        assert "Anna" in kit.monologue.cycle.recent_thought()
        await kit.clock.advance(60)
        assert "Anna" in kit.monologue.cycle.recent_thought()
        await kit.clock.advance(3600)
        assert kit.monologue.cycle.recent_thought() == ""


def _tripping_once(action: Action) -> Watch:
    told = {"tripped": False}

    def decide(piece: str) -> Verdict:
        if told["tripped"] or "Oslo" not in piece:
            return CONTINUE
        told["tripped"] = True
        return Verdict(action, TripReason.LOOP_DETECTED, Severity.MEDIUM, "It went round in circles.")

    return Watch(decide)


@pytest.mark.requirement("R-136")
async def test_an_interrupt_ends_the_thought_keeps_it_and_rests() -> None:
    kit = Kit(ScriptedModel([THOUGHT, THOUGHT]), watch=_tripping_once(Action.INTERRUPT))
    async with kit.living():
        await kit.clock.advance(20)
        assert kit.monologue.state is ThoughtState.TRIPPED
    (thought,) = kit.sources.thoughts
    assert (thought.text, thought.why_ended) == ("Anna moved to Oslo.", "tripped")
    assert kit.sources.trips[0][1] == "Anna moved to Oslo."


@pytest.mark.requirement("R-136", "R-138")
async def test_comfort_ends_the_thought_and_begins_gently_with_something_calming() -> None:
    kit = Kit(ScriptedModel([THOUGHT, THOUGHT]), watch=_tripping_once(Action.INTERRUPT_AND_COMFORT))
    async with kit.living():
        await kit.clock.advance(20)
        assert len(kit.sources.gathered) == 1
        await kit.clock.advance(60)
    assert [comfort for _, _, comfort in kit.sources.gathered] == [False, True]
    assert "All is well stored." in kit.model.prompts[1].messages[-1].text


@pytest.mark.requirement("R-136")
async def test_a_reset_saves_what_was_and_begins_with_a_fresh_context() -> None:
    kit = Kit(ScriptedModel([THOUGHT, THOUGHT]), watch=_tripping_once(Action.SNAPSHOT_AND_RESET))
    async with kit.living():
        await kit.clock.advance(90)
    assert kit.sources.trips[0][1] == "Anna moved to Oslo."
    assert kit.sources.gathered[1][1] == ""


@pytest.mark.requirement("R-136")
async def test_a_throttle_slows_the_thought_and_does_not_end_it() -> None:
    kit = Kit(ScriptedModel([THOUGHT]), watch=_tripping_once(Action.THROTTLE))
    async with kit.living():
        await kit.clock.advance(90)
    (thought,) = kit.sources.thoughts
    assert thought.why_ended == "settled"
    assert kit.sources.trips[0][0].action is Action.THROTTLE
    assert thought.ended_at - thought.began_at > thought.tokens / SETTINGS.target_tokens_per_second


@pytest.mark.requirement("R-135", "R-136")
async def test_every_word_of_the_breaker_is_recorded_with_the_text_so_far() -> None:
    def decide(piece: str) -> Verdict:
        if "Anna" in piece:
            return Verdict(Action.THROTTLE, TripReason.RUNAWAY_GENERATION, Severity.LOW, "Too fast.")
        if "miss" in piece:
            return Verdict(Action.INTERRUPT, TripReason.LOOP_DETECTED, Severity.MEDIUM, "In circles.")
        return CONTINUE

    kit = Kit(ScriptedModel([THOUGHT]), watch=Watch(decide))
    async with kit.living():
        await kit.clock.advance(60)
    assert [(verdict.action, so_far) for verdict, so_far, _ in kit.sources.trips] == [
        (Action.THROTTLE, "Anna"),
        (Action.INTERRUPT, "Anna moved to Oslo. They will miss"),
    ]


@pytest.mark.requirement("R-136", "R-172")
@pytest.mark.parametrize("action", [Action.INTERRUPT, Action.INTERRUPT_AND_COMFORT, Action.SNAPSHOT_AND_RESET])
async def test_what_tripped_leads_no_later_thought_not_even_after_a_restart(action: Action) -> None:
    kit = Kit(ScriptedModel([THOUGHT, THOUGHT]), watch=_tripping_once(action))
    async with kit.living():
        await kit.clock.advance(10)
        assert kit.sources.states == [SavedState("", is_quiescent=True)]
        assert kit.monologue.cycle.recent_thought() == ""


@pytest.mark.requirement("R-129", "R-136")
async def test_the_real_breaker_ends_a_thought_that_repeats_itself() -> None:
    limits = load_settings(None).circuit_breaker
    breaker = Breaker(limits, max_pace=limits.max_tokens_per_second)
    kit = Kit(ScriptedModel(["so it goes and " * 50]), watch=breaker)
    async with kit.living():
        await kit.clock.advance(60)
    (thought,) = kit.sources.thoughts
    assert thought.why_ended == "tripped"
    assert thought.tokens <= 20


@pytest.mark.requirement("R-136", "D5")
async def test_what_trips_again_after_a_new_beginning_rests() -> None:
    always = Watch(
        lambda piece: Verdict(Action.INTERRUPT_AND_COMFORT, TripReason.SUSTAINED_DISTRESS, Severity.HIGH, "Distress.")
    )
    kit = Kit(ScriptedModel(otherwise=THOUGHT), watch=always)
    async with kit.living():
        for _ in range(10):
            await kit.clock.advance(60)
    assert len(kit.model.prompts) <= 4
    responses = [response for _, _, response in kit.sources.trips]
    assert responses[:2] == ["the thought was ended; the next begins with something calming", "the thought was ended"]


@pytest.mark.requirement("R-136")
@pytest.mark.parametrize("wall_step", [0.0, 7200.0, -7200.0])
async def test_after_a_trip_nothing_is_thought_until_the_cool_down_is_over(wall_step: float) -> None:
    kit = Kit(ScriptedModel(otherwise=THOUGHT), watch=_tripping_once(Action.INTERRUPT), cool_down_seconds=900)
    async with kit.living():
        await kit.clock.advance(60)
        kit.clock.step_wall(wall_step)
        kit.monologue.pause()
        kit.monologue.resume(Reactivation(ThinkingReason.CONVERSATION))
        assert kit.monologue.ask(Reactivation(ThinkingReason.STEP))
        await kit.clock.advance(700)
        assert len(kit.model.prompts) == 1
        assert kit.monologue.state is ThoughtState.TRIPPED
        assert "went round in circles" in kit.monologue.state_detail
        assert "reveries monologue release" in kit.monologue.state_detail
        await kit.clock.advance(400)
    assert [why.reason for why, _, _ in kit.sources.gathered] == [ThinkingReason.WAKING, ThinkingReason.STEP]


@pytest.mark.requirement("R-136")
async def test_the_owner_can_end_the_cool_down() -> None:
    watch = _tripping_once(Action.INTERRUPT_AND_COMFORT)
    kit = Kit(ScriptedModel(otherwise=THOUGHT), watch=watch, cool_down_seconds=900)
    async with kit.living():
        await kit.clock.advance(60)
        assert len(kit.model.prompts) == 1
        assert kit.monologue.ask(Reactivation(ThinkingReason.NUDGE, "the garden"))
        await kit.clock.advance(1)
        assert len(kit.model.prompts) == 1
        kit.monologue.release()
        await kit.clock.advance(1)
        assert kit.monologue.cool_down.current_hold() is None
        assert [comfort for _, _, comfort in kit.sources.gathered] == [False, True]


@pytest.mark.requirement("R-136", "R-172")
async def test_a_rest_of_the_last_life_goes_on_and_begins_as_it_would_have() -> None:
    saved = SavedState("", cool_down=RemainingCoolDown(500.0, "Distress.", ThinkingReason.COMFORT))
    kit = Kit(ScriptedModel(otherwise=THOUGHT), sources=Sources(saved=saved))
    async with kit.living():
        await kit.clock.advance(490)
        assert kit.model.prompts == []
        assert kit.monologue.state is ThoughtState.TRIPPED
        await kit.clock.advance(20)
    assert [(why.reason, comfort) for why, _, comfort in kit.sources.gathered] == [(ThinkingReason.COMFORT, True)]


@pytest.mark.requirement("R-136")
@pytest.mark.parametrize(("passed", "left"), [(0.0, 600.0), (100.0, 500.0), (600.0, 0.0), (9e9, 0.0), (-9e9, 600.0)])
def test_a_clock_that_was_set_makes_no_rest_longer_than_the_whole(passed: float, left: float) -> None:
    assert remaining_cool_down_seconds(1e9, 1e9 + passed, 600.0) == left


@pytest.mark.requirement("R-44")
async def test_an_empty_answer_ends_the_thought_without_spinning() -> None:
    kit = Kit(ScriptedModel(otherwise=[Pause(0.1), ""]), slice_tokens=10)
    async with kit.living():
        for _ in range(10):
            await kit.clock.advance(30)
    assert len(kit.model.prompts) == 1
