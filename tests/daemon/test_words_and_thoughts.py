"""Whoever speaks comes first, from the first word to the end of the turn; and whatever becomes of a turn, the mind
goes on thinking afterwards."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from reveries.config import CrisisSettings, Home, load_settings
from reveries.daemon.talk.crisis_help import CrisisDetector
from reveries.daemon.talk.reply_generation import ReplyStop
from reveries.monologue.ports import ThoughtState
from reveries.monologue.thought import Reactivation, ThinkingReason
from reveries.prompts import prompt
from tests.daemon.kit import Events, talking, until
from tests.daemon.mind_kit import NOON, Living, living
from tests.fakes.clock import HandClock
from tests.fakes.scripted import Pause, ScriptedModel

FACT = "My sister Maria moved to Oslo last week and I miss her a lot."


@dataclass(frozen=True)
class SlowDanger(CrisisDetector):
    """Takes as long as the test wants."""

    asked: asyncio.Event = field(default_factory=asyncio.Event)
    answers: asyncio.Event = field(default_factory=asyncio.Event)

    async def help_for(self, words: str, settings: CrisisSettings) -> str | None:
        self.asked.set()
        await self.answers.wait()
        return None


class BrokenDanger(CrisisDetector):
    async def help_for(self, words: str, settings: CrisisSettings) -> str | None:
        raise KeyError("tokenizer")


def _thinks(life: Living) -> bool:
    return life.mind.monologue.state is not ThoughtState.PAUSED


@pytest.mark.requirement("R-95", "R-96")
@pytest.mark.parametrize("leaves", ["for a new one", "for an earlier one"])
async def test_thinking_goes_on_when_one_conversation_is_left_for_another(tmp_path: Path, leaves: str) -> None:
    clock = HandClock(NOON)
    model = ScriptedModel((), otherwise="Indeed.", clock=clock)
    async with living(Home(tmp_path / "h"), model, clock, load_settings(None)) as life, asyncio.timeout(300):
        talk = life.mind.conversation
        talk.attach(1)
        await life.say(FACT)
        first = talk.conversation_id
        if leaves == "for an earlier one":
            await talk.begin_new()
            await life.say("I planted a pear tree behind the house today.")
            await talk.go_back_to(first)
        else:
            await talk.begin_new()
        talk.detach(1)
        # It need not think at once: no event overrides the pace (G3).
        await until(lambda: _thinks(life))


@pytest.mark.requirement("R-38", "R-96")
async def test_words_that_still_wait_for_their_turn_keep_thinking_quiet(tmp_path: Path) -> None:
    clock = HandClock(NOON)
    model = ScriptedModel((), otherwise="Indeed.", clock=clock)
    async with living(Home(tmp_path / "h"), model, clock, load_settings(None)) as life, asyncio.timeout(300):
        life.mind.conversation.danger = slow = SlowDanger()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(life.mind.conversation.say(FACT, Events()), name="turn")
            await slow.asked.wait()
            assert life.mind.conversation.is_talking
            # A pass that these words interrupted ends here; it must not resume thinking.
            await life.mind.sleep.consolidate(None, trigger="owner")
            assert not _thinks(life)
            slow.answers.set()


@pytest.mark.requirement("R-102")
async def test_a_pass_that_begins_during_a_turn_still_heeds_its_words(tmp_path: Path) -> None:
    clock = HandClock(NOON)
    model = ScriptedModel((), otherwise="Indeed.", clock=clock)
    async with living(Home(tmp_path / "h"), model, clock, load_settings(None)) as life, asyncio.timeout(300):
        await life.say(FACT)
        await life.mind.sleep.light_sleep()
        life.mind.conversation.danger = slow = SlowDanger()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(life.mind.conversation.say("And Paul?", Events()), name="turn")
            await slow.asked.wait()
            slept = await life.mind.sleep.consolidate(None, trigger="owner")
            assert slept.processed == 0
            slow.answers.set()


@pytest.mark.requirement("R-95")
async def test_a_turn_that_fails_before_it_begins_does_not_end_thinking(tmp_path: Path) -> None:
    clock = HandClock(NOON)
    model = ScriptedModel((), otherwise="Indeed.", clock=clock)
    async with living(Home(tmp_path / "h"), model, clock, load_settings(None)) as life, asyncio.timeout(300):
        life.mind.conversation.danger = BrokenDanger()
        with pytest.raises(KeyError):
            await life.say("Good morning, how are you?")
        await until(lambda: _thinks(life))
        assert not life.mind.conversation.is_talking


@pytest.mark.requirement("R-93")
async def test_who_stops_a_reply_stops_their_own_and_nobody_elses(tmp_path: Path) -> None:
    async with talking(tmp_path, ["Beginning ", Pause(60), "and end."]) as talk:
        async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
            events, stop = Events(), ReplyStop()
            first = tasks.create_task(talk.conversation.say("About the pear tree.", events), name="first")
            await until(lambda: events.text == "Beginning ")
            second = tasks.create_task(talk.conversation.say("About a boat.", Events(), stop=stop), name="second")
            stop.request()
            await talk.clock.advance(61)
        assert (first.result().draft.reason, first.result().draft.text) == ("stop", "Beginning and end.")
        assert (second.result().draft.reason, second.result().draft.text) == ("cancelled", "")


@pytest.mark.requirement("R-93", "G1")
async def test_a_reply_that_is_stopped_before_it_began_asks_no_model_and_keeps_the_words(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        stop = ReplyStop()
        stop.request()
        result = await talk.conversation.say(FACT, Events(), stop=stop)
        assert result.draft.reason == "cancelled"
        assert talk.model.prompts == []
        turns = await talk.memory.conversations.recent_turns(talk.conversation.conversation_id, 9)
        assert [turn.text for turn in turns] == [FACT]


@pytest.mark.requirement("R-63")
async def test_a_thought_that_repeats_its_rules_or_a_nudge_teaches_nothing_by_it(tmp_path: Path) -> None:
    nudge = "the colour of the old kitchen curtains in grandmother's summer cottage"
    rule = next(line for line in prompt("think", mind="Reverie", owner="Ana").split("\n") if len(line.split()) > 8)
    clock = HandClock(NOON)
    model = ScriptedModel((rule, f"I think about {nudge}."), otherwise="So be it.", clock=clock)
    async with living(Home(tmp_path / "h"), model, clock, load_settings(None)) as life, asyncio.timeout(300):
        for why in (Reactivation(ThinkingReason.STEP), Reactivation(ThinkingReason.NUDGE, nudge)):
            asked, kept = len(model.prompts), len(await life.mind.sources.entries(0.0, 9))
            life.mind.monologue.ask(why)
            await until(lambda asked=asked: len(model.prompts) > asked)  # type: ignore[misc]
            while len(thoughts := await life.mind.sources.entries(0.0, 9)) == kept:
                await life.pass_time(1 / 60)
        learned = {turn.text: turn.echoes for turn, _ in life.mind.memory.live.turns.entries()}
    assert {rule, f"I think about {nudge}."} <= {entry.text for entry in thoughts}
    assert learned.get(rule, ("not learned",)) != ()
    assert learned.get(f"I think about {nudge}.", ("not learned",)) != ()
