"""From a command's synchronous world into the connection's: one call, its loop, its Ctrl+C."""

import asyncio
import contextlib
import signal
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

from reveries import protocol
from reveries.client.connection import ANSWER_SECONDS, Connection, connect
from reveries.config import find_home

_Result = TypeVar("_Result")


def call(do: Callable[[Connection], Awaitable[_Result]]) -> _Result:
    """Connect to the mind of this home, do `do`, disconnect. Raises AsleepError when it sleeps."""

    async def connected() -> _Result:
        async with connect(find_home()) as mind:
            return await do(mind)

    return asyncio.run(connected())


def ask(
    make: Callable[[int], protocol.Request], answer: type[_Result], *, seconds: float | None = ANSWER_SECONDS
) -> _Result:
    """One request, one answer, within `seconds` (None: however long it takes)."""
    return call(lambda mind: mind.ask(make, answer, seconds=seconds))


@contextlib.contextmanager
def ctrl_c(first: Callable[[], None]) -> Iterator[None]:
    """Within it, the first Ctrl+C calls `first` and lets the work come to its own end; the second breaks it off."""
    loop = asyncio.get_running_loop()
    work = asyncio.current_task()
    calls = iter([first])

    def pressed() -> None:
        try:
            next(calls)()
        except StopIteration:
            if work is not None:
                work.cancel()

    loop.add_signal_handler(signal.SIGINT, pressed)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
