"""Messages about tools: those for outside programs (MCP), and those of MCP servers."""

from typing import Annotated, Literal

import msgspec

from reveries.protocol.message import Answer, Request
from reveries.protocol.registry import request

ProgramName = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9._-]{0,59}$")]
"""The name of a program, and the mark on what it writes."""
ToolServer = Literal["memory", "orientation", "working", "knowledge"]


class ToolEntry(msgspec.Struct, frozen=True):
    """A tool for programs. The schemas are JSON."""

    name: str
    server: str
    description: str
    reach: str
    is_additive: bool
    is_repeatable: bool
    arguments_schema: bytes
    answer_schema: bytes


class Tools(Answer, frozen=True):
    tools: list[ToolEntry]


class ToolAnswered(Answer, frozen=True):
    """The result of a tool call, as JSON."""

    answer: bytes


@request(answer=Tools, safe=True)
class AskTools(Request, frozen=True):
    """The tools of these groups; of all groups if none is named. Answered by `Tools`."""

    servers: list[ToolServer] = msgspec.field(default_factory=list)


class ServerToolEntry(msgspec.Struct, frozen=True):
    """A tool of an MCP server. `name`: SERVER.TOOL, as in a grant. `arguments`: their names."""

    name: str
    description: str
    reach: str
    arguments: list[str]


class ToolServerEntry(msgspec.Struct, frozen=True):
    """An MCP server of the settings. `fault`: why it cannot be used, `advice`: what to do; both empty if it works."""

    name: str
    address: str
    fault: str
    advice: str
    tools: list[ServerToolEntry]


class ToolServers(Answer, frozen=True):
    """The MCP servers whose tools projects may be granted; each was started to list its tools."""

    servers: list[ToolServerEntry]


@request(answer=ToolServers)
class AskToolServers(Request, frozen=True):
    """Start the MCP servers of the settings, or one of them, and list their tools. Answered by `ToolServers`."""

    name: Annotated[str, msgspec.Meta(max_length=40)] = ""


@request(answer=ToolAnswered, large=True)
class CallTool(Request, frozen=True):
    """One tool call by a program. `arguments`: a JSON object. `project`: the one that the program is bound to, or
    empty. `servers`: the groups that it may call; empty: all. `session`: groups the calls of one connection. Answered
    by `ToolAnswered`."""

    program: ProgramName
    tool: Annotated[str, msgspec.Meta(max_length=200)]
    arguments: Annotated[bytes, msgspec.Meta(max_length=1_000_000)]
    project: Annotated[str, msgspec.Meta(max_length=200)] = ""
    session: Annotated[str, msgspec.Meta(max_length=60)] = ""
    servers: list[ToolServer] = msgspec.field(default_factory=list)
