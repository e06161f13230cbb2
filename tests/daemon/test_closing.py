"""What arrives while the daemon's own tasks are ending is told so, and leaves nothing behind."""

import asyncio
from pathlib import Path

import pytest

from reveries import protocol
from reveries.config import Home, load_settings
from reveries.daemon.handlers import Handlers
from reveries.daemon.mind import Progress
from reveries.daemon.server import Session
from reveries.errors import AsleepError, StorageLostError
from reveries.llm.scripted import ScriptedModel
from tests.daemon.mind_kit import NOON, living
from tests.fakes.clock import HandClock


@pytest.mark.requirement("R-93", "A1")
async def test_words_that_come_while_the_mind_closes_are_told_so_and_not_stored(tmp_path: Path) -> None:
    clock, ended = HandClock(NOON), asyncio.TaskGroup()
    async with ended:
        pass
    async with living(Home(tmp_path / "h"), ScriptedModel([], clock=clock), clock, load_settings(None)) as life:
        handlers = Handlers(life.mind, ended, _not_asked, _not_lost)
        with pytest.raises(AsleepError, match="falling asleep"):
            await handlers.handle(Session(1), protocol.Say(1, "Are you there?"))
        turns = await life.mind.memory.recent_turns(life.mind.conversation.conversation_id, 9)
    assert not [turn for turn in turns if turn.text == "Are you there?"]


async def _not_asked(_: Progress) -> None:
    raise AssertionError


def _not_lost(error: StorageLostError) -> None:
    raise AssertionError(error)
