"""What a slash command asks, without a daemon."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import TypeVar

from reveries import protocol
from reveries.client.slash_parsing import CommandCall, parse_command
from tests.fakes.daemon import NOW

_Answer = TypeVar("_Answer")


class _AskedError(Exception):
    """Raised in place of an answer."""


def first_request(typed: str, number: int = 7) -> tuple[protocol.Request, type]:
    """Return the first request of the command that is typed, and the type of answer that it waits for."""
    call = parse_command(typed)
    assert isinstance(call, CommandCall)
    assert call.command.fetch is not None
    asked: list[tuple[protocol.Request, type]] = []

    async def ask(make: Callable[[int], protocol.Request], answer: type[_Answer], /) -> _Answer:
        asked.append((make(number), answer))
        raise _AskedError

    async def fetch() -> None:
        assert call.command.fetch is not None
        await call.command.fetch(ask, call.words, NOW)

    with contextlib.suppress(_AskedError):
        asyncio.run(fetch())
    return asked[0]
