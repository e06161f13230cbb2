"""Archived text is in no prompt any more, even if it was said in the current conversation."""

import asyncio

import pytest

from reveries import protocol
from reveries.config import Home, load_settings
from reveries.daemon.forgetting import forget
from reveries.llm.base import Role
from reveries.monologue.thought import Reactivation, ThinkingReason
from tests.daemon.mind_kit import NOON, Living, living
from tests.fakes.patient_clock import PatientClock
from tests.fakes.scripted import ScriptedModel


def _last_prompt(model: ScriptedModel) -> str:
    prompt = next(one for one in reversed(model.prompts) if one.role is Role.CONVERSATION)
    return "\n".join(message.text for message in prompt.messages)


async def _put_away(life: Living, words: str) -> None:
    request = protocol.Forget(1, matching=words, dry_run=False)
    await forget(life.mind, request, lambda what, done, total: None)


@pytest.mark.requirement("F10")
async def test_what_is_put_away_is_not_read_again_by_the_conversation_that_goes_on(home: Home) -> None:
    model = ScriptedModel(otherwise=lambda prompt: "I see.", context_tokens=16_384)
    async with asyncio.timeout(300), living(home, model, PatientClock(NOON), load_settings(None)) as life:
        for words in ("I can't eat shellfish.", "My club meets on Wednesday."):
            await life.say(words)
            await life.pass_time(2)
        assert "shellfish" in _last_prompt(model)
        await _put_away(life, "shellfish")
        await life.say("What do you know?")
        assert "shellfish" not in _last_prompt(model)
        assert "Wednesday" in _last_prompt(model), "what was not put away stays"


@pytest.mark.requirement("F10")
async def test_what_is_put_away_stands_in_no_summary_of_what_was_said_before(home: Home) -> None:
    model = ScriptedModel(otherwise=lambda prompt: "I see.", context_tokens=16_384)
    async with asyncio.timeout(300), living(home, model, PatientClock(NOON), load_settings(None)) as life:
        for words in ("I can't eat shellfish.", "My club meets on Wednesday."):
            await life.say(words)
        conversations, name = life.mind.memory.conversations, life.mind.conversation.conversation_id
        await life.pass_time(2)
        await conversations.fold(name, "- They said: I can't eat shellfish.", 2)
        await _put_away(life, "shellfish")
        opened = await conversations.load_conversation(name)
        assert (opened.folded_summary, opened.folded_until) == ("", 0)
        await life.say("What do you know?")
        assert "shellfish" not in _last_prompt(model)


@pytest.mark.requirement("F10")
async def test_of_a_summary_only_the_lines_go_that_hold_what_is_put_away(home: Home) -> None:
    model = ScriptedModel(otherwise=lambda prompt: "I see.", context_tokens=16_384)
    async with asyncio.timeout(300), living(home, model, PatientClock(NOON), load_settings(None)) as life:
        for words in ("I can't eat shellfish.", "My club meets on Wednesday."):
            await life.say(words)
        conversations, name = life.mind.memory.conversations, life.mind.conversation.conversation_id
        await life.pass_time(2)
        await conversations.fold(name, "- I can't eat shellfish.\n- My club meets on Wednesday.", 4)
        await _put_away(life, "shellfish")
        opened = await conversations.load_conversation(name)
        assert (opened.folded_summary, opened.folded_until) == ("- My club meets on Wednesday.", 4)


@pytest.mark.requirement("F10")
async def test_what_is_put_away_is_thought_about_no_more_though_it_was_asked_for(home: Home) -> None:
    model = ScriptedModel(otherwise=lambda prompt: "I see.", context_tokens=16_384)
    async with asyncio.timeout(300), living(home, model, PatientClock(NOON), load_settings(None)) as life:
        await life.say("I can't eat shellfish.")
        await life.mind.thinking.ask(Reactivation(ThinkingReason.NUDGE, "a dish without shellfish"))
        await _put_away(life, "shellfish")
        await life.pass_time(0.5)
        thoughts = [one for one in model.prompts if one.role is Role.MONOLOGUE]
        assert not [one for one in thoughts if "shellfish" in str(one.messages)]


@pytest.mark.requirement("F10")
async def test_what_is_brought_back_stands_in_the_conversation_again(home: Home) -> None:
    model = ScriptedModel(otherwise=lambda prompt: "I see.", context_tokens=16_384)
    async with asyncio.timeout(300), living(home, model, PatientClock(NOON), load_settings(None)) as life:
        for words in ("I can't eat shellfish.", "My club meets on Wednesday."):
            await life.say(words)
            await life.pass_time(2)
        await _put_away(life, "shellfish")
        back = protocol.Forget(2, matching="shellfish", dry_run=False, bring_back=True)
        await forget(life.mind, back, lambda what, done, total: None)
        said = str(life.mind.conversation.turns.state.exchanges)
        assert "I can't eat shellfish." in said
