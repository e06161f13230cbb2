"""What synchronous commands share: reading the owner's words, calling the daemon with a loop, handling Ctrl+C."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

from reveries import protocol
from reveries.client.connection import ANSWER_SECONDS, Connection, connect
from reveries.client.progress import progress_bar
from reveries.client.terminal_encoding import decode_input
from reveries.config import find_home
from reveries.errors import InputDataError, UsageError

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


def ask_with_progress(
    make: Callable[[int], protocol.Request], answer: type[_Result], what: str, *, as_json: bool
) -> _Result:
    """Send one request, and return its answer, with its progress on stderr and without a time limit, because the client
    could not report what happened after it. Ctrl+C stops the work itself."""

    async def run(mind: Connection) -> _Result:
        running = mind.start(make, answer)
        with progress_bar(what, as_json=as_json) as report, handle_ctrl_c(running.stop):
            return await running.result(report)

    return call_mind(run)


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


def read_words(text: tuple[str, ...], nothing: str, example: str) -> str:
    """Return the words given as arguments or on stdin. Raises UsageError(`nothing`, `example`) if there are none."""
    if text and text != ("-",):
        words = " ".join(text)
    elif sys.stdin.isatty() and not text:
        raise UsageError(nothing, advice=example)
    else:
        try:
            words = decode_input(sys.stdin.buffer.read())
        except UnicodeDecodeError as error:
            raise InputDataError("Standard input is not UTF-8 text.", advice="Convert it, then try again.") from error
    if not words.strip():
        raise UsageError(nothing, advice=example)
    return words
