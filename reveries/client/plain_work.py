"""Long work in the conversation line by line: what is done and how far it is, a line now and then."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Final, TypeVar

from reveries import protocol
from reveries.client.connection import Connection
from reveries.client.features.backup import backups_page
from reveries.client.features.importing import bring_in, brought_in_page, read_past_of_owner
from reveries.client.features.memory import consolidated_page
from reveries.client.json_answers import BroughtIn
from reveries.client.owner_files import place_named
from reveries.client.render import Page
from reveries.client.tui.commands import CommandCall
from reveries.clock import Clock
from reveries.errors import ProtocolError, UsageError
from reveries.safe_text import one_line

PLAIN_WORK: Final = ("/consolidate", "/import", "/backup")
_LINE_EVERY_SECONDS: Final = 5.0
"""Read aloud, more would be a nuisance."""
_Frame = TypeVar("_Frame")


class PlainWork:
    """`write` takes a line; `under_way` what stops the work at Ctrl+C, None when there is none."""

    def __init__(
        self,
        mind: Connection,
        clock: Clock,
        write: Callable[[str], object],
        under_way: Callable[[Callable[[], object] | None], None],
    ) -> None:
        self._mind = mind
        self._clock = clock
        self._write = write
        self._under_way = under_way
        self._doing = ""
        self._told_at = 0.0

    async def do(self, what: CommandCall) -> Page:
        """What came of it. Raises ReveriesError."""
        if what.command.name == "/import":
            return brought_in_page(await self._bring_in(place_named(what.words)))
        if what.command.name == "/backup":
            made = await self._ask_with_progress(protocol.MakeBackup(self._mind.new_id()), protocol.Backups)
            return backups_page(made, self._clock.now())
        return consolidated_page(
            await self._ask_with_progress(protocol.Consolidate(self._mind.new_id()), protocol.Consolidated)
        )

    async def _bring_in(self, file: Path) -> BroughtIn:
        """It is many requests, and the reading before them: what is stopped is the waiting for all of it."""
        waiting = asyncio.timeout(None)
        self._under_way(lambda: waiting.reschedule(0.0))
        try:
            async with waiting:
                turns = await asyncio.to_thread(read_past_of_owner, file, self._clock.now())
                return await bring_in(self._mind, file.name, turns, self._print_progress)
        except TimeoutError:
            raise UsageError(
                "It was stopped.", advice="What was stored stays: imported again, it is not stored twice."
            ) from None
        finally:
            self._under_way(None)

    async def _ask_with_progress(
        self, request: protocol.MakeBackup | protocol.Consolidate, kind: type[_Frame]
    ) -> _Frame:
        self._under_way(lambda: self._mind.cancel_soon(request.request_id))
        try:
            async with aclosing(self._mind.request(request)) as frames:
                async for frame in frames:
                    if isinstance(frame, protocol.Progress):
                        self._print_progress(frame.what, frame.done, frame.total)
                    elif isinstance(frame, kind):
                        return frame
        finally:
            self._under_way(None)
        raise ProtocolError(f"The mind did not answer with {kind.__name__}.", advice="See: reveries status")

    def _print_progress(self, what: str, done: int, total: int) -> None:
        now = self._clock.monotonic()
        if what == self._doing and now - self._told_at < _LINE_EVERY_SECONDS:
            return
        self._doing, self._told_at = what, now
        far = f": {done:,} of {total:,}" if total > 0 else ""
        self._write(f"  {one_line(what, 60)}{far}")
