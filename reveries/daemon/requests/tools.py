"""Tools for programs outside."""

from typing import TYPE_CHECKING

import msgspec

from reveries import protocol
from reveries.daemon.mind import Mind
from reveries.daemon.requests.registry import Call, handles

if TYPE_CHECKING:
    from reveries.daemon.program_tools import ProgramTools


@handles(protocol.AskTools)
async def list_tools(call: Call, request: protocol.AskTools) -> protocol.Tools:
    entries = [
        protocol.ToolEntry(
            tool.name, tool.server, tool.description, tool.reach.value, tool.is_additive, tool.is_repeatable,
            msgspec.json.encode(tool.schema), msgspec.json.encode(tool.answer_schema),
        )
        for tool in _open_tools(call.mind).listed(request.servers)
    ]  # fmt: skip
    return protocol.Tools(request.request_id, entries)


@handles(protocol.CallTool)
async def call_tool(call: Call, request: protocol.CallTool) -> protocol.ToolAnswered:
    return protocol.ToolAnswered(request.request_id, await _open_tools(call.mind).answer(request))


def _open_tools(mind: Mind) -> "ProgramTools":
    """Late: a mind that no program asks does not carry them."""
    from reveries.daemon.program_tools import ProgramTools

    return ProgramTools(mind)
