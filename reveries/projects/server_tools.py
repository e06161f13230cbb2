"""Tools of MCP servers in a project: granted one by one in their current form, and disabled when they change."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import structlog

from reveries.errors import NotFoundError, ReveriesError
from reveries.projects.grant_store import Grant, GrantKind
from reveries.projects.model import Project
from reveries.projects.store import ProjectStore
from reveries.projects.work_observers import ReportEvent
from reveries.tools.mcp_servers import McpServer
from reveries.tools.mcp_tools import OfferedTool, PinnedTool, read_pin
from reveries.tools.registry import Tool

log = structlog.get_logger("work")

OpenServer = Callable[[str], McpServer]
"""Opens a server by its name. Raises ToolError, ConfigError, NotFoundError."""


@dataclass(slots=True)
class ServerTools:
    """The server tools that a project was granted, opened for one attempt and closed at its end."""

    store: ProjectStore
    project: Project
    open_server: OpenServer
    report_event: ReportEvent
    tools: list[Tool] = field(default_factory=list)
    _servers: list[McpServer] = field(default_factory=list)

    @property
    def sources(self) -> frozenset[str]:
        """The servers whose texts are in the prompt."""
        return frozenset(tool.server for tool in self.tools)

    async def open(self) -> None:
        """Start the servers whose tools are granted. One that does not start is reported and left out."""
        granted: dict[str, dict[str, Grant]] = {}
        for grant in await self.store.grants.of_project(self.project.id):
            if pinned := read_pin(grant.name):
                granted.setdefault(pinned.tool.partition(".")[0], {})[pinned.tool] = grant
        for name, grants in granted.items():
            try:
                await self._open(name, list(grants.values()))
            except ReveriesError as error:
                log.warning("server.not_started", why=error.message[:200])
                await self._log_event("server.not_started", f"{name}: {error.message}")

    async def close(self) -> None:
        for server in self._servers:
            await server.close()

    async def _open(self, name: str, grants: Sequence[Grant]) -> None:
        server = self.open_server(name)
        self._servers.append(server)
        offered = {PinnedTool(server.full_name(tool), tool.pin).grant_name: tool for tool in await server.offered()}
        for grant in grants:
            if grant.name in offered:
                self.tools.append(server.as_tool(offered[grant.name]))
            else:
                await self._disable_tool(grant)

    async def _disable_tool(self, grant: Grant) -> None:
        """Disable a tool whose description changed since it was granted."""
        tool = grant.name.partition("#")[0]
        async with self.store.transaction() as transaction:
            await self.store.grants.revoke(transaction, grant)
        await self._log_event(
            "tool.switched_off", f"{tool} changed since you granted it. To look: reveries mcp servers"
        )

    async def _log_event(self, action: str, words: str) -> None:
        await self.store.log.put_event(self.project.id, action, words)
        self.report_event("switched off", words)


async def grant_server_tools(store: ProjectStore, project: Project, name: str, server: McpServer) -> list[OfferedTool]:
    """Grant `SERVER.TOOL`, or all tools that SERVER offers now, each in its current form. Raises ToolError,
    NotFoundError."""
    offered = await server.offered()
    chosen = [offer for offer in offered if name in (server.name, server.full_name(offer))]
    if not chosen:
        names = ", ".join(server.full_name(offer) for offer in offered[:20]) or "none"
        raise NotFoundError(f"There is no tool {name[:120]!r}.", advice=f"It offers: {names}")
    async with store.transaction() as transaction:
        existing = await store.grants.of_project(project.id, transaction)
        for tool in chosen:
            pinned = PinnedTool(server.full_name(tool), tool.pin)
            for old in existing:
                if (old_pin := read_pin(old.name)) and old_pin.tool == pinned.tool:
                    await store.grants.revoke(transaction, old)
            await store.grants.put(transaction, project.id, GrantKind.TOOL, pinned.grant_name, None)
        await store.log.put(transaction, project.id, "grant.given", name)
        await store.rests.clear(transaction, project.id)
    return chosen
