"""Concurrent conversations: each has its own turns and history, and code that needs silence waits for all."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from reveries.daemon.talk.conversation import Conversation
from reveries.daemon.talk.conversation_registry import ConversationRegistry
from reveries.daemon.talk.turn import TurnPipeline
from reveries.safety.breaker import Breaker
from tests.daemon.kit import SETTINGS, Events, Talk, talking, until
from tests.fakes.scripted import Pause


@asynccontextmanager
async def _two(folder: Path) -> AsyncIterator[tuple[Talk, ConversationRegistry, Conversation]]:
    """Open the plain chat and one in the channel "letters", with one memory and one model."""
    async with talking(folder) as talk:
        turns = TurnPipeline(
            memory=talk.memory,
            model=talk.model,
            clock=talk.clock,
            read_settings=lambda: SETTINGS,
            host=talk.around,
            new_watch=lambda: Breaker(SETTINGS.circuit_breaker, max_pace=None),
        )
        other = Conversation(turns, channel="letters")
        await other.open()
        registry = ConversationRegistry()
        registry.add(talk.conversation)
        registry.add(other)
        yield talk, registry, other


async def test_what_is_said_in_one_is_no_history_of_the_other(tmp_path: Path) -> None:
    async with _two(tmp_path) as (talk, registry, other):
        await talk.say("My boat is called Ida.")
        await other.say("Dear Paul, thank you for the pears.", Events())
        assert "boat" not in str(talk.model.prompts[-1].messages)
        await talk.say("It lies in the harbour.")
        assert "pears" not in str(talk.model.prompts[-1].messages)
        assert "Ida" in str(talk.model.prompts[-1].messages)
        assert registry.main is talk.conversation
        assert registry["letters"] is other
        assert other.conversation_id != talk.conversation.conversation_id


async def test_each_goes_on_with_its_own_last_conversation_after_a_restart(tmp_path: Path) -> None:
    async with _two(tmp_path) as (talk, registry, other):
        await talk.say("My boat is called Ida.")
        await other.say("Dear Paul, thank you for the pears.", Events())
        names = {one.channel: one.conversation_id for one in registry}
    async with _two(tmp_path) as (_, registry, other):
        assert {one.channel: one.conversation_id for one in registry} == names


async def test_a_new_conversation_in_one_leaves_the_other_as_it_is(tmp_path: Path) -> None:
    async with _two(tmp_path) as (talk, _, other):
        await other.say("Dear Paul, thank you for the pears.", Events())
        before = talk.conversation.conversation_id
        await other.begin_new()
        await talk.conversation.open()
        assert talk.conversation.conversation_id == before
        assert other.turn_count == 0


async def test_thinking_waits_while_one_talks_and_the_other_rests(tmp_path: Path) -> None:
    async with _two(tmp_path) as (talk, registry, other):
        assert (registry.is_talking, registry.is_resting) == (False, True)
        await other.say("Dear Paul, thank you for the pears.", Events())
        assert (registry.is_talking, registry.is_resting) == (True, False)
        assert not talk.conversation.is_talking


async def test_holding_all_waits_for_the_reply_that_one_of_them_is_making(tmp_path: Path) -> None:
    async with _two(tmp_path) as (talk, registry, other):
        talk.model.add(["A ", Pause(5.0), "letter."])

        async def hold() -> int:
            async with registry.locked():
                return len(await talk.memory.conversations.recent_turns(other.conversation_id, 9))

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(other.say("Dear Paul.", Events()), name="say")
            await until(lambda: talk.clock.sleeper_count > 0)
            holding = tasks.create_task(hold(), name="hold")
            await asyncio.sleep(0.05)
            assert not holding.done()
            await talk.clock.advance(10.0)
        assert holding.result() == 2


async def test_when_the_mind_ends_none_of_them_takes_a_turn(tmp_path: Path) -> None:
    async with _two(tmp_path) as (talk, registry, other):
        registry.refuse_turns()
        assert talk.conversation.is_closing
        assert other.is_closing
        assert registry.is_closing


async def test_a_channel_has_one_conversation(tmp_path: Path) -> None:
    async with _two(tmp_path) as (_, registry, other):
        with pytest.raises(ValueError, match="letters"):
            registry.add(other)
