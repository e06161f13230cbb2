"""From an MCP request to the daemon and back: one connection a call, so a mind that was restarted is found again."""

import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from reveries import protocol
from reveries.client.connection import connect
from reveries.config import Home

CALL_SECONDS = 60.0
"""A call that embeds its words may wait for the embedder; none needs a chat model."""
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

    async def ask(self, make: Callable[[int], protocol.Request], answer: type[_Answer]) -> _Answer:
        """One request. Raises what the daemon raises, and AsleepError."""
        async with connect(self.home, client="mcp") as mind:
            return await mind.ask(make, answer, seconds=CALL_SECONDS)

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

    async def documents(self, project: str) -> list[protocol.ChunkEntry]:
        """What a project was given to read, in pieces."""
        found = await self.ask(lambda number: protocol.AskChunks(number, project, limit=500), protocol.Chunks)
        return [one for one in found.chunks if one.type == "resource"]
