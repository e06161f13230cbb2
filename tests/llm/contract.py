"""What every ChatModel promises. A test module subclasses `ChatModelContract` and gives a `model`."""

import asyncio
import contextlib
import time
from typing import Protocol

import pytest

from reveries.llm.base import ChatMessage, ChatModel, Delta, Finished, FinishReason, Prompt, Role

STOP_SECONDS = 0.2
HANG_SECONDS = 240.0
"""A real model on a busy machine takes its time."""
TRIES = 8
"""What is measured again on a busy machine, which only adds: how soon it stops is the least of so many times."""


class Running(Protocol):
    """A model under test, with the controls and observations that the contract needs."""

    @property
    def model(self) -> ChatModel: ...

    def say_forever(self) -> None:
        """From now on answers do not end by themselves."""
        ...

    async def has_stopped(self) -> None:
        """Return when nothing is generated any more."""
        ...


def a_prompt(text: str = "Say something.", max_tokens: int = 24, role: Role = Role.CONVERSATION) -> Prompt:
    return Prompt(
        role, (ChatMessage("system", "You are kind."), ChatMessage("user", text)), max_tokens, temperature=0.0
    )


async def play(model: ChatModel, prompt: Prompt) -> tuple[str, Finished]:
    """The whole text and the end mark of one call; checks the form of the stream on the way."""
    text = ""
    ends: list[Finished] = []
    async with asyncio.timeout(HANG_SECONDS), contextlib.aclosing(model.stream(prompt)) as events:
        async for event in events:
            assert not ends, "nothing comes after the end mark"
            if isinstance(event, Delta):
                assert event.text
                text += event.text
            else:
                ends.append(event)
    assert len(ends) == 1
    return text, ends[0]


class ChatModelContract:
    """Subclasses define the fixture `running`."""

    @pytest.mark.requirement("R-92")
    async def test_a_stream_is_deltas_and_then_one_end_mark(self, running: Running) -> None:
        text, end = await play(running.model, a_prompt())
        assert text
        assert isinstance(end.reason, FinishReason)

    @pytest.mark.requirement("R-49")
    async def test_usage_is_counted(self, running: Running) -> None:
        _, end = await play(running.model, a_prompt())
        assert end.usage is not None
        assert end.usage.prompt_tokens > 0
        assert 0 < end.usage.completion_tokens <= 24

    async def test_an_answer_that_is_too_long_ends_with_length(self, running: Running) -> None:
        _, end = await play(running.model, a_prompt(max_tokens=2))
        assert end.reason is FinishReason.LENGTH

    async def test_closing_the_stream_stops_the_generation_within_200_ms(self, running: Running) -> None:
        running.say_forever()
        took: list[float] = []
        while not took or (min(took) >= STOP_SECONDS and len(took) < TRIES):
            events = running.model.stream(a_prompt(max_tokens=2000))
            async with asyncio.timeout(HANG_SECONDS):
                assert isinstance(await anext(events), Delta)
            began = time.monotonic()
            await events.aclose()
            took.append(time.monotonic() - began)
            async with asyncio.timeout(HANG_SECONDS):
                await running.has_stopped()
        assert min(took) < STOP_SECONDS, took

    async def test_cancelling_the_reading_task_stops_the_generation_within_200_ms(self, running: Running) -> None:
        running.say_forever()
        took: list[float] = []

        async def read(speaking: asyncio.Event) -> None:
            async with contextlib.aclosing(running.model.stream(a_prompt(max_tokens=2000))) as events:
                async for _ in events:
                    speaking.set()

        while not took or (min(took) >= STOP_SECONDS and len(took) < TRIES):
            speaking = asyncio.Event()
            async with asyncio.timeout(HANG_SECONDS), asyncio.TaskGroup() as tasks:
                reading = tasks.create_task(read(speaking), name="reading")
                await speaking.wait()
                began = time.monotonic()
                reading.cancel()
                await asyncio.wait([reading])
                took.append(time.monotonic() - began)
            async with asyncio.timeout(HANG_SECONDS):
                await running.has_stopped()
        assert min(took) < STOP_SECONDS, took

    async def test_a_stopped_call_leaves_the_model_ready_for_the_next(self, running: Running) -> None:
        events = running.model.stream(a_prompt())
        async with asyncio.timeout(HANG_SECONDS):
            await anext(events)
        await events.aclose()
        text, _ = await play(running.model, a_prompt())
        assert text

    async def test_two_calls_at_once_both_end(self, running: Running) -> None:
        async with asyncio.TaskGroup() as tasks:
            calls = [
                tasks.create_task(play(running.model, a_prompt(role=role)), name=role)
                for role in (Role.CONVERSATION, Role.MONOLOGUE)
            ]
        assert all(call.result()[0] for call in calls)

    async def test_tokens_are_counted(self, running: Running) -> None:
        assert await running.model.count_tokens("") == 0
        assert await running.model.count_tokens("The garden was quiet in the morning.") >= 7

    async def test_reading_ahead_does_no_harm(self, running: Running) -> None:
        async with asyncio.timeout(HANG_SECONDS):
            await running.model.read_ahead([ChatMessage("system", "You are kind.")], Role.CONVERSATION)
        text, _ = await play(running.model, a_prompt())
        assert text

    async def test_closing_twice_is_closing_once(self, running: Running) -> None:
        await running.model.aclose()
        await running.model.aclose()
