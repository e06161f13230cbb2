import asyncio
from dataclasses import dataclass

import msgspec
import numpy as np
import pytest

from reveries.errors import ModelUnavailableError
from reveries.llm.base import Finished, FinishReason
from tests.fakes.clock import HandClock, settle
from tests.fakes.scripted import HashingEmbedder, Pause, ScriptedModel
from tests.llm.contract import ChatModelContract, a_prompt, play


@dataclass
class _Running:
    model: ScriptedModel

    def say_forever(self) -> None:
        self.model.add(["word "] * 5000, ["word "] * 5000)

    async def has_stopped(self) -> None:
        assert self.model.stopped == 1


class TestScriptedModel(ChatModelContract):
    @pytest.fixture
    def running(self) -> _Running:
        return _Running(ScriptedModel(otherwise="Good evening to you"))


async def test_scripts_are_played_in_order_and_prompts_recorded() -> None:
    class Said(msgspec.Struct):
        mood: str

    model = ScriptedModel(["one two", ["a", "b"], Said("calm"), {"x": 1}, lambda prompt: [prompt.messages[-1].text]])
    said = [(await play(model, a_prompt(f"n{number}")))[0] for number in range(5)]
    assert said == ["one two", "ab", '{"mood":"calm"}', '{"x":1}', "n4"]
    assert [prompt.messages[-1].text for prompt in model.prompts] == ["n0", "n1", "n2", "n3", "n4"]


async def test_an_error_comes_where_the_script_has_it() -> None:
    model = ScriptedModel([["Hel", ModelUnavailableError("gone")], ModelUnavailableError("off")])
    with pytest.raises(ModelUnavailableError, match="gone"):
        await play(model, a_prompt())
    with pytest.raises(ModelUnavailableError, match="off"):
        await play(model, a_prompt())
    with pytest.raises(ModelUnavailableError, match="no script left"):
        await play(model, a_prompt())


async def test_a_pause_takes_the_clocks_time(clock: HandClock) -> None:
    model = ScriptedModel([["a", Pause(30), "b"]], clock=clock)
    events = model.stream(a_prompt())
    await anext(events)
    reader = _Reader()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(reader.read(events), name="reader")
        await settle()
        assert not reader.seen
        await clock.advance(30)
        await settle()
    assert isinstance(reader.seen[-1], Finished)
    assert reader.seen[-1].reason is FinishReason.STOP


class _Reader:
    def __init__(self) -> None:
        self.seen: list[object] = []

    async def read(self, events: object) -> None:
        async for event in events:  # type: ignore[attr-defined]
            self.seen.append(event)


async def test_texts_that_share_words_are_near() -> None:
    embedder = HashingEmbedder(64)
    cat, kitten, tax = await embedder.embed(["the grey cat sleeps", "a grey cat wakes", "tax returns are due"])
    assert np.isclose(np.linalg.norm(cat), 1.0)
    assert float(cat @ kitten) > float(cat @ tax) + 0.2
    assert (await embedder.embed(["the grey cat sleeps"]) == cat).all()
