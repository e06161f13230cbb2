"""Records a real daemon's answers to everything that the terminal can show, for the screens of draw_screens.py.

    reveries import --yes docs/images/memory-graph.jsonl && reveries say "What did I tell you about the pear tree?"
    python -m tests.client.record_screens

The answers (tests/client/screens/recorded.json) are what test_tui_screens.py puts on the screen: real memories of an
imported conversation, from one moment, so that a picture changes only when the interface does.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from reveries import protocol
from reveries.client.connection import Connection, connect
from reveries.config import find_home

RECORDED: Final = Path(__file__).parent / "screens" / "recorded.json"
CUE: Final = "What did I tell you about the pear tree and the garden wall?"


async def record() -> dict[str, protocol.Frame]:
    """Collect every answer by the name of its request."""
    answers: dict[str, protocol.Frame] = {}
    async with connect(find_home()) as mind:
        said = protocol.Say(mind.new_id(), CUE)
        async for frame in mind.request(said):
            if isinstance(frame, protocol.Recalled):
                answers["Recalled"] = frame
                strongest = frame.items[0].episode_id
        runs = await mind.ask(protocol.AskSleepLog, protocol.SleepLog)
        requests: list[Callable[[int], protocol.Request]] = [
            lambda number: protocol.AskWhy(number, strongest),
            lambda number: protocol.Inspect(number, strongest),
            lambda number: protocol.Search(number, "the garden wall", 30),
            lambda number: protocol.AskTimeline(number, limit=100),
            lambda number: protocol.InspectSleep(number, runs.runs[-1].run_id),
            lambda number: protocol.AskWellbeing(number, 3),
            protocol.AskSleepLog,
            protocol.AskConversations,
            protocol.AskContext,
            protocol.AskSelf,
            protocol.AskStatus,
            protocol.AskUsage,
            protocol.AskModels,
            protocol.AskContradictions,
            protocol.AskNotes,
            lambda number: protocol.AskNeighbourhood(number, limit=24),
        ]
        for make in requests:
            name, frame = await _answer(mind, make)
            answers[name] = frame
    status = answers["AskStatus"]
    assert isinstance(status, protocol.Status)
    # The recording machine must not show.
    answers["AskStatus"] = msgspec.structs.replace(status, home="/home/ada/.reveries", pid=4711)
    return answers


async def _answer(mind: Connection, make: Callable[[int], protocol.Request]) -> tuple[str, protocol.Frame]:
    request = make(mind.new_id())
    frames = [frame async for frame in mind.request(request)]
    return type(request).__name__, msgspec.structs.replace(frames[-1], request_id=0)


def main() -> None:
    """Record the answers to the file."""
    answers = asyncio.run(record())
    RECORDED.write_bytes(msgspec.json.format(msgspec.json.encode(answers), indent=1) + b"\n")


if __name__ == "__main__":
    main()
