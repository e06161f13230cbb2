"""Thinking after a clock error, after a restart, and after requests of the owner."""

import pytest

from reveries import protocol
from reveries.config import Home, load_settings
from reveries.errors import ReveriesError
from reveries.llm.base import Role
from reveries.monologue.thought import Reactivation, ThinkingReason
from tests.daemon.asking import ask
from tests.daemon.mind_kit import NOON, Living, living
from tests.daemon.test_thinking_control import model, talk_and_think
from tests.fakes.patient_clock import PatientClock

SETTINGS = load_settings(None)
YEAR = 365 * 86400.0


async def began(life: Living) -> list[str]:
    return [entry.why_began for entry in await life.mind.sources.entries(0.0, 1000)]


@pytest.mark.requirement("R-46", "E1")
async def test_what_a_clock_that_was_a_year_ahead_dated_neither_silences_nor_drives_thinking(home: Home) -> None:
    clock = PatientClock(NOON + YEAR)
    async with living(home, model(), clock, SETTINGS) as life:
        await talk_and_think(life)
        await life.say("And this is not thought about before the clock is set right.")
        clock.step_wall(-YEAR)
        await life.pass_time(1)
        assert (await began(life)).count("conversation") <= 2
        before = len(await began(life))
        await life.pass_time(1)
        assert len(await began(life)) == before
        await life.say("My mother planted the pear tree in the garden.")
        await life.pass_time(0.5)
        # Its date is before that of the thought from a year ahead.
        assert len(await began(life)) == before + 1


async def test_a_nudge_does_not_stand_for_thinking_about_what_was_said(home: Home) -> None:
    async with living(home, model(), PatientClock(NOON), SETTINGS) as life:
        await ask(life.mind, protocol.ControlThinking(1, "pause"))
        await life.say("My mother planted the pear tree in the garden.")
        await life.pass_time(0.5)
        await ask(life.mind, protocol.NudgeThinking(1, "the sea"))
        await life.pass_time(0.5)
        assert await began(life) == ["nudge"]
        await ask(life.mind, protocol.ControlThinking(1, "resume"))
        await life.pass_time(0.5)
        assert len(await began(life)) == 2


async def test_a_thought_of_the_last_life_that_is_dropped_leads_no_later_one(home: Home) -> None:
    async with living(home, model(), PatientClock(NOON), SETTINGS) as life:
        entry = await talk_and_think(life)
    said = model()
    async with living(home, said, PatientClock(NOON + 3600), SETTINGS) as life:
        await ask(life.mind, protocol.MarkThought(1, entry.thought_id, "drop"))
        await ask(life.mind, protocol.ControlThinking(1, "step"))
        await life.pass_time(0.1)
    asked = [prompt.messages[-1].text for prompt in said.prompts if prompt.role is Role.MONOLOGUE]
    assert asked
    assert not any("her mother's tree" in text for text in asked)


async def test_more_nudges_than_are_kept_are_refused_with_what_to_do(home: Home) -> None:
    async with living(home, model(), PatientClock(NOON), SETTINGS) as life:
        life.mind.monologue.pause()
        for _ in range(8):
            await ask(life.mind, protocol.NudgeThinking(1, "the sea"))
        with pytest.raises(ReveriesError) as refused:
            await ask(life.mind, protocol.NudgeThinking(1, "the sea"))
        assert "reveries monologue" in refused.value.advice


@pytest.mark.requirement("RA-45")
async def test_a_foreign_thought_that_is_told_to_a_reply_taints_it(home: Home) -> None:
    async with living(
        home,
        model("The invitation demands money by nightfall, which smells of a swindler who knows the house."),
        PatientClock(NOON),
        SETTINGS,
    ) as life:
        life.mind.monologue.ask(Reactivation(ThinkingReason.NUDGE, "Friday: plumber", is_tainted=True))
        await life.pass_time(0.05)
        told = await life.say("What were you thinking?")
        assert any("a swindler" in message.text for message in life.model.prompts[-1].messages)
        assert told.reply_turn is not None
        assert told.reply_turn.tainted
