"""A mind from Python, over a real socket."""

import asyncio
import contextlib
import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import reveries
from reveries import protocol
from reveries.client.mind import Exchange
from reveries.config import Home
from reveries.errors import AsleepError, ConnectionLostError, InputDataError
from tests.fakes.daemon import Script, awake

HOWTO = Path(__file__).parents[2] / "docs/howto/python.md"


@pytest.mark.requirement("R-11", "R-92")
async def test_a_reply_comes_in_pieces_with_what_came_to_mind_and_how_it_ended(home: Home) -> None:
    item = protocol.RecalledItem("e1", "About mornings.", 0.5, 0.0, "", "", True)
    script = Script(pieces=["Good ", "\x1b[31mmorning", "."], recalled=[item])
    async with asyncio.timeout(300), awake(home, script), reveries.connect(home.path) as mind:
        exchange = mind.say(" Good morning ")
        pieces = [piece async for piece in exchange]
    assert "".join(pieces) == "Good morning."
    assert exchange.recalled == [item]
    assert set(exchange.stored) == {"words", "exchange"}
    assert exchange.end is not None
    assert exchange.end.reason == "stop"


async def test_a_reply_that_is_stopped_ends_as_cancelled(home: Home) -> None:
    async with asyncio.timeout(300), awake(home, Script(holds_reply=True)), reveries.connect(home.path) as mind:
        exchange = mind.say("hello")
        async for _ in exchange:
            exchange.stop()
    assert exchange.end is not None
    assert exchange.end.reason == "cancelled"


async def test_what_was_said_of_a_reply_is_given_before_the_mind_goes_away(home: Home) -> None:
    pieces: list[str] = []

    async def listen(exchange: Exchange, drop: Callable[[], None]) -> None:
        async for piece in exchange:
            pieces.append(piece)
            drop()

    async with asyncio.timeout(300), awake(home, Script(holds_reply=True)) as fake, reveries.connect(home.path) as mind:
        exchange = mind.say("hello")
        with pytest.raises(ConnectionLostError):
            await listen(exchange, fake.drop_clients)
    assert pieces
    assert "words" in exchange.stored


@pytest.mark.parametrize("words", ["", "  \n", "x" * (protocol.MAX_TEXT_CHARS + 1)])
async def test_what_cannot_be_one_turn_is_refused_before_it_is_sent(home: Home, words: str) -> None:
    async with asyncio.timeout(300), awake(home), reveries.connect(home.path) as mind:
        with pytest.raises(InputDataError):
            mind.say(words)


async def test_thoughts_are_heard_as_they_come(home: Home) -> None:
    began = protocol.ThoughtBegan(0, "t1", "timer", "")
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(asyncio.timeout(300))
        await stack.enter_async_context(awake(home, Script(live=[began])))
        mind = await stack.enter_async_context(reveries.connect(home.path))
        thoughts = await stack.enter_async_context(contextlib.aclosing(mind.thoughts()))
        first = await anext(thoughts)
    assert isinstance(first, protocol.ThoughtBegan)
    assert first.thought_id == "t1"


async def test_a_mind_that_sleeps_is_said_to_sleep(home: Home) -> None:
    with pytest.raises(AsleepError):
        async with reveries.connect(home.path):
            pass


async def test_the_program_of_the_how_to_runs_as_it_stands(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    found = re.search(r"```python\n(.*?)```", HOWTO.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    program = compile(found[1].replace("asyncio.run(main())", ""), str(HOWTO), "exec")
    named: dict[str, object] = {}
    monkeypatch.setenv("REVERIES_HOME", str(home.path))
    async with asyncio.timeout(300), awake(home, Script(pieces=["Good ", "morning."])):
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            exec(program, named)
            main = named["main"]
            assert callable(main)
            await main()
    assert shown.getvalue().startswith("Good morning.\ncame to mind: [")
