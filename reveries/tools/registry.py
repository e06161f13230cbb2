"""The tools that there are, and who may call which: a call that is not listed is refused and logged.

A tool is a function with a struct of arguments; its answer is a struct, too. Roles of the mind and programs outside
call alike, by name and a mapping, so that both meet the same checks.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import msgspec
import structlog

from reveries.errors import UsageError

log = structlog.get_logger("tools")

_MOST_CHARS: Final = 200


class Reach(StrEnum):
    """What a tool touches."""

    LOOK = "look"
    """It reads what the project has."""
    INSIDE = "inside"
    """It changes what the project has."""
    OUT = "out"
    """It reaches beyond the project."""


@dataclass(frozen=True, slots=True)
class ToolCaller:
    """Who calls: a role of the mind, or a program outside, whose name taints what it writes."""

    role: str
    source: str = ""
    """Of a program outside: `mcp:NAME`; empty for the mind itself."""
    session_id: str = ""
    """What belongs together: a wake, or a connection."""
    may_write: bool = True

    @property
    def foreign_sources(self) -> frozenset[str]:
        return frozenset({self.source}) if self.source else frozenset()


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. `server` is the group that it is offered in."""

    name: str
    server: str
    description: str
    reach: Reach
    arguments: type[msgspec.Struct]
    run: Callable[[Any, ToolCaller], Awaitable[object]]

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of its arguments, whole."""
        (found,), components = msgspec.json.schema_components([self.arguments], ref_template="#/$defs/{name}")
        own: dict[str, Any] = components.pop(self.arguments.__name__, found)
        return own | ({"$defs": components} if components else {})


class ToolRegistry:
    """Tools by name, and the names that each role may call."""

    def __init__(self, tools: Iterable[Tool], allowed: Mapping[str, frozenset[str]]) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            assert tool.name not in self._tools, f"Two tools are named {tool.name}."
            self._tools[tool.name] = tool
        self._allowed = allowed
        assert frozenset[str]().union(*allowed.values()) <= self._tools.keys(), "A role names a tool that is not there."

    def tools_for(self, caller: ToolCaller) -> list[Tool]:
        """What a caller may call, in the order in which they were registered."""
        return [tool for tool in self._tools.values() if self._may_call(caller, tool)]

    async def call(self, caller: ToolCaller, name: str, arguments: Mapping[str, object]) -> dict[str, Any]:
        """Call a tool; its answer in plain values. Raises UsageError for a tool that there is not, or that the caller
        may not call, and for arguments that do not fit; what the tool raises goes on."""
        tool = self._tools.get(name)
        if tool is None or not self._may_call(caller, tool):
            log.warning("tool.refused", tool=name[:_MOST_CHARS], role=caller.role, source=caller.source)
            why = "may not be called here" if tool is not None else "is not there"
            raise UsageError(f"The tool {name[:_MOST_CHARS]!r} {why}.", advice=self._advice(caller))
        try:
            given = msgspec.convert(dict(arguments), tool.arguments)
        except msgspec.ValidationError as error:
            raise UsageError(f"{name}: {str(error)[:_MOST_CHARS]}.", advice="See the tool's schema.") from error
        answer: dict[str, Any] = msgspec.to_builtins(await tool.run(given, caller))
        return answer

    def _may_call(self, caller: ToolCaller, tool: Tool) -> bool:
        is_listed = tool.name in self._allowed.get(caller.role, frozenset())
        return is_listed and (caller.may_write or tool.reach is Reach.LOOK)

    def _advice(self, caller: ToolCaller) -> str:
        return "There are: " + (", ".join(tool.name for tool in self.tools_for(caller)) or "none") + "."
