"""MCP servers that the owner configured: each runs in a sandboxed child process while a task needs it.

Their answers are untrusted. A server can access the system and what its settings list. A grant of a tool is valid for
the name, description and schema that it had at that time, and ends when one of them changes.
"""

import importlib.util
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import Final

import msgspec
import structlog

from reveries.api_keys import read_private_file
from reveries.errors import ToolError
from reveries.mcp_settings import McpServerSettings
from reveries.tools.mcp_tools import OfferedTool, arguments_type, read_offer, wire_arguments
from reveries.tools.reach import SERVER_PREFIX, Reach
from reveries.tools.registry import Tool, ToolCaller
from reveries.tools.results import ToolResult, cut_lines, fence
from reveries.tools.sandbox import Sandbox, ServerAccess, why_not_a_folder
from reveries.tools.worker import Worker

log = structlog.get_logger("tools")

_START_SECONDS: Final = 60.0
_CALL_SECONDS: Final = 60.0
_VARIABLE: Final = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)=(.*?)\s*")


def source_of_server(name: str) -> str:
    """The name of a server as a foreign source; it differs from that of any calling program (`mcp:NAME`)."""
    return f"{SERVER_PREFIX}{name}"


@dataclass(slots=True)
class McpServer:
    """One server, run by a child process from the first call to `close`."""

    name: str
    look: frozenset[str]
    """Its tools that only read, according to the owner."""
    worker: Worker

    async def offered(self) -> list[OfferedTool]:
        """The tools it offers now. Raises ToolError."""
        greeting = await self.worker.start()
        try:
            return read_offer(greeting)
        except msgspec.ValidationError as error:
            raise ToolError(f"{self.name} tells of its tools in no known way.", advice="") from error

    def reach_of(self, tool: str) -> Reach:
        return Reach.LOOK if tool in self.look else Reach.OUT

    def as_tool(self, offered: OfferedTool) -> Tool:
        """The tool under the name `SERVER.TOOL`. Calls fail once the offered tool changes."""
        arguments = arguments_type(offered)
        assert arguments is not None, "It was offered as one that can be called."
        reach = self.reach_of(offered.name)

        async def run(given: msgspec.Struct, _: ToolCaller) -> ToolResult:
            return await self._call(offered, wire_arguments(offered, msgspec.to_builtins(given)))

        return Tool(
            offered.short_description, reach, is_repeatable=reach is Reach.LOOK,
            name=self.full_name(offered), server=source_of_server(self.name), arguments=arguments, run=run,
        )  # fmt: skip

    def full_name(self, offered: OfferedTool) -> str:
        """`SERVER.TOOL`, as it is granted and called."""
        return f"{self.name}.{offered.name}"

    async def close(self) -> None:
        await self.worker.close()

    async def _call(self, tool: OfferedTool, arguments: Mapping[str, object]) -> ToolResult:
        """Call a tool. Answers and errors of the server are fenced. Raises ToolError."""
        name = self.full_name(tool)
        # The server may have been restarted since its tools were checked.
        if not any((offered.name, offered.pin) == (tool.name, tool.pin) for offered in await self.offered()):
            raise ToolError(f"{name} is no longer what was granted.", advice="Do without it.")
        asked = {"name": tool.name, "arguments": arguments, "seconds": _CALL_SECONDS}
        answer = await self.worker.call("call_tool", asked, _CALL_SECONDS)
        lines, rest = cut_lines(str(answer["text"]).splitlines(), 1)
        head = f"{name} {'failed' if answer['is_error'] else 'answered'}:"
        more = "\n(the rest is cut)" if rest else ""
        return ToolResult(f"{head}\n{fence(lines)}{more}", frozenset({source_of_server(self.name)}))


@dataclass(frozen=True, slots=True)
class McpServerOpener:
    """Opens MCP servers on this machine."""

    sandbox: Sandbox
    home: Path
    """The home of the mind: no server may access it."""

    def open(self, name: str, settings: McpServerSettings) -> McpServer:
        """Return a server that starts with its first call. Blocks briefly. Raises ToolError, ConfigError."""
        if not self.sandbox.can_run:
            raise ToolError(f"{name} is not started: {self.sandbox.why_not}", advice="reveries doctor")
        access = self._access(name, settings)
        opening = {
            "command": _find_command(name, settings.command, access),
            "environment": _read_variables(settings.environment_file),
            "url": settings.url,
            "headers": _headers(settings.token_file),
        }
        command = self.sandbox.server_command(access)
        worker = Worker(lambda: command, name, opening=opening, start_seconds=_START_SECONDS)
        return McpServer(name, frozenset(settings.look), worker)

    def _access(self, name: str, settings: McpServerSettings) -> ServerAccess:
        library = importlib.util.find_spec("mcp")
        if library is None or library.origin is None:
            raise ToolError(
                f"{name} is not started: what speaks with servers is not installed.",
                advice="Install it, in the folder that you installed Reveries from: make mcp",
            )
        reads, writes = (
            tuple(self._folder(folder) for folder in listed) for listed in (settings.reads, settings.writes)
        )
        # A server with an address needs the network.
        network = settings.network or bool(settings.url)
        return ServerAccess(network, reads, writes, (Path(library.origin).parents[1],))

    def _folder(self, listed: str) -> Path:
        folder = Path(listed).expanduser().absolute()
        if why := why_not_a_folder(folder, self.home):
            raise ToolError(why, advice="Look at [mcp.servers].")
        return folder


def _find_command(name: str, command: tuple[str, ...], access: ServerAccess) -> list[str]:
    if not command:
        return []
    executable = which(Path(command[0]).expanduser())
    if executable is None:
        raise ToolError(f"{name} is not started: there is no program {command[0][:200]}.", advice="Is it installed?")
    program = Path(executable).absolute()
    if not access.shows(program):
        at = program.parent if program.parent == program.resolve().parent else program.resolve().parent
        raise ToolError(
            f"{name} is not started: it cannot see its own program in {at}.",
            advice=f'List a folder that holds it: [mcp.servers.{name}] reads = ["{at}"]',
        )
    return [str(program), *command[1:]]


def _read_variables(file: str) -> dict[str, str]:
    """Read one NAME=VALUE per line. Raises ConfigError."""
    if not file:
        return {}
    lines = read_private_file(Path(file).expanduser(), "mcp.servers environment_file").splitlines()
    matches = (_VARIABLE.fullmatch(line) for line in lines)
    return {match[1]: match[2].strip("\"'") for match in matches if match is not None}


def _headers(token_file: str) -> dict[str, str]:
    """Raises ConfigError."""
    if not token_file:
        return {}
    token = read_private_file(Path(token_file).expanduser(), "mcp.servers token_file")
    return {"Authorization": f"Bearer {token}"}
