"""From an MCP request to the daemon and back: one connection a call, so a mind that was restarted is found again."""

import asyncio
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from reveries import protocol
from reveries.client.connection import connect
from reveries.config import Home
from reveries.errors import UsageError

_MOST_CHUNKS = 500
CALL_SECONDS = 60.0
"""A call that embeds its words may wait for the embedder; none needs a chat model."""
MOST_CALLS = 8
"""So many calls of one program at a time: the others wait, and its owner still reaches the mind."""
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, kw_only=True)
class DaemonCalls:
    """What one MCP server process may ask of the mind."""

    home: Home
    servers: tuple[protocol.ToolServer, ...] = ()
    """The groups of tools that are offered; empty: all."""
    project: str = ""
    """The one project that it is bound to, by name or id; empty: none."""
    session: str = field(default_factory=lambda: secrets.token_hex(8))
    _places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST_CALLS))

    async def ask(self, make: Callable[[int], protocol.Request], answer: type[_Answer]) -> _Answer:
        """One request. Raises what the daemon raises, AsleepError, and UsageError where too many are under way."""
        try:
            async with asyncio.timeout(CALL_SECONDS):
                await self._places.acquire()
        except TimeoutError as error:
            raise UsageError(
                f"{MOST_CALLS} calls of this program are under way, and none ended.", advice="Ask for less at once."
            ) from error
        try:
            async with connect(self.home, client="mcp") as mind:
                return await mind.ask(make, answer, seconds=CALL_SECONDS)
        finally:
            self._places.release()

    async def tools(self) -> list[protocol.ToolEntry]:
        """Those that are offered."""
        found = await self.ask(lambda number: protocol.AskTools(number, list(self.servers)), protocol.Tools)
        return found.tools

    async def call(self, program: str, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool for a program. Raises ReveriesError."""
        asked = json.dumps(arguments).encode()
        answered = await self.ask(
            lambda number: protocol.CallTool(
                number, program, tool, asked, project=self.project, session=self.session, servers=list(self.servers)
            ),
            protocol.ToolAnswered,
        )
        told: dict[str, Any] = json.loads(answered.answer)
        return told

    async def documents(self, project: str) -> tuple[list[protocol.ChunkEntry], bool]:
        """What a project was given to read, in pieces that stand, and whether there may be more of it."""
        found = await self.ask(lambda number: protocol.AskChunks(number, project, limit=_MOST_CHUNKS), protocol.Chunks)
        pieces = [one for one in found.chunks if one.type == "resource" and not one.fell_because]
        return pieces, len(found.chunks) >= _MOST_CHUNKS
