"""Long work in the line-by-line conversation: prints progress from time to time."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Final, TypeVar

from reveries import protocol
from reveries.client.connection import Connection
from reveries.client.features.backup import backups_page
from reveries.client.features.importing import imported_page, read_past_conversations, send_turns
from reveries.client.features.memory import consolidated_page
from reveries.client.json_answers import ImportResult
from reveries.client.owner_files import resolve_path
from reveries.client.render import Page
from reveries.client.tui.commands import CommandCall
from reveries.clock import Clock
from reveries.errors import ProtocolError, UsageError
from reveries.safe_text import one_line

PLAIN_WORK: Final = ("/consolidate", "/import", "/backup")
_LINE_EVERY_SECONDS: Final = 5.0
"""Minimum time between lines: screen readers read each one aloud."""
_Frame = TypeVar("_Frame")


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

    async def do(self, entered: CommandCall) -> Page:
        """Run the command, and return its output. Raises ReveriesError."""
        if entered.command.name == "/import":
            return imported_page(await self._import_file(resolve_path(entered.words)))
        if entered.command.name == "/backup":
            backups = await self._ask_with_progress(protocol.MakeBackup(self._mind.new_id()), protocol.Backups)
            return backups_page(backups, self._clock.now())
        return consolidated_page(
            await self._ask_with_progress(protocol.Consolidate(self._mind.new_id()), protocol.Consolidated)
        )

    async def _import_file(self, file: Path) -> ImportResult:
        """Import a file. It takes many requests and the reading of the file, so Ctrl+C ends the wait for all."""
        waiting = asyncio.timeout(None)
        self._set_stop(lambda: waiting.reschedule(0.0))
        try:
            async with waiting:
                turns = await asyncio.to_thread(read_past_conversations, file, self._clock.now())
                return await send_turns(self._mind, file.name, turns, self._print_progress)
        except TimeoutError:
            raise UsageError(
                "The import was stopped.",
                advice="What was stored is kept. Import it again to continue: nothing is stored twice.",
            ) from None
        finally:
            self._set_stop(None)

    async def _ask_with_progress(
        self, request: protocol.MakeBackup | protocol.Consolidate, kind: type[_Frame]
    ) -> _Frame:
        self._set_stop(lambda: self._mind.cancel_soon(request.request_id))
        try:
            async with aclosing(self._mind.request(request)) as frames:
                async for frame in frames:
                    if isinstance(frame, protocol.Progress):
                        self._print_progress(frame.what, frame.done, frame.total)
                    elif isinstance(frame, kind):
                        return frame
        finally:
            self._set_stop(None)
        raise ProtocolError(f"The mind did not answer with {kind.__name__}.", advice="See: reveries status")

    def _print_progress(self, what: str, done: int, total: int) -> None:
        now = self._clock.monotonic()
        if what == self._doing and now - self._printed_at < _LINE_EVERY_SECONDS:
            return
        self._doing, self._printed_at = what, now
        far = f": {done:,} of {total:,}" if total > 0 else ""
        self._write(f"  {one_line(what, 60)}{far}")
