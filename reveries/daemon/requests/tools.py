"""Tool requests: tools for other programs, and MCP servers."""

from typing import TYPE_CHECKING

from reveries import protocol
from reveries.daemon.mind import Mind
from reveries.daemon.requests.registry import Call, handles
from reveries.errors import NotFoundError, ReveriesError
from reveries.safe_text import one_line

if TYPE_CHECKING:
    from reveries.daemon.program_tools import ProgramTools
    from reveries.tools.mcp_servers import McpServer
    from reveries.tools.mcp_tools import OfferedTool


@handles(protocol.AskTools)
async def list_tools(call: Call, request: protocol.AskTools) -> protocol.Tools:
    # Imported late: most minds never serve tools to a program.
    from reveries.daemon.program_tools import describe_tools

    return protocol.Tools(request.request_id, describe_tools(request.servers))


@handles(protocol.CallTool)
async def call_tool(call: Call, request: protocol.CallTool) -> protocol.ToolAnswered:
    return protocol.ToolAnswered(request.request_id, await _open_tools(call.mind).answer(request))


@handles(protocol.AskToolServers)
async def check_servers(call: Call, request: protocol.AskToolServers) -> protocol.ToolServers:
    servers = call.mind.settings.mcp.servers
    if request.name and request.name not in servers:
        server_names = ", ".join(servers) or "none"
        raise NotFoundError(f"There is no MCP server {request.name!r}.", advice=f"Known servers: {server_names}")
    names = [request.name] if request.name else list(servers)
    return protocol.ToolServers(request.request_id, [await _server_entry(call.mind, name) for name in names])


async def _server_entry(mind: Mind, name: str) -> protocol.ToolServerEntry:
    settings = mind.settings.mcp.servers[name]
    address = one_line(settings.url or " ".join(settings.command))
    try:
        async with mind.projects.borrow_server(name) as server:
            tools = [_describe_tool(server, tool) for tool in await server.offered()]
    except ReveriesError as error:
        return protocol.ToolServerEntry(name, address, error.message, error.advice, [])
    return protocol.ToolServerEntry(name, address, "", "", tools)


def _describe_tool(server: "McpServer", tool: "OfferedTool") -> protocol.ServerToolEntry:
    arguments = [one_line(name) for name in tool.schema.get("properties", {})]
    return protocol.ServerToolEntry(
        server.full_name(tool), tool.short_description, server.reach_of(tool.name).value, arguments
    )


def _open_tools(mind: Mind) -> "ProgramTools":
    """Import late: most minds never serve tools to a program."""
    from reveries.daemon.program_tools import ProgramTools

    return ProgramTools(mind)
