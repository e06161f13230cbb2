"""Commands in the line-by-line conversation: long ones print their progress from time to time."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

from reveries import protocol
from reveries.client.connection import Connection
from reveries.client.features.import_preview import ImportPreview
from reveries.client.features.importing import ImportResult, read_import_words, send_turns
from reveries.clock import Clock
from reveries.errors import UsageError
from reveries.safe_text import one_line

_LINE_EVERY_SECONDS: Final = 5.0
"""Minimum time between lines: screen readers read each one aloud."""
_Answer = TypeVar("_Answer")


class PlainWork:
    """`write` prints a line; `set_stop` receives the function that Ctrl+C calls, None when the work is done."""

    def __init__(
        self,
        mind: Connection,
        clock: Clock,
        write: Callable[[str], object],
        set_stop: Callable[[Callable[[], object] | None], None],
    ) -> None:
        self._mind = mind
        self._clock = clock
        self._write = write
        self._set_stop = set_stop
        self._doing = ""
        self._printed_at = 0.0

    async def import_file(self, words: str) -> ImportResult | ImportPreview:
        """Show what is in a file, or import it. That takes many requests, so Ctrl+C ends the wait for all."""
        waiting = asyncio.timeout(None)
        self._set_stop(lambda: waiting.reschedule(0.0))
        try:
            async with waiting:
                asked = await asyncio.to_thread(read_import_words, words, self._clock.now())
                if not asked.is_confirmed:
                    return asked.past.preview
                return await send_turns(self._mind, asked.file.name, asked.past.turns, self._print_progress)
        except TimeoutError:
            raise UsageError(
                "The import was stopped.",
                advice="What was stored is kept. Import it again to continue: nothing is stored twice.",
            ) from None
        finally:
            self._set_stop(None)

    async def ask(self, make: Callable[[int], protocol.Request], answer: type[_Answer]) -> _Answer:
        """Send a request and return its answer. The first Ctrl+C stops it, the second also ends the wait. Raises
        ReveriesError."""
        running, waiting = self._mind.start(make, answer), asyncio.timeout(None)
        stops: Iterator[Callable[[], None]] = iter([running.stop, lambda: waiting.reschedule(0.0)])

        def stop() -> None:
            with contextlib.suppress(StopIteration):
                next(stops)()

        self._set_stop(stop)
        try:
            async with waiting:
                return await running.result(self._print_progress)
        except TimeoutError:
            raise UsageError(
                "You no longer wait for the answer.", advice="If the mind answers nothing else: reveries status"
            ) from None
        finally:
            self._set_stop(None)

    def _print_progress(self, what: str, done: int, total: int) -> None:
        now = self._clock.monotonic()
        if what == self._doing and now - self._printed_at < _LINE_EVERY_SECONDS:
            return
        self._doing, self._printed_at = what, now
        far = f": {done:,} of {total:,}" if total > 0 else ""
        self._write(f"  {one_line(what, 60)}{far}")
