"""Call the daemon from synchronous commands, with an event loop and Ctrl+C handling."""

import asyncio
import contextlib
import signal
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

from reveries import protocol
from reveries.client.connection import ANSWER_SECONDS, Connection, connect
from reveries.config import find_home

_Result = TypeVar("_Result")


def call_mind(action: Callable[[Connection], Awaitable[_Result]]) -> _Result:
    """Connect to the mind of this home, run `do`, disconnect. Raises AsleepError if it is asleep."""

    async def run() -> _Result:
        async with connect(find_home()) as mind:
            return await action(mind)

    return asyncio.run(run())


def ask_mind(
    make: Callable[[int], protocol.Request], answer: type[_Result], *, seconds: float | None = ANSWER_SECONDS
) -> _Result:
    """Send one request, and return its answer, within `seconds` (None: no limit)."""
    return call_mind(lambda mind: mind.ask(make, answer, seconds=seconds))


@contextlib.contextmanager
def handle_ctrl_c(first: Callable[[], None]) -> Iterator[None]:
    """Within it, the first Ctrl+C calls `first`, which ends the work gracefully; the second cancels it."""
    loop = asyncio.get_running_loop()
    work = asyncio.current_task()
    calls = iter([first])

    def handle() -> None:
        try:
            next(calls)()
        except StopIteration:
            if work is not None:
                work.cancel()

    loop.add_signal_handler(signal.SIGINT, handle)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
