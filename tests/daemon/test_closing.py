"""Requests that arrive during shutdown are refused, and leave nothing behind."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import structlog

from reveries import protocol
from reveries.config import Home, load_settings
from reveries.daemon.server import Session
from reveries.errors import AsleepError
from reveries.llm.base import Delta, Prompt, StreamEvent
from tests.daemon.asking import dispatcher
from tests.daemon.mind_kit import NOON, living
from tests.fakes.clock import HandClock
from tests.fakes.scripted import ScriptedModel


@pytest.mark.requirement("R-93", "A1")
async def test_words_that_come_while_the_mind_closes_are_told_so_and_not_stored(tmp_path: Path) -> None:
    clock, ended = HandClock(NOON), asyncio.TaskGroup()
    async with ended:
        pass
    async with living(Home(tmp_path / "h"), ScriptedModel([], clock=clock), clock, load_settings(None)) as life:
        requests = dispatcher(life.mind, ended)
        with pytest.raises(AsleepError, match="falling asleep"):
            await requests.handle(Session(1), protocol.Say(1, "Are you there?"))
        turns = await life.mind.memory.conversations.recent_turns(life.mind.conversation.conversation_id, 9)
    assert not [turn for turn in turns if turn.text == "Are you there?"]


class Stumbling(ScriptedModel):
    """Raises an unexpected error on demand."""

    def __init__(self) -> None:
        super().__init__([], name="ollama/x")
        self.asked, self.falls = asyncio.Event(), asyncio.Event()

    async def stream(self, prompt: Prompt) -> AsyncGenerator[StreamEvent, None]:
        self.asked.set()
        await self.falls.wait()
        if self.falls.is_set():
            raise LookupError("a mistake of ours")
        yield Delta("")


@pytest.mark.requirement("R-93", "H3")
async def test_a_turn_that_fails_as_nobody_foresaw_after_its_client_left_is_in_the_log(tmp_path: Path) -> None:
    model, clock = Stumbling(), HandClock(NOON)
    async with living(Home(tmp_path / "h"), model, clock, load_settings(None)) as life:
        with structlog.testing.capture_logs() as lines:
            async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
                session = Session(1)
                requests = dispatcher(life.mind, tasks)
                request = tasks.create_task(requests.handle(session, protocol.Say(1, "Are you there?")))
                await model.asked.wait()
                session.is_gone = True
                request.cancel()
                model.falls.set()
        assert [line["event"] for line in lines if line.get("exc_info")] == ["task.failed"]
