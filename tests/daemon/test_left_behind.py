"""Before forgetting, the owner sees the turns that would stay and say the same in other words."""

import asyncio

import msgspec
import pytest

from reveries import protocol
from reveries.config import Home, load_settings
from reveries.daemon.forgetting import forget
from reveries.llm.base import Prompt, Role
from tests.daemon.mind_kit import NOON, living
from tests.fakes.patient_clock import PatientClock
from tests.fakes.scripted import ScriptedModel


def _reply(prompt: Prompt) -> str:
    asked = prompt.role is Role.CONVERSATION and prompt.messages[-1].text.endswith("Say it again.")
    return "In Bergen your brother works on a ferry; such a brother is brave." if asked else "I see."


@pytest.mark.requirement("F10")
async def test_a_reply_that_tells_of_it_without_its_name_is_shown_before_it_is_forgotten(home: Home) -> None:
    model = ScriptedModel(otherwise=_reply, context_tokens=16_384)
    async with asyncio.timeout(300), living(home, model, PatientClock(NOON), load_settings(None)) as life:
        for words in ("My brother Tom moved to Bergen to work on a ferry.", "Say it again.", "I bake bread today."):
            await life.say(words)
        await life.pass_time(2)
        request = protocol.Forget(1, about="Tom", dry_run=True, erase=True)
        planned = await forget(life.mind, request, lambda what, done, total: None)
        assert any("Tom" in item.text for item in planned.items)
        assert isinstance(planned.left, list)
        left = [item.text for item in planned.left]
        assert any("your brother works on a ferry" in text for text in left)
        assert not any("Tom" in text or "bread" in text for text in left)
        done = await forget(
            life.mind, protocol.Forget(2, about="Tom", dry_run=False, erase=True), lambda what, done, total: None
        )
        assert done.left is msgspec.UNSET, "no content stands in a receipt"
