"""Calls from the MCP server to the daemon: one connection per call, so that a restarted daemon is found again."""

import asyncio
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from reveries import protocol
from reveries.client.connection import connect
from reveries.client.offline_worker import tools_offline
from reveries.config import Home
from reveries.errors import AsleepError, UsageError

_MOST_CHUNKS = 500
CALL_SECONDS = 60.0
"""Time limit of a call, which may wait for the embedder; none needs a chat model."""
MOST_CALLS = 8
"""Concurrent calls of one program; more have to wait, so that the owner still reaches the daemon."""
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, kw_only=True)
class DaemonCalls:
    """The requests of one MCP server process to the daemon."""

    home: Home
    servers: tuple[protocol.ToolServer, ...] = ()
    """The tool groups offered; empty: all."""
    project: str = ""
    """The only project that it may access, by name or id; empty: no restriction."""
    session: str = field(default_factory=lambda: secrets.token_hex(8))
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST_CALLS))

    async def ask(self, make: Callable[[int], protocol.Request], answer: type[_Answer]) -> _Answer:
        """Send one request. Raises the daemon's errors, AsleepError, and UsageError if too many calls are running."""
        try:
            async with asyncio.timeout(CALL_SECONDS):
                await self._slots.acquire()
        except TimeoutError as error:
            raise UsageError(
                f"{MOST_CALLS} calls of this program are under way, and none ended.", advice="Ask for less at once."
            ) from error
        try:
            async with connect(self.home, client="mcp") as mind:
                return await mind.ask(make, answer, seconds=CALL_SECONDS)
        finally:
            self._slots.release()

    async def tools(self) -> list[protocol.ToolEntry]:
        """List the tools offered, also while the mind is asleep: many programs ask once, when they start."""
        try:
            answer = await self.ask(lambda number: protocol.AskTools(number, list(self.servers)), protocol.Tools)
        except AsleepError:
            tools = await asyncio.to_thread(tools_offline)
            return [tool for tool in tools if not self.servers or tool.server in self.servers]
        return answer.tools

    async def call(self, program: str, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool for a program. Raises ReveriesError."""
        encoded = json.dumps(arguments).encode()
        result = await self.ask(
            lambda number: protocol.CallTool(
                number, program, tool, encoded, project=self.project, session=self.session, servers=list(self.servers)
            ),
            protocol.ToolAnswered,
        )
        answer: dict[str, Any] = json.loads(result.answer)
        return answer

    async def fetch_documents(self, project: str) -> tuple[list[protocol.ChunkEntry], bool]:
        """Fetch the valid chunks of a project's documents, and whether there may be more."""
        answer = await self.ask(lambda number: protocol.AskChunks(number, project, limit=_MOST_CHUNKS), protocol.Chunks)
        pieces = [chunk for chunk in answer.chunks if chunk.type == "resource" and not chunk.fell_because]
        return pieces, len(answer.chunks) >= _MOST_CHUNKS
