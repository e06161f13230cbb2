"""Tools for programs outside: which there are, and a call of one."""

from typing import Annotated, Literal

import msgspec

from reveries.protocol.message import Answer, Request
from reveries.protocol.registry import request

ProgramName = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9._-]{0,59}$")]
"""What a program is called, and what its writing is marked with."""
ToolServer = Literal["memory", "orientation", "working", "knowledge"]


class ToolEntry(msgspec.Struct, frozen=True):
    """A tool. The schemas are JSON."""

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
    """What a tool answered, as JSON."""

    answer: bytes


@request(answer=Tools, safe=True)
class AskTools(Request, frozen=True):
    """The tools of these groups; of all where none is named."""

    servers: list[ToolServer] = msgspec.field(default_factory=list)


class ServerToolEntry(msgspec.Struct, frozen=True):
    """A tool of an MCP server. `name`: as it is granted, SERVER.TOOL. `arguments`: their names."""

    name: str
    description: str
    reach: str
    arguments: list[str]


class ToolServerEntry(msgspec.Struct, frozen=True):
    """An MCP server of the settings. `fault`: why it does not serve, and `advice` what to do; empty where it does."""

    name: str
    address: str
    fault: str
    advice: str
    tools: list[ServerToolEntry]


class ToolServers(Answer, frozen=True):
    """The MCP servers whose tools projects may be granted, each started for a moment."""

    servers: list[ToolServerEntry]


@request(answer=ToolServers)
class AskToolServers(Request, frozen=True):
    """Start the MCP servers of the settings, or one, and say what each offers. Answered by `ToolServers`."""

    name: Annotated[str, msgspec.Meta(max_length=40)] = ""


@request(answer=ToolAnswered, large=True)
class CallTool(Request, frozen=True):
    """One call by a program. `arguments`: a JSON object. `project`: the one that the program is bound to, or empty;
    `servers`: the groups that it may call, empty: all; `session`: what its calls belong to."""

    program: ProgramName
    tool: Annotated[str, msgspec.Meta(max_length=200)]
    arguments: Annotated[bytes, msgspec.Meta(max_length=1_000_000)]
    project: Annotated[str, msgspec.Meta(max_length=200)] = ""
    session: Annotated[str, msgspec.Meta(max_length=60)] = ""
    servers: list[ToolServer] = msgspec.field(default_factory=list)
