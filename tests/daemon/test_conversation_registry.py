"""Concurrent conversations: each has its own turns and history, and code that needs silence waits for all."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
from msgspec import UNSET

from reveries import protocol
from reveries.daemon.requests.clients import AttachedClients
from reveries.daemon.talk.conversation import Conversation
from reveries.daemon.talk.conversation_registry import ConversationRegistry
from reveries.daemon.talk.turn import TurnPipeline
from reveries.errors import NotFoundError
from reveries.safety.breaker import Breaker
from tests.daemon.asking import ask
from tests.daemon.kit import SETTINGS, Events, Talk, talking, until
from tests.fakes.scripted import Pause

if TYPE_CHECKING:
    from reveries.daemon.server import Session


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


class _Client:
    """A session that keeps what is sent to it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.frames: list[protocol.Frame] = []
        self.outbox = SimpleNamespace(send_broadcast=self.frames.append, send_piece=self.frames.append)

    @property
    def spoken(self) -> list[tuple[str, object]]:
        """What it was shown, with the name of the conversation that the frame has."""
        return [(frame.turn.text, frame.conversation) for frame in self.frames if isinstance(frame, protocol.Spoken)]


async def test_each_client_is_shown_the_conversation_that_it_joined_and_no_other(tmp_path: Path) -> None:
    async with _two(tmp_path) as (talk, registry, other):
        clients, chat, letters = AttachedClients(registry), _Client(1), _Client(2)
        clients.attach(cast("Session", chat), registry.named(UNSET))
        clients.attach(cast("Session", letters), registry.named("letters"))
        assert registry.attached_count == 2
        for conversation, words in ((talk.conversation, "My boat is called Ida."), (other, "Dear Paul.")):
            await conversation.say(words, Events())
            [turn, *_] = await talk.memory.conversations.recent_turns(conversation.conversation_id, 2)
            clients.notify_turn(turn)
        assert chat.spoken == [("My boat is called Ida.", UNSET)], "older clients see the plain chat as before"
        assert letters.spoken == [("Dear Paul.", "letters")]
        clients.notify_switched(other)
        assert [type(frame) for frame in chat.frames] == [protocol.Spoken]
        clients.notify_state("asleep", "")
        assert [type(client.frames[-1]) for client in (chat, letters)] == [protocol.StateChanged] * 2
        clients.attach(cast("Session", chat), other)
        assert (talk.conversation.attached_count, other.attached_count) == (0, 2)
        clients.detach(cast("Session", chat))
        assert registry.attached_count == 1


async def test_a_conversation_that_is_not_open_is_said_with_those_that_are(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        with pytest.raises(NotFoundError, match="'desk'") as failed:
            await ask(talk, protocol.Say(1, "Hello.", conversation="desk"))
        assert failed.value.advice == "Open are: chat."
