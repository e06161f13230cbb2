"""Breaks off project work in hand, without leaving half of what changes something."""

import asyncio
import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

YOU_SPOKE = "You spoke."
YOU_WRITE = "You are writing."


class WorkBreak:
    """Breaks off what is in hand at once, for a word of the owner, a pause or quiet hours; where that changes
    something, when it has ended."""

    def __init__(self) -> None:
        self.why = ""
        """Why it was asked for first; empty if it was not."""
        self.has_broken_off = False
        self._limit: asyncio.Timeout | None = None
        """While there is something to break off."""
        self._is_deferred = False

    @contextlib.asynccontextmanager
    async def breakable(self) -> "AsyncIterator[None]":
        """What is done within it can be broken off, at once if that was asked for before. Raises TimeoutError then."""
        limit = asyncio.timeout(None)
        try:
            async with limit:
                self._limit = limit
                try:
                    self._break_off()
                    yield
                finally:
                    self._limit = None
        finally:
            self.has_broken_off = limit.expired()

    def note_state(self, state: str, _: str) -> None:
        """The mind's state changed."""
        if state == "talking":
            self.ask(YOU_SPOKE)

    def ask(self, why: str) -> None:
        """Break off as soon as nothing forbids it."""
        self.why = self.why or why
        self._break_off()

    @contextlib.contextmanager
    def defer(self) -> "Iterator[None]":
        """Nothing is broken off within it."""
        self._is_deferred = True
        try:
            yield
        finally:
            self._is_deferred = False
            self._break_off()

    def _break_off(self) -> None:
        if self.why and not self._is_deferred and self._limit is not None and self._limit.when() is None:
            self._limit.reschedule(asyncio.get_running_loop().time())
